// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions{target=sm_86}))' --verify-diagnostics
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions{target=sm_89}))' -o /dev/null

gpu.module @kernels {
  gpu.func @product(%x: !tile.view<16x32xf8E4M3FN>, %y: !tile.view<32x8xf8E4M3FN>, %z: !tile.view<16x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 32] : !tile.view<16x32xf8E4M3FN>
    %b = tile.load %y[%c0 : 32, %c0 : 8] : !tile.view<32x8xf8E4M3FN>
    // expected-error@+1 {{becomes #tile.instruction<mma_sync, m = 16, n = 8, k = 32, element = f8E4M3FN>, which sm_86 does not have}}
    %c = tile.dot %a, %b, %zero {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 32, element = f8E4M3FN>} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN> -> tensor<16x8xf32>
    tile.store %c, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }
}
