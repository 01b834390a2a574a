// RUN: act-opt %s --split-input-file --verify-diagnostics

// no such axis
func.func @f() {
  // expected-error@+1 {{expected x, y or z, got w}}
  %0 = tile.program_id w
  return
}
