// RUN: act-opt %s --split-input-file --verify-diagnostics

// elements that the machine does not add
func.func @f(%x: tensor<8xi8>, %v: !tile.view<8xi8>, %i: index) {
  // expected-error@+1 {{'tile.atomic_add' op cannot add elements of type 'i8' atomically, expected f64, f32, f16, bf16, i32 or i64}}
  tile.atomic_add %x, %v[%i : 8] : !tile.view<8xi8>
  return
}

// -----

// the value's shape
func.func @f(%x: tensor<4xf32>, %v: !tile.view<8xf32>, %i: index) {
  // expected-error@+1 {{'tile.atomic_add' op value has shape [4], expected [8] for a block of a view of shape [8]}}
  tile.atomic_add %x, %v[%i : 8] : tensor<4xf32>, !tile.view<8xf32>
  return
}

// -----

// too few indices
func.func @f(%x: tensor<8xf32>, %v: !tile.view<8x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.atomic_add' op has 1 indices for a view of rank 2}}
  tile.atomic_add %x, %v[%i : 8] : !tile.view<8x8xf32>
  return
}
