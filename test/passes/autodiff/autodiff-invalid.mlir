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
  // expected-error@+1 {{'act.softmax_grad' op has no gradient, but what is differentiated depends on trained parameters through it}}
  %y = act.softmax_grad %x, %w axis 0 : tensor<4xf32>
  %sum = act.sum_to %y : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

module {
  // expected-error@+1 {{argument 0 of @forward has act.requires_grad, but the function is not act.differentiable}}
  func.func @forward(%x: tensor<4xf32> {act.requires_grad}) -> tensor<f32> {
    %0 = act.sum_to %x : tensor<4xf32> -> tensor<1xf32>
    %1 = act.reshape %0 : tensor<1xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 0 of @forward has act.requires_grad, but 'tensor<4xi32>' has no gradient: expected a tensor of floats}}
  func.func @forward(%x: tensor<4xi32> {act.requires_grad}) -> tensor<4xi32>
      attributes {act.differentiable} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{result 0 of @forward has act.updates = "u", which names no argument of it}}
  func.func @forward(%x: tensor<4xf32> {act.name = "x", act.requires_grad})
      -> (tensor<4xf32> {act.updates = "u"}) attributes {act.differentiable} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{no result depends on a parameter that is trained or on an argument with act.requires_grad}}
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> attributes {act.differentiable} {
    return %x : tensor<4xf32>
  }
}

// -----

#id = affine_map<(d0) -> (d0)>
module {
  func.func @forward(%x: tensor<4xf32> {act.requires_grad}) -> tensor<4xf32>
      attributes {act.differentiable} {
    %e = tensor.empty() : tensor<4xf32>
    // expected-error@+1 {{has no gradient: its body has math.atanh, which has no derivative in act}}
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.atanh %a : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
module {
  func.func @forward(%x: tensor<4xf32> {act.requires_grad}) -> tensor<f32>
      attributes {act.differentiable} {
    %e = tensor.empty() : tensor<f32>
    // expected-error@+1 {{has no gradient: it reduces by arith.mulf, and act knows the derivatives of sums and maxima}}
    %y = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %o : f32
      linalg.yield %0 : f32
    } -> tensor<f32>
    return %y : tensor<f32>
  }
}
