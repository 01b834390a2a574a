// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,tile-lower-to-threads))' -o /dev/null 2>&1 | FileCheck %s

// 4096 elements of each thread, all of which are exchanged between lanes for the sums.
// CHECK: too-long.mlir:[[#@LINE+2]]:3: error: 'gpu.func' op has {{[0-9]+}} operations for each thread, expected at most 524288: its blocks are too large
gpu.module @kernels {
  gpu.func @k(%x: !tile.view<128x112x32xi64>, %y: !tile.view<128x112x32xi64>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 128, %c0 : 112, %c0 : 32] : !tile.view<128x112x32xi64>
    %b = tile.scan mul %a axis 0 : tensor<128x112x32xi64>
    %c = tile.scan add %b axis 1 : tensor<128x112x32xi64>
    %d = tile.scan max %c axis 2 : tensor<128x112x32xi64>
    %e = tile.scan mul %d axis 0 : tensor<128x112x32xi64>
    %f = tile.scan add %e axis 1 : tensor<128x112x32xi64>
    tile.store %f, %y[%c0 : 128, %c0 : 112, %c0 : 32] : !tile.view<128x112x32xi64>
    gpu.return
  }
}
