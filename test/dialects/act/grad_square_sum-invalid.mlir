// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f(%0: tensor<f32>) {
  // expected-error@+1 {{'act.grad_square_sum' op refers to @w, which does not exist}}
  %1 = act.grad_square_sum @w, %0 : tensor<f32>
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f(%0: tensor<f32>) {
  // expected-error@+1 {{'act.grad_square_sum' op refers to @w, which is not an act.parameter}}
  %1 = act.grad_square_sum @w, %0 : tensor<f32>
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f(%0: tensor<f32>) {
  // expected-error@+1 {{'act.grad_square_sum' op refers to the gradient of @w, which is frozen}}
  %1 = act.grad_square_sum @w, %0 : tensor<f32>
  return
}

// -----

// no scalar
func.func @f(%0: tensor<1xf32>) {
  // expected-error@+1 {{'act.grad_square_sum' op sum has rank 1, expected 0 for a sum}}
  %1 = act.grad_square_sum @w, %0 : tensor<1xf32>
  return
}
