// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --check-ptx-target 2>&1 | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.setmaxregister  increase 240
    llvm.return
  }
}
// AFTER: {{.*}}: error: 'nvvm.setmaxregister' op needs sm_90a, but the target is sm_80
