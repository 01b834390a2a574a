// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t && act-opt %s --emit="file=model.act kernels=kernels.mlir" -o /dev/null && FileCheck %s --check-prefix=AFTER --match-full-lines < kernels.mlir

// The manual's example.
func.func @forward(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = act.mul %arg0, %arg1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
// AFTER: func.func @k0_mul(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
// AFTER-NEXT:   %0 = tensor.empty() : tensor<64xf32>
// AFTER-NEXT:   %1 = linalg.generic {{.*}}
// AFTER-NEXT:   ^bb0(%in: f32, %in_0: f32, %out: f32):
// AFTER-NEXT:     %2 = arith.mulf %in, %in_0 : f32
// AFTER-NEXT:     linalg.yield %2 : f32
// AFTER-NEXT:   } -> tensor<64xf32>
// AFTER-NEXT:   return %1 : tensor<64xf32>
// AFTER-NEXT: }
