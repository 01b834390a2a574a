// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --plan-memory --verify-diagnostics
// RUN: not act-opt %s --split-input-file --plan-memory=function=nowhere 2>&1 | FileCheck %s
// CHECK: error: the module has no function @nowhere

// expected-error@+1 {{the module has no function @forward}}
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
  // In kernel form; before, --form-kernels adds a copy.
  // expected-error@+1 {{result 1 is not computed by a kernel of its own}}
  func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = act.group "silu" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    }
    return %0, %x : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

act.parameter @w "layers.{l}.w" : tensor<4xf32> layers(2)
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{reads @w of layer 2, which has 2 layers}}
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.repeat @layer count(L = 2) from(1) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @layer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = act.silu %x : tensor<4xf32>
  return %0, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'act.repeat' op stacks a value that its iteration did not compute}}
  %y, %all = act.repeat @layer count(2) carry(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  %z = act.silu %all : tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

func.func private @layer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = act.silu %x : tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @read(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.add %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y, %all = act.repeat @layer count(2) carry(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  // expected-error@+1 {{'act.repeat' op reads slice 3 of a stack of 2}}
  %z = act.repeat @read count(2) from(3) carry(%x) stack(%all) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'arith.addf' op is in no group}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'func.call' op calls @f, which has no body}}
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'func.call' op calls @forward, which leads back to this call}}
  %y = func.call @forward(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

act.parameter @w "w" : tensor<?x4xf32, #act.dims<b, 4>>
func.func @forward(%x: tensor<4xf32>) -> tensor<?x4xf32, #act.dims<b, 4>> {
  %w = act.param @w : tensor<?x4xf32, #act.dims<b, 4>>
  // expected-error@+1 {{'act.group' op has a result without a static shape; give its letters sizes}}
  %y = act.add %w, %x : (tensor<?x4xf32, #act.dims<b, 4>>, tensor<4xf32>) -> tensor<?x4xf32, #act.dims<b, 4>>
  return %y : tensor<?x4xf32, #act.dims<b, 4>>
}
