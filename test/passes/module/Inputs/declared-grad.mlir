// SPDX-License-Identifier: Apache-2.0
act.parameter @w "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %w = act.param @w : tensor<4xf32>
  %sum = act.sum_to %w : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func private @grad(tensor<4xf32>) -> tensor<f32>
