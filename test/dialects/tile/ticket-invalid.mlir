// RUN: act-opt %s --split-input-file --verify-diagnostics

// what machines do not count in
func.func @f(%t: !tile.view<4xi64>, %i: index) {
  // expected-error@+1 {{'tile.ticket' op counts in elements of type 'i64', expected i32}}
  %p = tile.ticket %t[%i] : !tile.view<4xi64>
  return
}

// -----

// too few indices
func.func @f(%t: !tile.view<4x8xi32>, %i: index) {
  // expected-error@+1 {{'tile.ticket' op has 1 indices for a view of rank 2}}
  %p = tile.ticket %t[%i] : !tile.view<4x8xi32>
  return
}
