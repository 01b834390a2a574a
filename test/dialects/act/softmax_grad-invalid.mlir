// RUN: act-opt %s --split-input-file --verify-diagnostics

// past the last dimension
func.func @f(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.softmax_grad' op axis is 2, expected a dimension of shape [2, 4]}}
  %0 = act.softmax_grad %dy, %y axis 2 : tensor<2x4xf32>
  return
}

// -----

// negative
func.func @f(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.softmax_grad' op axis is -1, expected a dimension of shape [2, 4]}}
  %0 = act.softmax_grad %dy, %y axis -1 : tensor<2x4xf32>
  return
}

// -----

// a scalar
func.func @f(%dy: tensor<f32>, %y: tensor<f32>) {
  // expected-error@+1 {{'act.softmax_grad' op axis is 0, expected a dimension of shape []}}
  %0 = act.softmax_grad %dy, %y axis 0 : tensor<f32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%dy: tensor<2x4xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{'act.softmax_grad' op output has shape [2, 3], expected [2, 4] as in grad}}
  %0 = "act.softmax_grad"(%dy, %y) {axis = 1} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}
