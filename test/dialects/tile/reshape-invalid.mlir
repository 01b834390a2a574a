// RUN: act-opt %s --split-input-file --verify-diagnostics

// fewer elements
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.reshape' op result of shape [8, 2] has a different number of elements than input of shape [8, 4]}}
  %0 = tile.reshape %a : tensor<8x4xf32> -> tensor<8x2xf32>
  return
}

// -----

// another element type
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.reshape' op result has elements of type 'i32', expected 'f32' as in input}}
  %0 = tile.reshape %a : tensor<8x4xf32> -> tensor<32xi32>
  return
}
