// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-vectorize-kernel --verify-diagnostics

func.func @tensors(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @+1 {{still works on tensors}}
  %y = linalg.exp ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
