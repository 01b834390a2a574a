// RUN: act-opt %s --split-input-file --verify-diagnostics

// the result's shape
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.scan' op result 0 has shape [8], expected [8, 4] as in input 0 and the axis}}
  %0 = tile.scan add %a axis 1 : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// a negative axis
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.scan' op axis is -1, expected 0 to 1 for an input of shape [8, 4]}}
  %0 = tile.scan add %a axis -1 : tensor<8x4xf32>
  return
}

// -----

// too few results
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.scan' op has 1 results, expected 2}}
  %0 = tile.scan %a, %a axis 0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32> {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    tile.yield %x, %y : f32, f32
  }
  return
}
