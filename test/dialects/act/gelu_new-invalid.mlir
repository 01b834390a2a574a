// RUN: act-opt %s --split-input-file --verify-diagnostics

// integers
func.func @f(%x: tensor<4xi32>) {
  // expected-error@+1 {{'act.gelu_new' op operand #0 must be ranked tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<4xi32>'}}
  %0 = act.gelu_new %x : tensor<4xi32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'act.gelu_new' op result has shape [4], expected [2, 4] as in input}}
  %0 = "act.gelu_new"(%x) : (tensor<2x4xf32>) -> tensor<4xf32>
  return
}
