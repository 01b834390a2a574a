// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-assign-layouts | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @double(%arg0: !tile.view<256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = tile.load %arg0[%c0 : 256] : !tile.view<256xf32>
    %1 = arith.addf %0, %0 : tensor<256xf32>
    tile.store %1, %arg0[%c0 : 256] : !tile.view<256xf32>
    gpu.return
  }
}
// AFTER: #layout = #tile.layout<register = [2:(1)], lane = [32:(2)], warp = [4:(64)]>
// AFTER: %0 = tile.load %arg0[%c0 : 256] : !tile.view<256xf32> -> tensor<256xf32, #layout>
// AFTER-NEXT: %1 = arith.addf %0, %0 : tensor<256xf32, #layout>
// AFTER-NEXT: tile.store %1, %arg0[%c0 : 256] : tensor<256xf32, #layout>, !tile.view<256xf32>
