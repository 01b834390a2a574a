// RUN: act-opt %s --split-input-file --verify-diagnostics

// another rank
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.broadcast' op result has rank 2, expected 1 for an input of shape [8]}}
  %0 = tile.broadcast %a : tensor<8xf32> -> tensor<8x4xf32>
  return
}

// -----

// a dimension that is not 1
func.func @f(%a: tensor<2x4xf32>) {
  // expected-error@+1 {{'tile.broadcast' op cannot repeat an input of shape [2, 4] to a result of shape [8, 4]}}
  %0 = tile.broadcast %a : tensor<2x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// another element type
func.func @f(%a: tensor<1x4xf32>) {
  // expected-error@+1 {{'tile.broadcast' op result has elements of type 'f64', expected 'f32' as in input}}
  %0 = tile.broadcast %a : tensor<1x4xf32> -> tensor<8x4xf64>
  return
}
