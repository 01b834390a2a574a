// RUN: act-opt %s --split-input-file --verify-diagnostics

// what machines do not count in
func.func @f(%t: !tile.view<4xf32>, %i: index) {
  // expected-error@+1 {{'tile.pass_turn' op counts in elements of type 'f32', expected i32}}
  tile.pass_turn %t[%i] : !tile.view<4xf32>
  return
}

// -----

// too many indices
func.func @f(%t: !tile.view<4xi32>, %i: index) {
  // expected-error@+1 {{'tile.pass_turn' op has 2 indices for a view of rank 1}}
  tile.pass_turn %t[%i, %i] : !tile.view<4xi32>
  return
}
