// RUN: act-opt %s --split-input-file --verify-diagnostics

// the labels' shape
func.func @f(%dl: tensor<f32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x3xf32>) {
  // expected-error@+1 {{'act.cross_entropy_grad' op labels has shape [2, 4], expected [2, 3] for logits of shape [2, 3, 16]}}
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x4xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
  return
}

// -----

// grad's shape
func.func @f(%dl: tensor<2x3xf32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>, %lse: tensor<2x3xf32>) {
  // expected-error@+1 {{'act.cross_entropy_grad' op grad has shape [2, 3], expected [] for reduction mean over labels of shape [2, 3]}}
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<2x3xf32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
  return
}

// -----

// lse's shape
func.func @f(%dl: tensor<f32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>, %lse: tensor<3xf32>) {
  // expected-error@+1 {{'act.cross_entropy_grad' op lse has shape [3], expected [2, 3] as in labels}}
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3x16xf32>
  return
}

// -----

// the result's shape
func.func @f(%dl: tensor<f32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>, %lse: tensor<2x3xf32>) {
  // expected-error@+1 {{'act.cross_entropy_grad' op result has shape [2, 3], expected [2, 3, 16] as in logits}}
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
