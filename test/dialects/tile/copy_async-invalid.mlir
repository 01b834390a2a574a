// RUN: act-opt %s --split-input-file --verify-diagnostics

// another block
func.func @f(%v: !tile.view<64x64xf32>, %i: index, %s: !tile.shared<2x16x64xf32>) {
  // expected-error@+1 {{'tile.copy_async' op copies a block of shape [16, 32] into shared memory of shape [2, 16, 64] by 1 slot indices}}
  tile.copy_async %v[%i : 16, %i : 32] to %s[%i] : !tile.view<64x64xf32>, !tile.shared<2x16x64xf32>
  return
}

// -----

// no slot
func.func @f(%v: !tile.view<64x64xf32>, %i: index, %s: !tile.shared<2x16x64xf32>) {
  // expected-error@+1 {{'tile.copy_async' op copies a block of shape [16, 64] into shared memory of shape [2, 16, 64] by 0 slot indices}}
  tile.copy_async %v[%i : 16, %i : 64] to %s : !tile.view<64x64xf32>, !tile.shared<2x16x64xf32>
  return
}

// -----

// too many slots
func.func @f(%v: !tile.view<64xf32>, %i: index, %s: !tile.shared<16xf32>) {
  // expected-error@+1 {{'tile.copy_async' op copies a block of shape [16] into shared memory of shape [16] by 2 slot indices}}
  tile.copy_async %v[%i : 16] to %s[%i, %i] : !tile.view<64xf32>, !tile.shared<16xf32>
  return
}

// -----

// another element type
func.func @f(%v: !tile.view<64xf32>, %i: index, %s: !tile.shared<16xbf16>) {
  // expected-error@+1 {{'tile.copy_async' op shared has elements of type 'bf16', expected 'f32' as in view}}
  tile.copy_async %v[%i : 16] to %s : !tile.view<64xf32>, !tile.shared<16xbf16>
  return
}

// -----

// too few indices
func.func @f(%v: !tile.view<64x64xf32>, %i: index, %s: !tile.shared<16xf32>) {
  // expected-error@+1 {{'tile.copy_async' op has 1 indices for a view of rank 2}}
  tile.copy_async %v[%i : 16] to %s : !tile.view<64x64xf32>, !tile.shared<16xf32>
  return
}
