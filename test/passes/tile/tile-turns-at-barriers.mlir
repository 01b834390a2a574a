// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-turns-at-barriers | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/, tile.at_once = 8 : i64//' %s | act-opt --tile-turns-at-barriers | FileCheck %s --check-prefix=LATE

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#shared = #tile.shared<swizzle = 128>
gpu.module @kernels {
  gpu.func @sums(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512xi32>, %arg2: index, %arg3: tensor<64x64xf32, #layout>, %arg4: tensor<64x64xf32, #layout>) kernel attributes {tile.grid = array<i64: 16, 1, 1>, tile.at_once = 8 : i64} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %0 = tile.alloc_shared : !tile.shared<64x64xf32, #shared>
    scf.for %arg5 = %c0 to %c512 step %c64 {
      tile.barrier
      tile.store_shared %arg3, %0 : tensor<64x64xf32, #layout>, !tile.shared<64x64xf32, #shared>
      tile.barrier
      %1 = tile.load_shared %0 : !tile.shared<64x64xf32, #shared> -> tensor<64x64xf32, #layout>
      %2 = arith.addi %arg2, %arg5 : index
      tile.wait_turn %arg1[%arg5], %2 : !tile.view<512xi32>
      tile.atomic_add %1, %arg0[%arg5 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
      tile.pass_turn %arg1[%arg5] : !tile.view<512xi32>
    }
    gpu.return
  }
}
// AFTER: %1 = scf.for %arg5 = %c0 to %c512 step %c64 iter_args(%arg6 = %c512_0) -> (index) {
// AFTER-NEXT: tile.barrier
// AFTER-NEXT: tile.pass_turn %arg1[%arg6] : !tile.view<512xi32>
// AFTER-NEXT: tile.store_shared %arg3, %0 : tensor<64x64xf32, #layout>, !tile.shared<64x64xf32, #shared128>
// AFTER-NEXT: %2 = arith.addi %arg2, %arg5 : index
// AFTER-NEXT: tile.wait_turn %arg1[%arg5], %2 : !tile.view<512xi32>
// AFTER-NEXT: tile.barrier
// AFTER-NEXT: %3 = tile.load_shared %0 : !tile.shared<64x64xf32, #shared128> -> tensor<64x64xf32, #layout>
// AFTER-NEXT: tile.atomic_add %3, %arg0[%arg5 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
// AFTER-NEXT: scf.yield %arg5 : index
// AFTER-NEXT: }
// AFTER-NEXT: tile.pass_turn %arg1[%1] : !tile.view<512xi32>

// Where the turn may come late, products stand in front of it.
// LATE: tile.barrier
// LATE-NEXT: tile.pass_turn
// LATE: tile.barrier
// LATE-NOT: tile.barrier
// LATE: tile.load_shared
// LATE: tile.wait_turn
