// RUN: act-opt %s --split-input-file --verify-diagnostics

// past the last dimension
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.softmax' op axis is 2, expected a dimension of shape [2, 4]}}
  %0 = act.softmax %x axis 2 : tensor<2x4xf32>
  return
}

// -----

// negative
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.softmax' op axis is -1, expected a dimension of shape [2, 4]}}
  %0 = act.softmax %x axis -1 : tensor<2x4xf32>
  return
}

// -----

// a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error@+1 {{'act.softmax' op axis is 0, expected a dimension of shape []}}
  %0 = act.softmax %x axis 0 : tensor<f32>
  return
}

// -----

// another element type, in the generic form
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.softmax' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = "act.softmax"(%x) {axis = 1} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  return
}
