// RUN: act-opt %s --split-input-file --verify-diagnostics

// too few
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op [1, 0] is not a permutation of the 3 dimensions of input}}
  %0 = act.transpose %x [1, 0] : tensor<2x3x4xf32> -> tensor<3x2xf32>
  return
}

// -----

// a repeated dimension
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op [0, 1, 1] is not a permutation of the 3 dimensions of input}}
  %0 = act.transpose %x [0, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x3xf32>
  return
}

// -----

// a dimension past the last
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op [0, 1, 3] is not a permutation of the 3 dimensions of input}}
  %0 = act.transpose %x [0, 1, 3] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

// a negative dimension
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op [0, 1, -1] is not a permutation of the 3 dimensions of input}}
  %0 = act.transpose %x [0, 1, -1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

// a result of another shape
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op result has shape [2, 3, 4], expected [2, 4, 3] for an input of shape [2, 3, 4]}}
  %0 = act.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

// another element type
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.transpose' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xbf16>
  return
}

// -----

// names that do not follow
func.func @f(%x: tensor<?x3xf32, #act.dims<s, 3>>) {
  // expected-error@+1 {{'act.transpose' op result has shape [3, t], expected [3, s] for an input of shape [s, 3]}}
  %0 = act.transpose %x [1, 0] : tensor<?x3xf32, #act.dims<s, 3>> -> tensor<3x?xf32, #act.dims<3, t>>
  return
}
