// RUN: act-opt %s --split-input-file --verify-diagnostics

// too many values
func.func @f(%a: tensor<8xf32>) {
  %0 = tile.reduce %a axis 0 : tensor<8xf32> {
  ^bb0(%x: f32, %y: f32):
    // expected-error@+1 {{'tile.yield' op yields ('f32', 'f32'), expected ('f32')}}
    tile.yield %x, %y : f32, f32
  }
  return
}

// -----

// out of place
func.func @f(%x: f32) {
  // expected-error@+1 {{'tile.yield' op expects parent op to be one of 'tile.reduce, tile.scan'}}
  tile.yield %x : f32
}
