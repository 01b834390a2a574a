// SPDX-License-Identifier: Apache-2.0
// Three layers: norm, linear, silu, residual.
func.func private @layer(%x: tensor<2x3x4xf32, #act.dims<b, s, h>>) -> tensor<2x3x4xf32, #act.dims<b, s, h>> {
  %n = act.param @n : tensor<4xf32, #act.dims<h>>
  %0 = act.rms_norm %x, %n eps 1.0e-5 : (tensor<2x3x4xf32, #act.dims<b, s, h>>, tensor<4xf32, #act.dims<h>>) -> tensor<2x3x4xf32, #act.dims<b, s, h>>
  %w = act.param @w : tensor<4x4xf32, #act.dims<h, h>>
  %1 = act.linear %0, %w : (tensor<2x3x4xf32, #act.dims<b, s, h>>, tensor<4x4xf32, #act.dims<h, h>>) -> tensor<2x3x4xf32, #act.dims<b, s, h>>
  %2 = act.silu %1 : tensor<2x3x4xf32, #act.dims<b, s, h>>
  %3 = act.add %x, %2 : (tensor<2x3x4xf32, #act.dims<b, s, h>>, tensor<2x3x4xf32, #act.dims<b, s, h>>) -> tensor<2x3x4xf32, #act.dims<b, s, h>>
  return %3 : tensor<2x3x4xf32, #act.dims<b, s, h>>
}
act.parameter @n "layers.{l}.norm.weight" : tensor<4xf32, #act.dims<h>> layers(3)
act.parameter @w "layers.{l}.linear.weight" : tensor<4x4xf32, #act.dims<h, h>> layers(3)
func.func @forward(%x: tensor<2x3x4xf32, #act.dims<b, s, h>> {act.name = "x"}, %labels: tensor<2x3xi32, #act.dims<b, s>> {act.name = "labels"}) -> (tensor<f32> {act.name = "loss"}) {
  %y = act.repeat @layer count(L = 3) carry(%x) : (tensor<2x3x4xf32, #act.dims<b, s, h>>) -> tensor<2x3x4xf32, #act.dims<b, s, h>>
  %loss = act.cross_entropy %y, %labels ignore -100 reduction mean : (tensor<2x3x4xf32, #act.dims<b, s, h>>, tensor<2x3xi32, #act.dims<b, s>>) -> tensor<f32>
  return %loss : tensor<f32>
}
