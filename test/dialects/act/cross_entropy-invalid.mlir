// RUN: act-opt %s --split-input-file --verify-diagnostics

// a scalar
func.func @f(%logits: tensor<f32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op logits has rank 0, expected 1 or more}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<f32>, tensor<2x3xi32>) -> tensor<f32>
  return
}

// -----

// the labels' shape
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x4xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op labels has shape [2, 4], expected [2, 3] for logits of shape [2, 3, 16]}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x4xi32>) -> tensor<f32>
  return
}

// -----

// the loss's shape, mean
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op loss has shape [2, 3], expected [] for reduction mean over labels of shape [2, 3]}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}

// -----

// the loss's shape, none
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op loss has shape [], expected [2, 3] for reduction none over labels of shape [2, 3]}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction none : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<f32>
  return
}

// -----

// the loss's element type
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op loss has elements of type 'bf16', expected 'f32' for a loss}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<bf16>
  return
}

// -----

// lse's shape
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op lse has shape [], expected [2, 3] as in labels}}
  %0:2 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// lse's element type
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.cross_entropy' op lse has elements of type 'f64', expected 'f32' for statistics}}
  %0:2 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf64>)
  return
}

// -----

// an unknown reduction
func.func @f(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) {
  // expected-error@+2 {{expected ::act::Reduction to be one of: mean, sum, none}}
  // expected-error@+1 {{failed to parse Act_ReductionAttr parameter}}
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction median : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<f32>
  return
}
