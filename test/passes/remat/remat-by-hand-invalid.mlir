// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --remat=layer --split-input-file --verify-diagnostics
// RUN: act-opt %s --remat=sqrt --split-input-file --verify-diagnostics

// What --autodiff does not write but a person may: stacks that are used in another
// way than from a forward layer to its backward layer.

func.func @fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %r = act.activation_grad silu %d, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<4x8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{'act.repeat' op saves values in a way that --remat cannot change: stack 0 has 2 uses, expected 1}}
  %f:2 = act.repeat @fwd count(4) carry(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  %g = act.repeat @bwd count(4) reverse carry(%f#0) stack(%f#1) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  %u = act.silu %f#1 : tensor<4x8xf32>
  return %loss, %g, %u : tensor<f32>, tensor<8xf32>, tensor<4x8xf32>
}

// -----

func.func @fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = act.silu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{stack 0 is not stacked operand 0 of a repeat}}
  %f:2 = act.repeat @fwd count(4) carry(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  %g = act.repeat @other count(2) reverse carry(%f#1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %loss, %g : tensor<f32>, tensor<4x8xf32>
}

// -----

// Taken in another order, the values of the copies would be exchanged.
func.func @fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  %z = act.silu %y : tensor<8xf32>
  return %z, %x, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = act.activation_grad silu %d, %y : tensor<8xf32>
  %r = act.activation_grad silu %e, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{stack 0 is not stacked operand 0 of a repeat}}
  %f:3 = act.repeat @fwd count(4) carry(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  %g = act.repeat @bwd count(4) reverse carry(%f#0) stack(%f#2, %f#1) : (tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g : tensor<f32>, tensor<8xf32>
}

// -----

func.func @fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %r = act.activation_grad silu %d, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  %f:2 = act.repeat @fwd count(4) carry(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  // expected-error@+1 {{it does not run the layers of the saving repeat in the opposite order}}
  %g = act.repeat @bwd count(4) carry(%f#0) stack(%f#1) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g : tensor<f32>, tensor<8xf32>
}

// -----

// The copy of the dropout would draw the bits of no layer.
func.func @fwd(%l: i64, %x: tensor<8xf32>, %seed: i64, %step: i64) -> (tensor<8xf32>, tensor<8xf32>) {
  %s = act.site 3 layer(%l) : i64
  %y = act.dropout %x p 0.5 rng(%seed, %step, %s) : tensor<8xf32>
  %z = act.silu %y : tensor<8xf32>
  return %z, %y : tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %seed: i64, %step: i64, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r = act.activation_grad silu %d, %y : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>, %seed: i64, %step: i64) -> (tensor<f32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  %f:2 = act.repeat @fwd count(4) carry(%a) shared(%seed, %step) : (tensor<8xf32>, i64, i64) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  // expected-error@+1 {{@bwd does not take the layer's index, but @fwd does}}
  %g = act.repeat @bwd count(4) reverse carry(%f#0) shared(%seed, %step) stack(%f#1) : (tensor<8xf32>, i64, i64, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g : tensor<f32>, tensor<8xf32>
}

// -----

func.func @fwd(%x: tensor<8xf32>, %k: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.add %x, %k : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %z = act.silu %y : tensor<8xf32>
  return %z, %y : tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r = act.activation_grad silu %d, %y : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  %f:2 = act.repeat @fwd count(4) carry(%a) shared(%a) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  // expected-error@+1 {{its last shared values are not those of the saving repeat}}
  %g = act.repeat @bwd count(4) reverse carry(%f#0) stack(%f#1) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g : tensor<f32>, tensor<8xf32>
}

// -----

func.func @both(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  %z = act.add %y, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %z, %y : tensor<8xf32>, tensor<8xf32>
}
func.func @last(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %y = act.add %x, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>, %s: tensor<4x8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{it takes stacks itself}}
  %f:2 = act.repeat @both count(4) carry(%a) stack(%s) : (tensor<8xf32>, tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  act.phase "backward"
  %g = act.repeat @last count(4) reverse carry(%f#0) stack(%f#1) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g : tensor<f32>, tensor<8xf32>
}

// -----

func.func @fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = act.silu %x : tensor<8xf32>
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}
func.func @bwd(%d: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %r = act.activation_grad silu %d, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @grad(%a: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
  %loss = act.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{@fwd is also called elsewhere}}
  %f:2 = act.repeat @fwd count(4) carry(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>)
  // expected-note@+1 {{here}}
  %h:2 = func.call @fwd(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  act.phase "backward"
  %g = act.repeat @bwd count(4) reverse carry(%f#0) stack(%f#1) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return %loss, %g, %h#0 : tensor<f32>, tensor<8xf32>, tensor<8xf32>
}
