// RUN: act-opt %s --split-input-file --verify-diagnostics

// the result's rank
func.func @f(%dy: tensor<2x3x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding_grad' op result has rank 1, expected 2 for a table}}
  %0 = act.embedding_grad %dy, %ids : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<4xf32>
  return
}

// -----

// grad's shape
func.func @f(%dy: tensor<2x4x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding_grad' op grad has shape [2, 4, 4], expected [2, 3, 4] for ids of shape [2, 3] and result of shape [16, 4]}}
  %0 = act.embedding_grad %dy, %ids : (tensor<2x4x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
  return
}

// -----

// grad's element type
func.func @f(%dy: tensor<2x3x4xbf16>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding_grad' op grad has elements of type 'bf16', expected 'f32' as in result}}
  %0 = act.embedding_grad %dy, %ids : (tensor<2x3x4xbf16>, tensor<2x3xi32>) -> tensor<16x4xf32>
  return
}

// -----

// the padding's row
func.func @f(%dy: tensor<2x3x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding_grad' op padding_idx is -1, expected a row of result of shape [16, 4]}}
  %0 = act.embedding_grad %dy, %ids padding_idx -1 : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
  return
}
