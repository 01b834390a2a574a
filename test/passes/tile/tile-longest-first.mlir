// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-longest-first | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --tile-count-block-bytes --tile-longest-first | FileCheck %s --check-prefix=COUNTED

// The manual's example, of a triangle's rows.
gpu.module @kernels {
  gpu.func @triangle(%arg0: !tile.view<512x512xf32>, %arg1: !tile.view<512x64xf32>) kernel attributes {tile.growing_bytes, tile.grid = array<i64: 8, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c64 : index
    %end = arith.addi %0, %c64 : index
    %sum = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %arg0[%0 : 64, %j : 64] : !tile.view<512x512xf32>
      %next = arith.addf %acc, %a : tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %sum, %arg1[%0 : 64, %c0 : 64] : !tile.view<512x64xf32>
    gpu.return
  }

  // AFTER: %pid_x = tile.program_id x
  // AFTER-NEXT: %c7 = arith.constant 7 : index
  // AFTER-NEXT: %0 = arith.subi %c7, %pid_x : index
  // AFTER-NEXT: %1 = arith.muli %0, %c64 : index

  // COUNTED-LABEL: gpu.func @triangle
  // COUNTED-NOT: growing
  // COUNTED: arith.subi %c7

  // By tickets; and the same amount for all.
  // COUNTED-LABEL: gpu.func @ticket
  // COUNTED-NOT: arith.subi
  // COUNTED: gpu.return
  gpu.func @ticket(%arg0: !tile.view<1xi32>, %arg1: !tile.view<8xi32>) kernel attributes {tile.growing_bytes, tile.grid = array<i64: 8, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %t = tile.ticket %arg0[%c0] : !tile.view<1xi32>
    %pid_x = tile.program_id x
    tile.wait_turn %arg1[%pid_x], %t : !tile.view<8xi32>
    gpu.return
  }

  // COUNTED-LABEL: gpu.func @square
  // COUNTED-NOT: arith.subi
  // COUNTED: gpu.return
  gpu.func @square(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512x64xf32>) kernel attributes {tile.grid = array<i64: 8, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c64 : index
    %a = tile.load %arg0[%0 : 64, %c0 : 64] : !tile.view<512x64xf32>
    tile.store %a, %arg1[%0 : 64, %c0 : 64] : !tile.view<512x64xf32>
    gpu.return
  }
}
