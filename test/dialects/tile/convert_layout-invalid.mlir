// RUN: act-opt %s --split-input-file --verify-diagnostics

// another shape
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.convert_layout' op result has shape [4, 8], expected [8, 4] as in input}}
  %0 = tile.convert_layout %a : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

// another element type
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.convert_layout' op result has elements of type 'f16', expected 'f32' as in input}}
  %0 = tile.convert_layout %a : tensor<8x4xf32> -> tensor<8x4xf16>
  return
}
