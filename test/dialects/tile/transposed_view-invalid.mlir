// RUN: act-opt %s --split-input-file --verify-diagnostics

// no permutation
func.func @f(%v: !tile.view<8x4xf32>) {
  // expected-error@+1 {{'tile.transposed_view' op permutation is [1, 1], expected each dimension of a view of rank 2 once}}
  %0 = tile.transposed_view %v [1, 1] : !tile.view<8x4xf32> -> !tile.view<4x8xf32, strides = [1, 4]>
  return
}

// -----

// too few dimensions
func.func @f(%v: !tile.view<8x4xf32>) {
  // expected-error@+1 {{'tile.transposed_view' op permutation is [0], expected each dimension of a view of rank 2 once}}
  %0 = tile.transposed_view %v [0] : !tile.view<8x4xf32> -> !tile.view<8xf32>
  return
}

// -----

// the result
func.func @f(%v: !tile.view<8x4xf32>) {
  // expected-error@+1 {{'tile.transposed_view' op result is '!tile.view<4x8xf32>', expected '!tile.view<4x8xf32, strides = [1, 4]>'}}
  %0 = tile.transposed_view %v [1, 0] : !tile.view<8x4xf32> -> !tile.view<4x8xf32>
  return
}
