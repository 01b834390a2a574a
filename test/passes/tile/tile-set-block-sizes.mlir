// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-set-block-sizes=sizes=M=32 | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.block_sizes = {M = 64 : i64}, tile.grid = #tile.grid<100/M>} {
    %M = tile.block_size M
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %M : index
    %1 = tile.load %arg0[%0 : M = 64] : !tile.view<100xf32>
    %2 = arith.addf %1, %1 : tensor<64xf32>
    tile.store %2, %arg0[%0 : M = 64] : !tile.view<100xf32>
    gpu.return
  }
}
// AFTER: gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
// AFTER-NEXT:   %c32 = arith.constant 32 : index
// AFTER-NEXT:   %pid_x = tile.program_id x
// AFTER-NEXT:   %0 = arith.muli %pid_x, %c32 : index
// AFTER-NEXT:   %1 = tile.load %arg0[%0 : 32] : !tile.view<100xf32>
// AFTER-NEXT:   %2 = arith.addf %1, %1 : tensor<32xf32>
