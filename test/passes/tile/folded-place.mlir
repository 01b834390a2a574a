// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --emit-ptx="dir=%t target=sm_80" -o /dev/null 2>&1 | FileCheck %s

// A constant that two ops are folded to has no place; its kernel has.
// CHECK: folded-place.mlir:[[#@LINE+2]]:3: error: 'arith.constant' op has a block of 1048576 elements, of which a thread would hold 8192, expected at most 4096
gpu.module @kernels {
  gpu.func @k(%y: !tile.view<1024x1024xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = arith.constant dense<1.0> : tensor<1024x1024xf32>
    %b = arith.addf %a, %a : tensor<1024x1024xf32>
    %c = arith.addf %a, %a : tensor<1024x1024xf32>
    tile.store %b, %y[%c0 : 1024, %c0 : 1024] : !tile.view<1024x1024xf32>
    tile.barrier
    tile.store %c, %y[%c0 : 1024, %c0 : 1024] : !tile.view<1024x1024xf32>
    gpu.return
  }
}
