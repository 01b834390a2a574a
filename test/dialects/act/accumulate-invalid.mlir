// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing of that name
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.accumulate' op refers to @w, which does not exist}}
  act.accumulate @w, %x : tensor<4xf32>
  return
}

// -----

// a function
// expected-note@+1 {{declared here}}
func.func @w() {
  return
}
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.accumulate' op refers to @w, which is not an act.parameter}}
  act.accumulate @w, %x : tensor<4xf32>
  return
}

// -----

// a frozen parameter
// expected-note@+1 {{declared here}}
act.parameter @w "w" : tensor<4xf32> frozen
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.accumulate' op refers to the gradient of @w, which is frozen}}
  act.accumulate @w, %x : tensor<4xf32>
  return
}

// -----

// another shape
act.parameter @w "w" : tensor<4xf32>
func.func @f(%x: tensor<5xf32>) {
  // expected-error@+1 {{'act.accumulate' op value has shape [5], expected [4] as in @w}}
  act.accumulate @w, %x : tensor<5xf32>
  return
}
