// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --tile-check-kernels 2>&1 | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @copy(%arg0: !tile.view<?x8xf32>) kernel {
    gpu.return
  }
}
// AFTER: {{.*}}: error: 'gpu.func' op argument 0 is of type '!tile.view<?x8xf32>', expected {{.*}}
