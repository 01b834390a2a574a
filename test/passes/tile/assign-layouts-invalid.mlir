// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts))'

gpu.module @kernels {
  gpu.func @share(%x: !tile.view<16x16xbf16>, %z: !tile.view<16x8xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %b = tile.load %x[%c0 : 16, %c0 : 8] : !tile.view<16x16xbf16>
    // expected-error @+1 {{has an accumulator of 16x8, which 4 warps cannot share; expected R x C warps, where 16 R divides the rows and 8 C the columns}}
    %d = tile.dot %a, %b, %zero : tensor<16x16xbf16>, tensor<16x8xbf16> -> tensor<16x8xf32>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @constants(%z: !tile.view<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{is a block of different constants; a kernel supports only splats}}
    %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    tile.store %a, %z[%c0 : 2] : !tile.view<2xf32>
    gpu.return
  }
}
