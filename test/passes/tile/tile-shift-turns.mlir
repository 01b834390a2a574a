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
// AFTER: %ticket = tile.ticket %arg2[%c0] : !tile.view<1xi32>
// AFTER-NEXT: %c16 = arith.constant 16 : index
// AFTER-NEXT: %0 = arith.remui %ticket, %c16 : index
// AFTER-NEXT: %c16_0 = arith.constant 16 : index
// AFTER-NEXT: %1 = arith.divui %ticket, %c16_0 : index
// AFTER-NEXT: %c8 = arith.constant 8 : index
// AFTER-NEXT: %2 = arith.divui %0, %c8 : index
// AFTER-NEXT: %c8_1 = arith.constant 8 : index
// AFTER-NEXT: %3 = arith.remui %ticket, %c8_1 : index
// AFTER-NEXT: %c8_2 = arith.constant 8 : index
// AFTER-NEXT: %c8_3 = arith.constant 8 : index
// AFTER-NEXT: %4 = arith.muli %1, %c8_3 : index
// AFTER-NEXT: %5 = arith.addi %4, %3 : index
// AFTER-NEXT: %c7_4 = arith.constant 7 : index
// AFTER-NEXT: %6 = arith.minui %5, %c7_4 : index
// AFTER-NEXT: %c2_5 = arith.constant 2 : index
// AFTER-NEXT: %7 = arith.divui %2, %c2_5 : index
// AFTER-NEXT: %c16_6 = arith.constant 16 : index
// AFTER-NEXT: %8 = arith.muli %7, %c16_6 : index
// AFTER-NEXT: %c2_7 = arith.constant 2 : index
// AFTER-NEXT: %9 = arith.muli %6, %c2_7 : index
// AFTER-NEXT: %c2_8 = arith.constant 2 : index
// AFTER-NEXT: %10 = arith.remui %2, %c2_8 : index
// AFTER-NEXT: %11 = arith.addi %9, %10 : index
// AFTER-NEXT: %12 = arith.addi %8, %11 : index
// AFTER-NEXT: %13 = arith.subi %c15, %ticket : index
// AFTER-NEXT: %14 = arith.divui %12, %c2 : index
// AFTER-NEXT: %15 = arith.subi %c7, %14 : index
// AFTER-NEXT: %c64_9 = arith.constant 64 : index
// AFTER-NEXT: %16 = arith.muli %3, %c64_9 : index
// AFTER-NEXT: %c8_10 = arith.constant 8 : index
// AFTER-NEXT: %17 = arith.muli %1, %c8_10 : index
// AFTER-NEXT: %c1 = arith.constant 1 : index
// AFTER-NEXT: %c7_11 = arith.constant 7 : index
// AFTER-NEXT: scf.for %arg4 = %c0 to %c512 step %c64 {
// AFTER-NEXT: %18 = arith.addi %arg4, %16 : index
// AFTER-NEXT: %c512_12 = arith.constant 512 : index
// AFTER-NEXT: %19 = arith.remui %18, %c512_12 : index
// AFTER-NEXT: %c64_13 = arith.constant 64 : index
// AFTER-NEXT: %20 = arith.divui %19, %c64_13 : index
// AFTER-NEXT: %21 = arith.minui %20, %c7_11 : index
// AFTER-NEXT: %22 = arith.subi %21, %3 : index
// AFTER-NEXT: %23 = arith.cmpi ult, %21, %3 : index
// AFTER-NEXT: %24 = arith.addi %22, %c8_2 : index
// AFTER-NEXT: %25 = arith.select %23, %24, %22 : index
// AFTER-NEXT: %26 = arith.addi %17, %25 : index
// AFTER-NEXT: tile.wait_turn %arg1[%19], %26 : !tile.view<512xi32>
// AFTER-NEXT: tile.atomic_add %arg3, %arg0[%19 : 64, %c0 : 64] : !tile.view<512x64xf32>
// AFTER-NEXT: tile.pass_turn %arg1[%19] : !tile.view<512xi32>
// AFTER-NEXT: }
