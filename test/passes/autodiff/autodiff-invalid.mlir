// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --autodiff --verify-diagnostics

// expected-error@+1 {{has no function @forward to differentiate}}
module {
}

// -----

module {
  // expected-error@+1 {{@forward is declared here and has no body}}
  func.func private @forward(tensor<f32>) -> tensor<f32>
}

// -----

module {
  // expected-error@+1 {{@forward's first result is not a scalar loss (a float tensor of rank 0)}}
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{the loss depends on no parameter that is trained}}
  func.func @forward(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@+1 {{is already differentiated: it has a @grad}}
module {
  func.func @forward(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
  func.func @grad(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

act.parameter @w "layers.{l}.w" : tensor<4xf32> layers(2)
func.func private @layer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error@+1 {{with stacked values has no gradient}}
  %y, %all = act.repeat @layer count(L = 2) carry(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  %sum = act.sum_to %y : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

act.parameter @w "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %w = act.param @w : tensor<4xf32>
  // expected-error@+1 {{'act.softmax_grad' op has no gradient, but the loss depends on trained parameters through it}}
  %y = act.softmax_grad %x, %w axis 0 : tensor<4xf32>
  %sum = act.sum_to %y : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
