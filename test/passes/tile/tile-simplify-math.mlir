// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-simplify-math | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @exponentials(%arg0: !tile.view<256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    scf.for %arg1 = %c0 to %c256 step %c32 {
      %0 = tile.load %arg0[%arg1 : 32] : !tile.view<256xf32>
      %1 = math.exp %0 fastmath<reassoc,contract,afn> : tensor<32xf32>
      tile.store %1, %arg0[%arg1 : 32] : !tile.view<256xf32>
    }
    gpu.return
  }
}
// AFTER: scf.for %arg1 = %c0 to %c256 step %c32 {
// AFTER-NEXT:   %0 = tile.load %arg0[%arg1 : 32] : !tile.view<256xf32>
// AFTER-NEXT:   %cst = arith.constant dense<1.44269502> : tensor<32xf32>
// AFTER-NEXT:   %1 = arith.mulf %0, %cst : tensor<32xf32>
// AFTER-NEXT:   %2 = math.exp2 %1 fastmath<reassoc,contract,afn> : tensor<32xf32>
