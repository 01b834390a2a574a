// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-sum-lanes-last | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @sum(%arg0: !llvm.ptr<1>, %arg1: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c-1_i32 = arith.constant -1 : i32
    %c1_i32 = arith.constant 1 : i32
    %c31_i32 = arith.constant 31 : i32
    %cst = arith.constant 0.000000e+00 : f32
    %0 = scf.for %arg2 = %c0 to %c4 step %c1 iter_args(%arg3 = %cst) -> (f32) {
      %1 = nvvm.shfl.sync  bfly %c-1_i32, %arg1, %c1_i32, %c31_i32 : f32 -> f32
      %2 = arith.addf %arg1, %1 : f32
      %3 = arith.addf %arg3, %2 : f32
      scf.yield %3 : f32
    }
    llvm.store %0, %arg0 : f32, !llvm.ptr<1>
    gpu.return
  }
}
// AFTER: %0 = scf.for %arg2 = %c0 to %c4 step %c1 iter_args(%arg3 = %cst) -> (f32) {
// AFTER-NEXT:   %3 = arith.addf %arg3, %arg1 : f32
// AFTER-NEXT:   scf.yield %3 : f32
// AFTER-NEXT: }
// AFTER: %1 = nvvm.shfl.sync  bfly %c-1_i32_0, %0, %c1_i32_1, %c31_i32_2 : f32 -> f32
// AFTER-NEXT: %2 = arith.addf %0, %1 : f32
