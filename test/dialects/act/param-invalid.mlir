// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f() {
  // expected-error@+1 {{'act.param' op refers to @w, which does not exist}}
  %0 = act.param @w : tensor<4xf32>
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f() {
  // expected-error@+1 {{'act.param' op refers to @w, which is not an act.parameter}}
  %0 = act.param @w : tensor<4xf32>
  return
}

// -----

// another shape
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32>
func.func @f() {
  // expected-error@+1 {{'act.param' op result has type 'tensor<5xf32>', expected 'tensor<4xf32>' as in @w}}
  %0 = act.param @w : tensor<5xf32>
  return
}
