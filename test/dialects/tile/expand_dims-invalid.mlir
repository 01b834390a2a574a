// RUN: act-opt %s --split-input-file --verify-diagnostics

// an axis past the last
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.expand_dims' op axis is 3, expected 0 to 2 for an input of shape [8, 4]}}
  %0 = tile.expand_dims %a axis 3 : tensor<8x4xf32>
  return
}

// -----

// an axis past the last, with a result
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.expand_dims' op axis is 3, expected 0 to 2 for an input of shape [8, 4]}}
  %0 = tile.expand_dims %a axis 3 : tensor<8x4xf32> -> tensor<8x4x1xf32>
  return
}

// -----

// the result's shape
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.expand_dims' op result has shape [8, 4, 1], expected [8, 1, 4] for an input of shape [8, 4]}}
  %0 = tile.expand_dims %a axis 1 : tensor<8x4xf32> -> tensor<8x4x1xf32>
  return
}

// -----

// the result's element type
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.expand_dims' op result has elements of type 'f16', expected 'f32' as in input}}
  %0 = tile.expand_dims %a axis 0 : tensor<8xf32> -> tensor<1x8xf16>
  return
}

// -----

// the error is here, not where the result is used
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.expand_dims' op axis is -1, expected 0 to 1 for an input of shape [8]}}
  %0 = tile.expand_dims %a axis -1 : tensor<8xf32>
  %1 = tile.broadcast %0 : tensor<8x1xf32> -> tensor<8x4xf32>
  return
}

// -----

// no block
func.func @f(%a: f32) {
  // expected-error@+1 {{expected a block, got 'f32'}}
  %0 = tile.expand_dims %a axis 0 : f32
  return
}
