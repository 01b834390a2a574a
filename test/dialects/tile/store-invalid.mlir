// RUN: act-opt %s --split-input-file --verify-diagnostics

// too many indices
func.func @f(%x: tensor<8xf32>, %v: !tile.view<8xf32>, %i: index) {
  // expected-error@+1 {{'tile.store' op has 2 indices for a view of rank 1}}
  tile.store %x, %v[%i : 8, %i] : !tile.view<8xf32>
  return
}

// -----

// the value's shape
func.func @f(%x: tensor<4xf32>, %v: !tile.view<8xf32>, %i: index) {
  // expected-error@+1 {{'tile.store' op value has shape [4], expected [8] for a block of a view of shape [8]}}
  tile.store %x, %v[%i : 8] : tensor<4xf32>, !tile.view<8xf32>
  return
}

// -----

// the value's element type
func.func @f(%x: tensor<8xf32>, %v: !tile.view<8xbf16>, %i: index) {
  // expected-error@+1 {{'tile.store' op value has elements of type 'f32', expected 'bf16' as in view}}
  tile.store %x, %v[%i : 8] : tensor<8xf32>, !tile.view<8xbf16>
  return
}

// -----

// what is written is what the view and the extents say
// expected-note@+1 {{prior use here}}
func.func @f(%x: tensor<8xf32>, %v: !tile.view<8xbf16>, %i: index) {
  // expected-error@+1 {{use of value '%x' expects different type than prior uses: 'tensor<8xbf16>' vs 'tensor<8xf32>'}}
  tile.store %x, %v[%i : 8] : !tile.view<8xbf16>
  return
}

// -----

// not to a view
func.func @f(%x: tensor<8xf32>, %v: tensor<8xf32>, %i: index) {
  // expected-error@+1 {{expected a view, got 'tensor<8xf32>'}}
  tile.store %x, %v[%i : 8] : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// an index too few, where the value's type follows
func.func @f(%v: !tile.view<64x64xf32>, %i: index, %a: tensor<8x8xf32>) {
  // expected-error@+1 {{'tile.store' op has 1 indices for a view of rank 2}}
  tile.store %a, %v[%i : 8] : !tile.view<64x64xf32>
  return
}
