// RUN: act-opt %s --split-input-file --verify-diagnostics

// a number
func.func @f(%x: f32) {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.tensor, but found 'f32'}}
  %0 = tile.begin_dot %x : f32
  return
}
