// RUN: act-opt %s --split-input-file --verify-diagnostics

// a last dimension of three
func.func @f(%a: tensor<8x3xf32>) {
  // expected-error@+1 {{'tile.split' op input has shape [8, 3], expected two dimensions or more, the last of 2}}
  %0, %1 = tile.split %a : tensor<8x3xf32>
  return
}

// -----

// no other dimension
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'tile.split' op input has shape [2], expected two dimensions or more, the last of 2}}
  %0, %1 = tile.split %a : tensor<2xf32> -> tensor<1xf32>
  return
}

// -----

// the results' shape
func.func @f(%a: tensor<8x2xf32>) {
  // expected-error@+1 {{'tile.split' op lhs has shape [4], expected [8] for an input of shape [8, 2]}}
  %0, %1 = tile.split %a : tensor<8x2xf32> -> tensor<4xf32>
  return
}

// -----

// two types of results
func.func @f(%a: tensor<8x2xf32>) {
  // expected-error@+1 {{'tile.split' op rhs is 'tensor<8xi32>', expected 'tensor<8xf32>' as lhs}}
  %0, %1 = "tile.split"(%a) : (tensor<8x2xf32>) -> (tensor<8xf32>, tensor<8xi32>)
  return
}
