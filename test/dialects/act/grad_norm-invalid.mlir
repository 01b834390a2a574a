// RUN: act-opt %s --split-input-file --verify-diagnostics

// the sum's rank
func.func @f(%s: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error@+1 {{'act.grad_norm' op square_sum has rank 1, expected 0 for a sum}}
  %n = act.grad_norm %s : tensor<1xf32>
  return %n : tensor<1xf32>
}

// -----

// the scale's rank
func.func @f(%s: tensor<f32>, %k: tensor<1xf32>) -> tensor<f32> {
  // expected-error@+1 {{'act.grad_norm' op requires the same type for all operands and results}}
  %n = act.grad_norm %s scale(%k : tensor<1xf32>) : tensor<f32>
  return %n : tensor<f32>
}

// -----

// the result's type
func.func @f(%s: tensor<f32>) -> tensor<1xf32> {
  // expected-error@+1 {{'act.grad_norm' op result has shape [1], expected [] as in square_sum}}
  %n = "act.grad_norm"(%s) : (tensor<f32>) -> tensor<1xf32>
  return %n : tensor<1xf32>
}
