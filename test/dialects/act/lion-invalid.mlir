// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.lion' op refers to @w, which does not exist}}
  act.lion @w lr(%lr) betas [0.9, 0.99] weight_decay 0.0
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.lion' op refers to the gradient of @w, which is frozen}}
  act.lion @w lr(%lr) betas [0.9, 0.99] weight_decay 0.0
  return
}

// -----

// three betas
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.lion' op has 3 betas, expected 2}}
  act.lion @w lr(%lr) betas [0.9, 0.99, 0.5] weight_decay 0.0
  return
}

// -----

// a negative decay
func.func @f(%lr: f32) {
  // expected-error@+1 {{'act.lion' op weight_decay is -1.000000e+00, expected a finite number of 0 or more}}
  act.lion @w lr(%lr) betas [0.9, 0.99] weight_decay -1.0
  return
}

// -----

// clip's rank
func.func @f(%lr: f32, %c: tensor<1xf32>) {
  // expected-error@+1 {{'act.lion' op clip has rank 1, expected 0 for a factor}}
  act.lion @w lr(%lr) clip(%c : tensor<1xf32>) betas [0.9, 0.99] weight_decay 0.0
  return
}
