// RUN: act-opt %s --split-input-file --verify-diagnostics

// the shape of the bits
func.func @f(%s: i64, %i: tensor<8xi64>) {
  // expected-error@+1 {{'tile.philox' op result has shape [4], expected [8] as in index}}
  %0 = "tile.philox"(%s, %s, %s, %i) : (i64, i64, i64, tensor<8xi64>) -> tensor<4xi32>
  return
}

// -----

// a scalar for a block
func.func @f(%s: i64, %i: tensor<8xi64>) {
  // expected-error@+1 {{'tile.philox' op result has no shape, expected [8] as in index}}
  %0 = "tile.philox"(%s, %s, %s, %i) : (i64, i64, i64, tensor<8xi64>) -> i32
  return
}

// -----

// indices of 32 bits
func.func @f(%s: i64, %i: tensor<8xi32>) {
  // expected-error@+1 {{'tile.philox' op operand #3 must be statically shaped tensor of 64-bit signless integer values or 64-bit signless integer, but got 'tensor<8xi32>'}}
  %0 = tile.philox %s, %s, %s, %i : tensor<8xi32>
  return
}
