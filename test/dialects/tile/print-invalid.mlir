// RUN: act-opt %s --split-input-file --verify-diagnostics

// too few places
func.func @f(%x: f32) {
  // expected-error@+1 {{'tile.print' op format has 1 places for 2 values}}
  tile.print "x = {}", %x, %x : f32, f32
  return
}

// -----

// blocks of two shapes
func.func @f(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'tile.print' op prints blocks of shapes [8] and [4] together}}
  tile.print "{} {}", %x, %y : tensor<8xf32>, tensor<4xf32>
  return
}
