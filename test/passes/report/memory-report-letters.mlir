// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --memory-report=file=%t --verify-diagnostics

// A letter has one size in formulas.
act.parameter @w "w.{l}" : tensor<4x4xf32> layers(5)
func.func @layer(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-note@+1 {{L is 3 here}}
  %y = act.repeat @layer count(L = 3) carry(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{the letter L is 2 here and 3 elsewhere; formulas need one size for each letter}}
  %z = act.repeat @layer count(L = 2) from(3) carry(%y) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

func.func @forward(%x: tensor<2x4xf32, #act.dims<s, 4>>, %y: tensor<3x4xf32, #act.dims<s, 4>>) -> (tensor<2x4xf32, #act.dims<s, 4>>, tensor<3x4xf32, #act.dims<s, 4>>) {
  // expected-note@+1 {{s is 2 here}}
  %0 = act.silu %x : tensor<2x4xf32, #act.dims<s, 4>>
  // expected-error@+1 {{the letter s is 3 here and 2 elsewhere; formulas need one size for each letter}}
  %1 = act.silu %y : tensor<3x4xf32, #act.dims<s, 4>>
  return %0, %1 : tensor<2x4xf32, #act.dims<s, 4>>, tensor<3x4xf32, #act.dims<s, 4>>
}
