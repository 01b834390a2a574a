// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --emit-ptx="dir=%t target=sm_86 cache-dir=none" --verify-diagnostics -o /dev/null
//
// Targets without products of warp groups say so.

// Warps multiply, one by one.
gpu.module @alone {
  // expected-warning@+1 {{has groups of warps, but sm_86 has no products of groups: each warp multiplies alone}}
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
// -----

// A schedule for Hopper alone.
gpu.module @registers {
  // expected-error@+1 {{'gpu.func' op has registers for each role, which sm_86 cannot move from one warp to another}}
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, roles = {copy = 4 at 40, compute at 232}>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
