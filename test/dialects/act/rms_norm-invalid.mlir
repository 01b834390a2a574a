// RUN: act-opt %s --split-input-file --verify-diagnostics

// a scalar
func.func @f(%x: tensor<f32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'act.rms_norm' op input has rank 0, expected 1 or more}}
  %0 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// the weight's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<5xf32>) {
  // expected-error@+1 {{'act.rms_norm' op weight has shape [5], expected [4] for an input of shape [2, 4]}}
  %0 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xf32>, tensor<5xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the weight's element type
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xbf16>) {
  // expected-error@+1 {{'act.rms_norm' op weight has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xf32>, tensor<4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

// the result's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'act.rms_norm' op result has shape [4], expected [2, 4] as in input}}
  %0 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// the result's element type
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'act.rms_norm' op result has elements of type 'f16', expected 'f32' as in input}}
  %0 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf16>
  return
}

// -----

// rstd's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'act.rms_norm' op rstd has shape [4], expected [2] for an input of shape [2, 4]}}
  %0:2 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
  return
}

// -----

// rstd's element type
func.func @f(%x: tensor<2x4xbf16>, %g: tensor<4xbf16>) {
  // expected-error@+1 {{'act.rms_norm' op rstd has elements of type 'bf16', expected 'f32' for statistics}}
  %0:2 = act.rms_norm %x, %g eps 1.0e-5 : (tensor<2x4xbf16>, tensor<4xbf16>) -> (tensor<2x4xbf16>, tensor<2xbf16>)
  return
}

// -----

// a negative eps
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'act.rms_norm' op eps is -1.000000e-05, expected a finite number of 0 or more}}
  %0 = act.rms_norm %x, %g eps -1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}
