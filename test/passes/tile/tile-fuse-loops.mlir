// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-fuse-loops | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @sums(%arg0: !tile.view<8x96xf32>, %arg1: !tile.view<8xf32>, %arg2: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<8x32xf32>
    %0 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst) -> (tensor<8x32xf32>) {
      %4 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
      %5 = arith.addf %arg4, %4 : tensor<8x32xf32>
      scf.yield %5 : tensor<8x32xf32>
    }
    %1 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst) -> (tensor<8x32xf32>) {
      %4 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
      %5 = arith.maximumf %arg4, %4 : tensor<8x32xf32>
      scf.yield %5 : tensor<8x32xf32>
    }
    %2 = tile.reduce add %0 axis 1 : tensor<8x32xf32>
    %3 = tile.reduce max %1 axis 1 : tensor<8x32xf32>
    tile.store %2, %arg1[%c0 : 8] : !tile.view<8xf32>
    tile.store %3, %arg2[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }
}
// AFTER: %0:2 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst, %arg5 = %cst) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
// AFTER-NEXT:   %3 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
// AFTER-NEXT:   %4 = arith.addf %arg4, %3 : tensor<8x32xf32>
// AFTER-NEXT:   %5 = arith.maximumf %arg5, %3 : tensor<8x32xf32>
// AFTER-NEXT:   scf.yield %4, %5 : tensor<8x32xf32>, tensor<8x32xf32>
// AFTER-NEXT: }
