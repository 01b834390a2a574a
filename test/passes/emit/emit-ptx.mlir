// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t && act-opt %s --emit-ptx=kernels -o /dev/null && FileCheck %s --check-prefix=AFTER --match-full-lines < kernels/double.ptx

// The manual's example.
gpu.module @kernels {
  gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
    %c32 = arith.constant 32 : index
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c32 : index
    %1 = tile.load %arg0[%0 : 32] : !tile.view<100xf32>
    %2 = arith.addf %1, %1 : tensor<32xf32>
    tile.store %2, %arg0[%0 : 32] : !tile.view<100xf32>
    gpu.return
  }
}
// AFTER: .visible .entry double(
// AFTER-NEXT:   .param .u64 .ptr .global .align 16 double_param_0
// AFTER-NEXT: )
// AFTER-NEXT: .reqntid 128, 1, 1
// AFTER: add.rn.f32 %r2, %r1, %r1;
