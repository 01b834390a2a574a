// RUN: act-opt %s --split-input-file --verify-diagnostics

// the weight's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %g: tensor<5xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.rms_norm_grad' op weight has shape [5], expected [4] for an input of shape [2, 4]}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<5xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// grad's shape
func.func @f(%dy: tensor<4xf32>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.rms_norm_grad' op grad has shape [4], expected [2, 4] as in input}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// grad's element type
func.func @f(%dy: tensor<2x4xbf16>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.rms_norm_grad' op grad has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xbf16>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the result's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.rms_norm_grad' op result has shape [4], expected [2, 4] as in input}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// rstd's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<3xf32>) {
  // expected-error@+1 {{'act.rms_norm_grad' op rstd has shape [3], expected [2] for an input of shape [2, 4]}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// rstd's element type
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf64>) {
  // expected-error@+1 {{'act.rms_norm_grad' op rstd has elements of type 'f64', expected 'f32' for statistics}}
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf64>) -> tensor<2x4xf32>
  return
}
