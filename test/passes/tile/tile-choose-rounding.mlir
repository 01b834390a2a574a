// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-choose-rounding | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @weights(%arg0: !tile.view<16x16xbf16>, %arg1: !tile.view<16x32xbf16>, %arg2: !tile.view<16xf32>, %arg3: !tile.view<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.0> : tensor<16x32xf32>
    %cst_0 = arith.constant dense<0.25> : tensor<16x32xf32>
    %0 = tile.load %arg0[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %1 = tile.load %arg1[%c0 : 16, %c0 : 32] : !tile.view<16x32xbf16>
    %2 = tile.load %arg2[%c0 : 16] : !tile.view<16xf32>
    %3 = tile.expand_dims %2 axis 1 : tensor<16xf32>
    %4 = tile.broadcast %3 : tensor<16x1xf32> -> tensor<16x32xf32>
    %5 = tile.dot %0, %1, %cst : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
    %6 = arith.mulf %5, %cst_0 : tensor<16x32xf32>
    %7 = arith.subf %6, %4 : tensor<16x32xf32>
    %8 = math.exp %7 fastmath<reassoc,contract,afn> : tensor<16x32xf32>
    tile.store %8, %arg3[%c0 : 16, %c0 : 32] : !tile.view<16x32xf32>
    gpu.return
  }
}
// AFTER: %6 = arith.mulf %5, %cst_0 : tensor<16x32xf32>
// AFTER-NEXT: %7 = arith.subf %6, %4 : tensor<16x32xf32>
// AFTER-NEXT: %8 = math.exp %7 fastmath<reassoc,contract,afn> {tile.exponent_scale = 2.500000e-01 : f64} : tensor<16x32xf32>
