// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions{target=sm_90a},tile-assign-layouts,cse,tile-async-dots))' | FileCheck %s

// First operands, a loaded one and a computed one: where they are, or where the schedule says.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @each
  // CHECK: tile.dot_async %{{.*}} : !tile.shared<128x64xbf16, {{.*}}>, !tile.shared<64x128xbf16
  // CHECK: tile.dot_async %{{.*}} : tensor<128x128xbf16, {{.*}}>, !tile.shared<128x128xbf16
  gpu.func @each(%x: !tile.view<128x256xbf16>, %w: !tile.view<256x128xbf16>, %y: !tile.view<128x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0 : 128, %k : 64] : !tile.view<128x256xbf16>
      %b = tile.load %w[%k : 64, %c0 : 128] : !tile.view<256x128xbf16>
      %b2 = tile.load %w[%k : 128, %c0 : 128] : !tile.view<256x128xbf16>
      %d = tile.dot %a, %b, %zero : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %t = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xbf16>
      %e = tile.dot %t, %b2, %acc : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      scf.yield %e : tensor<128x128xf32>
    }
    tile.store %s, %y[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @in_registers
  // CHECK: tile.dot_async %{{.*}} : tensor<128x64xbf16, {{.*}}>, !tile.shared<64x128xbf16
  // CHECK: tile.dot_async %{{.*}} : tensor<128x128xbf16, {{.*}}>, !tile.shared<128x128xbf16
  gpu.func @in_registers(%x: !tile.view<128x256xbf16>, %w: !tile.view<256x128xbf16>, %y: !tile.view<128x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, stages = 2, a = registers, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0 : 128, %k : 64] : !tile.view<128x256xbf16>
      %b = tile.load %w[%k : 64, %c0 : 128] : !tile.view<256x128xbf16>
      %b2 = tile.load %w[%k : 128, %c0 : 128] : !tile.view<256x128xbf16>
      %d = tile.dot %a, %b, %zero : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %t = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xbf16>
      %e = tile.dot %t, %b2, %acc : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      scf.yield %e : tensor<128x128xf32>
    }
    tile.store %s, %y[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @in_shared_memory
  // CHECK: tile.dot_async %{{.*}} : !tile.shared<128x64xbf16, {{.*}}>, !tile.shared<64x128xbf16
  // CHECK: tile.store_shared %{{.*}} : tensor<128x128xbf16
  // CHECK: tile.fence_shared
  // CHECK: tile.barrier
  // CHECK: tile.dot_async %{{.*}} : !tile.shared<128x128xbf16, {{.*}}>, !tile.shared<128x128xbf16
  gpu.func @in_shared_memory(%x: !tile.view<128x256xbf16>, %w: !tile.view<256x128xbf16>, %y: !tile.view<128x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, stages = 2, a = shared, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0 : 128, %k : 64] : !tile.view<128x256xbf16>
      %b = tile.load %w[%k : 64, %c0 : 128] : !tile.view<256x128xbf16>
      %b2 = tile.load %w[%k : 128, %c0 : 128] : !tile.view<256x128xbf16>
      %d = tile.dot %a, %b, %zero : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %t = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xbf16>
      %e = tile.dot %t, %b2, %acc : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      scf.yield %e : tensor<128x128xf32>
    }
    tile.store %s, %y[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    gpu.return
  }
}
