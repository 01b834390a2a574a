// RUN: act-opt %s --split-input-file --verify-diagnostics

// another block
func.func @f(%s: !tile.shared<2x16x64xf32>, %i: index) {
  // expected-error@+1 {{'tile.load_shared' op result has shape [16, 32], expected [16, 64] for shared memory of shape [2, 16, 64]}}
  %0 = tile.load_shared %s[%i] : !tile.shared<2x16x64xf32> -> tensor<16x32xf32>
  return
}

// -----

// nothing left
func.func @f(%s: !tile.shared<16xf32>, %i: index) {
  // expected-error@+1 {{'tile.load_shared' op has 1 slot indices for shared memory of rank 1}}
  %0 = tile.load_shared %s[%i] : !tile.shared<16xf32> -> tensor<1xf32>
  return
}

// -----

// another element type
func.func @f(%s: !tile.shared<16xf32>) {
  // expected-error@+1 {{'tile.load_shared' op result has elements of type 'i32', expected 'f32' as in shared}}
  %0 = tile.load_shared %s : !tile.shared<16xf32> -> tensor<16xi32>
  return
}
