// RUN: act-opt %s --split-input-file --verify-diagnostics

// no axis
func.func @f() {
  // expected-error@+1 {{expected x, y or z}}
  %0 = tile.num_programs 0
  return
}
