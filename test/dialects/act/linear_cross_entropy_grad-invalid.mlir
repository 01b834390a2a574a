// RUN: act-opt %s --split-input-file --verify-diagnostics

// contracted sizes
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x9xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op contracts 8 columns of input with 9 inputs of weight of shape [16, 9]}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x9xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

// chunk
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op chunk is -1, expected 1 or more}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk -1 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

// grad's shape
func.func @f(%dl: tensor<2x4xf32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op grad has shape [2, 4], expected [] for reduction mean over labels of shape [2, 4]}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<2x4xf32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

// lse's shape
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op lse has shape [4], expected [2, 4] as in labels}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

// d_input's shape
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op d_input has shape [16, 8], expected [2, 4, 8] as in input}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
  return
}

// -----

// d_weight's shape
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op d_weight has shape [2, 4, 8], expected [16, 8] as in weight}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

// the bias's gradient without the weight's
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op has 2 results, expected 1 or 3 with a bias}}
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w bias(%b), %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16xf32>)
  return
}

// -----

// a gradient of no bias
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op has 3 results, expected 1 or 2 without a bias}}
  %0:3 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>)
  return
}

// -----

// d_bias's shape
func.func @f(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op d_bias has shape [8], expected [16] as in bias}}
  %0:3 = act.linear_cross_entropy_grad %dl, %x, %w bias(%b), %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<8xf32>)
  return
}
