// RUN: act-opt %s --split-input-file --verify-diagnostics

// no scalar
func.func @f(%s: tensor<1xf32>) {
  // expected-error@+1 {{'act.clip' op square_sum has rank 1, expected 0 for a sum}}
  %c = act.clip %s max_norm 1.0 : tensor<1xf32>
  return
}

// -----

// no norm
func.func @f(%s: tensor<f32>) {
  // expected-error@+1 {{'act.clip' op max_norm is 0.000000e+00, expected a finite number above 0}}
  %c = act.clip %s max_norm 0.0 : tensor<f32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%s: tensor<f32>) {
  // expected-error@+1 {{'act.clip' op result has shape [1], expected [] as in square_sum}}
  %c = "act.clip"(%s) {max_norm = 1.0} : (tensor<f32>) -> tensor<1xf32>
  return
}

// -----

// neither of the two
func.func @f(%s: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'act.clip' op has neither a scale nor a max_norm}}
  %c = act.clip %s : tensor<f32>
  return %c : tensor<f32>
}

// -----

// the scale's rank
func.func @f(%s: tensor<f32>, %k: tensor<1xf32>) -> tensor<f32> {
  // expected-error@+1 {{'act.clip' op requires the same type for all operands and results}}
  %c = act.clip %s scale(%k : tensor<1xf32>) : tensor<f32>
  return %c : tensor<f32>
}
