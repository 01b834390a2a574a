// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f() {
  // expected-error@+1 {{'act.zero_grad' op refers to @w, which does not exist}}
  act.zero_grad @w
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f() {
  // expected-error@+1 {{'act.zero_grad' op refers to @w, which is not an act.parameter}}
  act.zero_grad @w
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f() {
  // expected-error@+1 {{'act.zero_grad' op refers to the gradient of @w, which is frozen}}
  act.zero_grad @w
  return
}
