// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-split-masked-loops --canonicalize | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @sum(%arg0: !tile.view<256xf32>, %arg1: !tile.view<16xf32>, %arg2: i32) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %0 = tile.iota 0 to 16
    %splat = tensor.splat %arg2 : tensor<16xi32>
    %1 = scf.for %arg3 = %c0 to %c256 step %c16 iter_args(%arg4 = %cst) -> (tensor<16xf32>) {
      %2 = arith.index_cast %arg3 : index to i32
      %splat_0 = tensor.splat %2 : tensor<16xi32>
      %3 = arith.addi %splat_0, %0 : tensor<16xi32>
      %4 = arith.cmpi slt, %3, %splat : tensor<16xi32>
      %5 = tile.load %arg0[%arg3 : 16] : !tile.view<256xf32>
      %6 = arith.select %4, %5, %cst : tensor<16xi1>, tensor<16xf32>
      %7 = arith.addf %arg4, %6 : tensor<16xf32>
      scf.yield %7 : tensor<16xf32>
    }
    tile.store %1, %arg1[%c0 : 16] : !tile.view<16xf32>
    gpu.return
  }
}
// AFTER: %6 = scf.for %arg3 = %c0 to %5 step %c16 iter_args(%arg4 = %cst) -> (tensor<16xf32>) {
// AFTER-NEXT:   %19 = tile.load %arg0[%arg3 : 16] : !tile.view<256xf32>
// AFTER-NEXT:   %20 = arith.addf %arg4, %19 : tensor<16xf32>
// AFTER-NEXT:   scf.yield %20 : tensor<16xf32>
// AFTER-NEXT: }
// AFTER: %18 = scf.for %arg3 = %11 to %17 step %c16 iter_args(%arg4 = %6) -> (tensor<16xf32>) {
// AFTER:   %21 = arith.cmpi slt, %20, %splat : tensor<16xi32>
