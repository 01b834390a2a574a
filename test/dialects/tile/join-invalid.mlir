// RUN: act-opt %s --split-input-file --verify-diagnostics

// the result's shape
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.join' op result has shape [2, 8], expected [8, 2] for operands of shape [8]}}
  %0 = tile.join %a, %a : tensor<8xf32> -> tensor<2x8xf32>
  return
}

// -----

// the result's element type
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.join' op result has elements of type 'i8', expected 'f32' as in lhs}}
  %0 = tile.join %a, %a : tensor<8xf32> -> tensor<8x2xi8>
  return
}

// -----

// two types
func.func @f(%a: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'tile.join' op requires all operands to have the same type}}
  %0 = "tile.join"(%a, %b) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8x2xf32>
  return
}
