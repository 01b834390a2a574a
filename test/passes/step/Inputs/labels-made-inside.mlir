// SPDX-License-Identifier: Apache-2.0
// Labels that @forward cuts out of what it is given.
act.parameter @w "w" : tensor<8x8xf32>
func.func @forward(%x: tensor<4x8xf32> {act.name = "x"}, %both: tensor<8xi32> {act.name = "both"}) -> (tensor<f32> {act.name = "loss"}) {
  %w = act.param @w : tensor<8x8xf32>
  %0 = act.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %ids, %labels = act.split %both : tensor<8xi32> -> tensor<4xi32>, tensor<4xi32>
  %loss = act.cross_entropy %0, %labels ignore -100 reduction mean : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
