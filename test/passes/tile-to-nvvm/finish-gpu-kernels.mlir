// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --finish-gpu-kernels | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>} {
    llvm.return
  }
}
// AFTER: llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>} {
