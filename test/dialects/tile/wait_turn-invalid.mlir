// RUN: act-opt %s --split-input-file --verify-diagnostics

// what machines do not count in
func.func @f(%t: !tile.view<4xf32>, %i: index, %p: index) {
  // expected-error@+1 {{'tile.wait_turn' op counts in elements of type 'f32', expected i32}}
  tile.wait_turn %t[%i], %p : !tile.view<4xf32>
  return
}

// -----

// too many indices
func.func @f(%t: !tile.view<4xi32>, %i: index, %p: index) {
  // expected-error@+1 {{'tile.wait_turn' op has 2 indices for a view of rank 1}}
  tile.wait_turn %t[%i, %i], %p : !tile.view<4xi32>
  return
}
