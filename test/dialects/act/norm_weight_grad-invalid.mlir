// RUN: act-opt %s --split-input-file --verify-diagnostics

// the result's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op result has shape [2], expected [4] for an input of shape [2, 4]}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// the result's element type
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xbf16>
  return
}

// -----

// grad's shape
func.func @f(%dy: tensor<4x2xf32>, %x: tensor<2x4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op grad has shape [4, 2], expected [2, 4] as in input}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<4x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// mean's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %mean: tensor<3xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op mean has shape [3], expected [2] for an input of shape [2, 4]}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// rstd's shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %mean: tensor<2xf32>, %rstd: tensor<3xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op rstd has shape [3], expected [2] for an input of shape [2, 4]}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

// a scalar
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<f32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.norm_weight_grad' op input has rank 0, expected 1 or more}}
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}
