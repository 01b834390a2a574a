// RUN: act-opt %s --split-input-file --verify-diagnostics

// no multiple
func.func @f(%k: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.expand' op dimension 1 of result of shape [2, 6] is not a multiple of input's of shape [2, 4]}}
  %0 = act.expand %k : tensor<2x4xf32> -> tensor<2x6xf32>
  return
}

// -----

// another rank
func.func @f(%k: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.expand' op result has rank 3, expected 2 as in input}}
  %0 = act.expand %k : tensor<2x4xf32> -> tensor<2x2x4xf32>
  return
}

// -----

// another element type
func.func @f(%k: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.expand' op result has elements of type 'f64', expected 'f32' as in input}}
  %0 = act.expand %k : tensor<2x4xf32> -> tensor<2x8xf64>
  return
}
