// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-defer-turns | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/tile.wait_turn %arg1.*$//' %s | act-opt --tile-defer-turns | FileCheck %s --check-prefix=SAME
// RUN: sed 's/tile.pass_turn %arg1\[%arg3\]/tile.pass_turn %arg1[%c0]/' %s | act-opt --tile-defer-turns | FileCheck %s --check-prefix=SAME

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#shared128 = #tile.shared<swizzle = 128>
gpu.module @kernels {
  gpu.func @sums(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512xi32>, %arg2: index) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = tile.alloc_shared : !tile.shared<64x64xbf16, #shared128>
    scf.for %arg3 = %c0 to %c512 step %c64 {
      %1 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
      %2 = tile.dot_async %0, %0, %1 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
      %3 = tile.dot_result %2 : !tile.pending<tensor<64x64xf32, #layout>>
      tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
      tile.atomic_add %3, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
      tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>
    }
    gpu.return
  }
}
// AFTER: %1 = scf.for %arg3 = %c0 to %c512 step %c64 iter_args(%arg4 = %c512_0) -> (index) {
// AFTER-NEXT: %2 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
// AFTER-NEXT: %3 = tile.dot_async %0, %0, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER-NEXT: tile.pass_turn %arg1[%arg4] : !tile.view<512xi32>
// AFTER-NEXT: %4 = tile.dot_result %3 : !tile.pending<tensor<64x64xf32, #layout>>
// AFTER-NEXT: tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
// AFTER-NEXT: tile.atomic_add %4, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
// AFTER-NEXT: scf.yield %arg3 : index
// AFTER-NEXT: }

// A turn that is not awaited, or the same in all iterations, stays where it is.
// SAME: tile.atomic_add
// SAME-NEXT: tile.pass_turn
// SAME-NEXT: }
