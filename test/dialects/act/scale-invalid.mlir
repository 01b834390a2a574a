// RUN: act-opt %s --split-input-file --verify-diagnostics

// an infinite factor
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.scale' op factor is not finite}}
  %0 = act.scale %x by 0x7FF0000000000000 : tensor<2x4xf32>
  return
}

// -----

// not a number
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.scale' op factor is not finite}}
  %0 = act.scale %x by 0x7FF8000000000000 : tensor<2x4xf32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.scale' op result has shape [4, 2], expected [2, 4] as in input}}
  %0 = "act.scale"(%x) {factor = 2.0} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}
