// RUN: act-opt %s --split-input-file --verify-diagnostics

// the table's rank
func.func @f(%table: tensor<4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding' op table has rank 1, expected 2 for a table}}
  %0 = act.embedding %table, %ids : (tensor<4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// the result's shape
func.func @f(%table: tensor<16x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding' op result has shape [2, 3, 5], expected [2, 3, 4] for ids of shape [2, 3] and table of shape [16, 4]}}
  %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x5xf32>
  return
}

// -----

// the result's element type
func.func @f(%table: tensor<16x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding' op result has elements of type 'bf16', expected 'f32' as in table}}
  %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xbf16>
  return
}

// -----

// the padding's row
func.func @f(%table: tensor<16x4xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.embedding' op padding_idx is 16, expected a row of table of shape [16, 4]}}
  %0 = act.embedding %table, %ids padding_idx 16 : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return
}
