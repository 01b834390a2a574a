// RUN: act-opt %s --split-input-file --verify-diagnostics

// a result
func.func @f() {
  // expected-error@+1 {{'tile.barrier' op requires zero results}}
  %0 = "tile.barrier"() : () -> i1
  return
}
