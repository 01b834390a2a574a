// RUN: act-opt %s --split-input-file --verify-diagnostics

// the weight's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<5xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.layer_norm' op weight has shape [5], expected [4] for an input of shape [2, 4]}}
  %0 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<5xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the bias's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error@+1 {{'act.layer_norm' op bias has shape [5], expected [4] for an input of shape [2, 4]}}
  %0 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the bias's element type
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error@+1 {{'act.layer_norm' op bias has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

// the result's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.layer_norm' op result has shape [4], expected [2, 4] as in input}}
  %0 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// mean's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.layer_norm' op mean has shape [4], expected [2] for an input of shape [2, 4]}}
  %0:3 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>)
  return
}

// -----

// rstd's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.layer_norm' op rstd has shape [4], expected [2] for an input of shape [2, 4]}}
  %0:3 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<4xf32>)
  return
}

// -----

// an infinite eps
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.layer_norm' op eps is INF, expected a finite number of 0 or more}}
  %0 = act.layer_norm %x, %g, %b eps 0x7FF0000000000000 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}
