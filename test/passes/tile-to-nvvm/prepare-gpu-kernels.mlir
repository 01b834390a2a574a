// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --prepare-gpu-kernels | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @kernel(%arg0: !llvm.ptr<1>, %arg1: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    gpu.return
  }
}
// AFTER: gpu.func @kernel(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64}, %arg1: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>, {{.*}}
