// RUN: act-opt %s --split-input-file --verify-diagnostics

// elements that blocks do not divide
act.parameter @w "w" : tensor<8x30xf32>
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw8bit' op keeps moments in blocks of 256 elements, which do not divide 'tensor<8x30xf32>'}}
  act.adamw8bit @w lr(%lr) step(%t) betas [0.9, 0.999] eps 1.0e-8 weight_decay 0.0
  return
}

// -----

// elements of 64 bits
act.parameter @w "w" : tensor<8x32xf64>
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw8bit' op keeps moments in blocks of 256 elements, which do not divide 'tensor<8x32xf64>'}}
  act.adamw8bit @w lr(%lr) step(%t) betas [0.9, 0.999] eps 1.0e-8 weight_decay 0.0
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<8x32xf32> frozen
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw8bit' op refers to the gradient of @w, which is frozen}}
  act.adamw8bit @w lr(%lr) step(%t) betas [0.9, 0.999] eps 1.0e-8 weight_decay 0.0
  return
}

// -----

// one beta
act.parameter @w "w" : tensor<8x32xf32>
func.func @f(%lr: f32, %t: i64) {
  // expected-error@+1 {{'act.adamw8bit' op has 1 betas, expected 2}}
  act.adamw8bit @w lr(%lr) step(%t) betas [0.9] eps 1.0e-8 weight_decay 0.0
  return
}
