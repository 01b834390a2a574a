// RUN: act-opt %s --split-input-file --verify-diagnostics

// columns that do not add up
func.func @f(%q: tensor<2x4xf32>, %k: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.concat' op parts have 8 columns, expected 9 for result of shape [2, 9]}}
  %0 = act.concat %q, %k : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x9xf32>
  return
}

// -----

// other rows
func.func @f(%q: tensor<2x4xf32>, %k: tensor<3x4xf32>) {
  // expected-error@+1 {{'act.concat' op part 1 has shape [3, 4], expected [2, 4] for result of shape [2, 8]}}
  %0 = act.concat %q, %k : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

// another element type
func.func @f(%q: tensor<2x4xf32>, %k: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.concat' op part 0 has elements of type 'f32', expected 'f16' as in result}}
  %0 = act.concat %q, %k : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf16>
  return
}

// -----

// no parts
func.func @f() {
  // expected-error@+1 {{'act.concat' op has no parts}}
  %0 = "act.concat"() : () -> tensor<2x9xf32>
  return
}

// -----

// a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error@+1 {{'act.concat' op result has no last dimension}}
  %0 = act.concat %x : (tensor<f32>) -> tensor<f32>
  return
}
