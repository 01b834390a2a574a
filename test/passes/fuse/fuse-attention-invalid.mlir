// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics --fuse-attention

func.func @grad(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{fuse-attention needs a model that is not differentiated yet}}
  act.phase "backward"
  return %x : tensor<4xf32>
}

// -----

func.func @backward(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{fuse-attention needs a model that is not differentiated yet}}
  %0 = act.softmax_grad %dy, %y axis 1 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
