// RUN: act-opt %s --split-input-file --verify-diagnostics

// one dimension
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.trans' op input has rank 1, expected 2 or more to swap the last two axes}}
  %0 = tile.trans %a : tensor<8xf32>
  return
}

// -----

// one dimension, with a result
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.trans' op input has rank 1, expected 2 or more}}
  %0 = tile.trans %a : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// the result's shape
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.trans' op result has shape [8, 4], expected [4, 8] for an input of shape [8, 4]}}
  %0 = tile.trans %a : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// the result's element type
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.trans' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = tile.trans %a : tensor<8x4xf32> -> tensor<4x8xbf16>
  return
}

// -----

// a size that is not known
func.func @f(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{'tile.trans' op operand #0 must be statically shaped tensor of 32-bit float}}
  %0 = tile.trans %a : tensor<?x4xf32>
  return
}

// -----

// elements that no block has
func.func @f(%a: tensor<8x4xi5>) {
  // expected-error@+1 {{'tile.trans' op operand #0 must be statically shaped tensor of 32-bit float}}
  %0 = tile.trans %a : tensor<8x4xi5>
  return
}
