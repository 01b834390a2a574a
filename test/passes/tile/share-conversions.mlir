// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,cse,tile-stage-loads,tile-share-conversions))' | FileCheck %s

gpu.module @kernels {
  // One block as the operand of two products, also transposed: it is stored once,
  // and both wait at one barrier.
  // CHECK-LABEL: gpu.func @twice
  // CHECK: %[[S:.+]] = tile.dot
  // CHECK: %[[V:.+]] = arith.truncf %[[S]]
  // CHECK: %[[M:.+]] = tile.alloc_shared
  // CHECK-NEXT: tile.store_shared %[[V]], %[[M]]
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.load_shared %[[M]]
  // CHECK: tile.trans
  // CHECK: tile.dot
  // CHECK: tile.load_shared %[[M]]
  // CHECK: tile.dot
  // CHECK-NOT: tile.convert_layout %[[V]]
  gpu.func @twice(%x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %s = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %v = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %t = tile.trans %v : tensor<64x64xbf16>
    %p = tile.dot %t, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %q = tile.dot %v, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %p, %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    tile.store %q, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // A single one goes its own way.
  // CHECK-LABEL: gpu.func @once
  // CHECK: tile.convert_layout
  // CHECK-NOT: tile.store_shared
  gpu.func @once(%x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %s = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %v = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %t = tile.trans %v : tensor<64x64xbf16>
    %p = tile.dot %t, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %p, %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}
