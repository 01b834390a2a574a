// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-simplify-control | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @choose(%arg0: !tile.view<8xf32>, %arg1: index) kernel {
    %c0 = arith.constant 0 : index
    %0 = tile.load %arg0[%c0 : 8] : !tile.view<8xf32>
    %1 = scf.index_switch %arg1 -> tensor<8xf32> 
    case 7 {
      %2 = arith.negf %0 : tensor<8xf32>
      scf.yield %2 : tensor<8xf32>
    }
    default {
      scf.yield %0 : tensor<8xf32>
    }
    tile.store %1, %arg0[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }
}
// AFTER: %c7 = arith.constant 7 : index
// AFTER-NEXT: %1 = arith.cmpi eq, %arg1, %c7 : index
// AFTER-NEXT: %2 = scf.if %1 -> (tensor<8xf32>) {
// AFTER-NEXT:   %3 = arith.negf %0 : tensor<8xf32>
// AFTER-NEXT:   scf.yield %3 : tensor<8xf32>
// AFTER-NEXT: } else {
// AFTER-NEXT:   scf.yield %0 : tensor<8xf32>
// AFTER-NEXT: }
