// RUN: act-opt %s --split-input-file --verify-diagnostics

// no mask
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.not' op operand #0 must be ranked tensor of 1-bit signless integer values, but got 'tensor<2x4xf32>'}}
  %0 = act.not %x : tensor<2x4xf32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%x: tensor<2x4xi1>) {
  // expected-error@+1 {{'act.not' op result has shape [4, 2], expected [2, 4] as in input}}
  %0 = "act.not"(%x) : (tensor<2x4xi1>) -> tensor<4x2xi1>
  return
}
