// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,tile-lower-to-threads))' --verify-diagnostics

gpu.module @kernels {
  gpu.func @product(%x: !tile.view<16x16xbf16>, %y: !tile.view<16x8xbf16>, %z: !tile.view<16x8xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %b = tile.load %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xbf16>
    // expected-error@+1 {{has no instruction; --tile-select-instructions chooses one}}
    %c = tile.dot %a, %b, %zero : tensor<16x16xbf16>, tensor<16x8xbf16> -> tensor<16x8xf32>
    tile.store %c, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }
}
