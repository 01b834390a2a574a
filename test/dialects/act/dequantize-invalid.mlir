// RUN: act-opt %s --split-input-file --verify-diagnostics

// another shape
func.func @f(%w: tensor<8x16x!act.nf4>) {
  // expected-error@+1 {{'act.dequantize' op result has shape [16, 8], expected [8, 16] as in input}}
  %0 = act.dequantize %w : tensor<8x16x!act.nf4> -> tensor<16x8xf32>
  return
}

// -----

// a float
func.func @f(%w: tensor<8x16xf32>) {
  // expected-error@+1 {{'act.dequantize' op operand #0 must be ranked tensor of a 4-bit normal-float weight element, quantised in blocks values, but got 'tensor<8x16xf32>'}}
  %0 = act.dequantize %w : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}
