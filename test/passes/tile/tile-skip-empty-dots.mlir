// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-skip-empty-dots | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @table(%arg0: !tile.view<256xi32>, %arg1: !tile.view<256x16xbf16>, %arg2: !tile.view<64x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x32xbf16>
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<64x32xbf16>
    %0 = tile.iota 0 to 64
    %1 = tile.expand_dims %0 axis 1 : tensor<64xi32>
    %2 = tile.broadcast %1 : tensor<64x1xi32> -> tensor<64x32xi32>
    %3 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x16xf32>) {
      %4 = tile.load %arg0[%arg3 : 32] : !tile.view<256xi32>
      %5 = tile.expand_dims %4 axis 0 : tensor<32xi32>
      %6 = tile.broadcast %5 : tensor<1x32xi32> -> tensor<64x32xi32>
      %7 = arith.cmpi eq, %6, %2 : tensor<64x32xi32>
      %8 = arith.select %7, %cst_1, %cst_0 : tensor<64x32xi1>, tensor<64x32xbf16>
      %9 = tile.load %arg1[%arg3 : 32, %c0 : 16] : !tile.view<256x16xbf16>
      %10 = tile.dot %8, %9, %arg4 : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      scf.yield %10 : tensor<64x16xf32>
    }
    tile.store %3, %arg2[%c0 : 64, %c0 : 16] : !tile.view<64x16xf32>
    gpu.return
  }
}
// AFTER: %11 = tile.reduce or %10 axis 0 : tensor<32xi1>
// AFTER-NEXT: %12 = scf.if %11 -> (tensor<64x16xf32>) {
// AFTER-NEXT:   %13 = tile.expand_dims %4 axis 0 : tensor<32xi32>
// AFTER-NEXT:   %14 = tile.broadcast %13 : tensor<1x32xi32> -> tensor<64x32xi32>
// AFTER-NEXT:   %15 = arith.cmpi eq, %14, %2 : tensor<64x32xi32>
// AFTER-NEXT:   %16 = arith.select %15, %cst_1, %cst_0 : tensor<64x32xi1>, tensor<64x32xbf16>
// AFTER-NEXT:   %17 = tile.load %arg1[%arg3 : 32, %c0 : 16] : !tile.view<256x16xbf16>
// AFTER-NEXT:   %18 = tile.dot %16, %17, %arg4 : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
// AFTER-NEXT:   scf.yield %18 : tensor<64x16xf32>
// AFTER-NEXT: } else {
// AFTER-NEXT:   scf.yield %arg4 : tensor<64x16xf32>
// AFTER-NEXT: }
