// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-select-instructions | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @product(%arg0: !tile.view<16x32xf8E4M3FN>, %arg1: !tile.view<32x8xf8E4M3FN>, %arg2: !tile.view<16x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<16x8xf32>
    %0 = tile.load %arg0[%c0 : 16, %c0 : 32] : !tile.view<16x32xf8E4M3FN>
    %1 = tile.load %arg1[%c0 : 32, %c0 : 8] : !tile.view<32x8xf8E4M3FN>
    %2 = tile.dot %0, %1, %cst : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN> -> tensor<16x8xf32>
    tile.store %2, %arg2[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }
}
// AFTER: %2 = arith.extf %0 : tensor<16x32xf8E4M3FN> to tensor<16x32xf16>
// AFTER-NEXT: %3 = arith.extf %1 : tensor<32x8xf8E4M3FN> to tensor<32x8xf16>
// AFTER-NEXT: %4 = tile.dot %2, %3, %cst {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16>} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
