// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-shift-turns | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @sums(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512xi32>, %arg2: !tile.view<1xi32>, %arg3: tensor<64x64xf32>) kernel attributes {tile.grid = array<i64: 16, 1, 1>, tile.shift_turns} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c7 = arith.constant 7 : index
    %c15 = arith.constant 15 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %ticket = tile.ticket %arg2[%c0] : !tile.view<1xi32>
    %0 = arith.subi %c15, %ticket : index
    %1 = arith.divui %0, %c2 : index
    %2 = arith.subi %c7, %1 : index
    scf.for %arg4 = %c0 to %c512 step %c64 {
      tile.wait_turn %arg1[%arg4], %2 : !tile.view<512xi32>
      tile.atomic_add %arg3, %arg0[%arg4 : 64, %c0 : 64] : tensor<64x64xf32>, !tile.view<512x64xf32>
      tile.pass_turn %arg1[%arg4] : !tile.view<512xi32>
    }
    gpu.return
  }
}
