// RUN: act-opt %s --split-input-file --verify-diagnostics

// another shape
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.cast' op result has shape [8], expected [2, 4] as in input}}
  %0 = act.cast %x : tensor<2x4xf32> to tensor<8xbf16>
  return
}

// -----

// a float to an integer
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.cast' op has no conversion from 'f32' to 'i32'}}
  %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xi32>
  return
}

// -----

// a float to a mask
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.cast' op result #0 must be ranked tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or f8E4M3FN type or 32-bit signless integer or 64-bit signless integer values, but got 'tensor<2x4xi1>'}}
  %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xi1>
  return
}
