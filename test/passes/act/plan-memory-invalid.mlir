// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --plan-memory --verify-diagnostics
// RUN: not act-opt %s --plan-memory=function=nowhere 2>&1 | FileCheck %s
// CHECK: error: has no function @nowhere

// expected-error@+1 {{has no function @forward}}
module {
}

// -----

module {
  // expected-error@+1 {{argument 0 has no static shape; give its letters sizes}}
  func.func @forward(%x: tensor<?x4xf32, #act.dims<b, h>>) -> tensor<?x4xf32, #act.dims<b, h>> {
    %0 = act.silu %x : tensor<?x4xf32, #act.dims<b, h>>
    return %0 : tensor<?x4xf32, #act.dims<b, h>>
  }
}

// -----

module {
  act.parameter @w "layers.{l}.w" : tensor<4xf32> layers(2)
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{reads @w, a parameter of layers, outside a repeat}}
    %w = act.param @w : tensor<4xf32>
    %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{result 0 is not made by a kernel of its own}}
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
