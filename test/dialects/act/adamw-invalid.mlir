// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op refers to @w, which does not exist}}
  act.adamw @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op refers to @w, which is not an act.parameter}}
  act.adamw @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op refers to the gradient of @w, which is frozen}}
  act.adamw @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
  return
}

// -----

// one beta
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op has 1 betas, expected 2}}
  act.adamw @w lr(%lr) step(%t) betas [0.9] eps 1.0e-8 weight_decay 0.0
  return
}

// -----

// a beta of 1
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op has a beta of 1.000000e+00, expected 0 <= beta < 1}}
  act.adamw @w lr(%lr) step(%t) betas [0.9, 1.0] eps 1.0e-8 weight_decay 0.0
  return
}

// -----

// a negative eps
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op eps is -1.000000e-08, expected a finite number of 0 or more}}
  act.adamw @w lr(%lr) step(%t) betas [0.9, 0.999] eps -1.0e-8 weight_decay 0.0
  return
}

// -----

// a negative decay
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw' op weight_decay is -1.000000e+00, expected a finite number of 0 or more}}
  act.adamw @w lr(%lr) step(%t) betas [0.9, 0.999] eps 1.0e-8 weight_decay -1.0
  return
}

// -----

// clip's rank
func.func @f(%lr: f32, %t: i64, %c: tensor<1xf32>) {
  // expected-error@+1 {{'act.adamw' op clip has rank 1, expected 0 for a factor}}
  act.adamw @w lr(%lr) step(%t) clip(%c : tensor<1xf32>) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
  return
}
