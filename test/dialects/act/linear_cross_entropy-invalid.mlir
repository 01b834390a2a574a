// RUN: act-opt %s --split-input-file --verify-diagnostics

// a scalar
func.func @f(%x: tensor<f32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op input has rank 0, expected 1 or more}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// the labels' shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x5xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op labels has shape [2, 5], expected [2, 4] for input of shape [2, 4, 8]}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x5xi32>) -> tensor<f32>
  return
}

// -----

// the weight's rank
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op weight has rank 1, expected 2 for a linear layer}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// contracted sizes
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x9xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op contracts 8 columns of input with 9 inputs of weight of shape [16, 9]}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x9xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// chunk
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op chunk is 0, expected 1 or more}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 0 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// the weight's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xbf16>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op weight has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xbf16>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// the loss's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op loss has shape [2, 4], expected [] for reduction mean over labels of shape [2, 4]}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}

// -----

// lse's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op lse has shape [], expected [2, 4] as in labels}}
  %0:2 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// the bias's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op bias has shape [8], expected [16] for weight of shape [16, 8]}}
  %0 = act.linear_cross_entropy %x, %w bias(%b), %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// the bias's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xbf16>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op bias has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear_cross_entropy %x, %w bias(%b), %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xbf16>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// a cap of 0
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.linear_cross_entropy' op softcap is 0.000000e+00, expected a finite number above 0}}
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 softcap 0.0 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}
