// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.sgd' op refers to @w, which does not exist}}
  act.sgd @w lr(%lr)
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.sgd' op refers to @w, which is not an act.parameter}}
  act.sgd @w lr(%lr)
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.sgd' op refers to the gradient of @w, which is frozen}}
  act.sgd @w lr(%lr)
  return
}

// -----

// clip's rank
func.func @f(%lr: f32, %c: tensor<1xf32>) {
  // expected-error@+1 {{'act.sgd' op clip has rank 1, expected 0 for a factor}}
  act.sgd @w lr(%lr) clip(%c : tensor<1xf32>)
  return
}

// -----

// a negative momentum
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.sgd' op momentum is -1.000000e+00, expected a finite number of 0 or more}}
  act.sgd @w lr(%lr) momentum -1.0
  return
}

// -----

// a negative decay
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.sgd' op weight_decay is -1.000000e+00, expected a finite number of 0 or more}}
  act.sgd @w lr(%lr) weight_decay -1.0
  return
}
