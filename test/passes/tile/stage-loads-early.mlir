// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,cse,tile-stage-loads))' 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=VAIN < %t.err
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_80 cache-dir=none" -o /dev/null

gpu.module @kernels {
  // Each operand has one place. %k of the next iteration is copied once all have multiplied
  // by this one's, and %v of this iteration once all have multiplied by the last one's.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: tile.copy_async %arg1{{.*}} to %[[K:[0-9]+]]
  // CHECK-NEXT: tile.commit_copies
  // CHECK-NOT: tile.copy_async
  // CHECK: scf.for %[[J:[a-z0-9]+]] = %
  // CHECK-NEXT: tile.wait_copies 0
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.copy_async %arg2[%[[J]]{{.*}} to %[[V:[0-9]+]]
  // CHECK-NEXT: tile.commit_copies
  // CHECK: tile.load_shared %[[K]]
  // CHECK: %[[S:.+]] = tile.dot
  // CHECK-NEXT: tile.wait_copies 0
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.copy_async %arg1{{.*}} to %[[K]]
  // CHECK-NEXT: tile.commit_copies
  // CHECK: arith.truncf %[[S]]
  // CHECK: tile.load_shared %[[V]]
  // CHECK: tile.dot
  // CHECK: scf.yield
  // CHECK: tile.wait_copies 0
  gpu.func @chain(%q: !tile.view<64x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 1, early>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %q[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %sum = scf.for %j = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %b = tile.load %k[%j : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %bt = tile.trans %b : tensor<64x64xbf16>
      %c = tile.load %v[%j : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %s = tile.dot %a, %bt, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      %next = tile.dot %p, %c, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %sum, %o[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // A loop with one product has nothing to copy beside: its operands are copied when they
  // are needed.
  // VAIN: warning: is early, but has no loop of two products or more that each have operands of their own
  // VAIN-NEXT: gpu.func @single
  // CHECK-LABEL: gpu.func @single
  // CHECK-SAME: #tile.schedule<warps = 4, stages = 1>
  // CHECK: scf.for
  // CHECK: tile.copy_async
  // CHECK: tile.copy_async
  // CHECK: tile.dot
  gpu.func @single(%q: !tile.view<64x256xbf16>, %k: !tile.view<256x64xbf16>, %o: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 1, early>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %sum = scf.for %j = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %q[%c0 : 64, %j : 64] : !tile.view<64x256xbf16>
      %b = tile.load %k[%j : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %s = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    tile.store %sum, %o[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}
