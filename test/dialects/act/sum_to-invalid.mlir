// RUN: act-opt %s --split-input-file --verify-diagnostics

// no multiple
func.func @f(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{'act.sum_to' op dimension 0 of input of shape [6, 4] is not a multiple of result's of shape [4, 4]}}
  %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<4x4xf32>
  return
}

// -----

// another rank
func.func @f(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{'act.sum_to' op result has rank 1, expected 2 as in input}}
  %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<4xf32>
  return
}

// -----

// another element type
func.func @f(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{'act.sum_to' op result has elements of type 'f16', expected 'f32' as in input}}
  %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<1x4xf16>
  return
}
