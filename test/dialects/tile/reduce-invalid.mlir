// RUN: act-opt %s --split-input-file --verify-diagnostics

// no such word
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{expected add, max, min, mul, and, or, or an operand, got sum}}
  %0 = tile.reduce sum %a axis 0 : tensor<8xf32>
  return
}

// -----

// no such axis
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op axis is 1, expected 0 to 0 for an input of shape [8]}}
  %0 = tile.reduce add %a axis 1 : tensor<8xf32>
  return
}

// -----

// no such axis, with a result
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op axis is 1, expected 0 to 0 for an input of shape [8]}}
  %0 = tile.reduce add %a axis 1 : tensor<8xf32> -> f32
  return
}

// -----

// nothing
func.func @f() {
  // expected-error@+1 {{'tile.reduce' op has no operands}}
  "tile.reduce"() <{axis = 0 : i64, kind = #tile<combine add>}> ({}) : () -> ()
  return
}

// -----

// the result's shape
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'tile.reduce' op result 0 has shape [4], expected [8] as in input 0 and the axis}}
  %0 = tile.reduce add %a axis 1 : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

// a block of one for a scalar
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op result 0 has shape [1], expected a scalar as in input 0 and the axis}}
  %0 = tile.reduce add %a axis 0 : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

// two shapes
func.func @f(%a: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'tile.reduce' op input 1 has shape [4], expected [8] as in input 0}}
  %0:2 = tile.reduce %a, %b axis 0 : tensor<8xf32>, tensor<4xf32> {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    tile.yield %x, %y : f32, f32
  }
  return
}

// -----

// a word for two operands
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op has 2 operands, expected one for max}}
  %0:2 = tile.reduce max %a, %a axis 0 : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// a word for other types
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op or is not defined for elements of type 'f32'}}
  %0 = tile.reduce or %a axis 0 : tensor<8xf32>
  return
}

// -----

// sums of truth
func.func @f(%a: tensor<8xi1>) {
  // expected-error@+1 {{'tile.reduce' op add is not defined for elements of type 'i1'}}
  %0 = tile.reduce add %a axis 0 : tensor<8xi1>
  return
}

// -----

// neither word nor region
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op has neither a kind nor a region}}
  %0 = "tile.reduce"(%a) <{axis = 0 : i64}> ({}) : (tensor<8xf32>) -> f32
  return
}

// -----

// both
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op has a region, expected none beside add}}
  %0 = "tile.reduce"(%a) <{axis = 0 : i64, kind = #tile<combine add>}> ({
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }) : (tensor<8xf32>) -> f32
  return
}

// -----

// too few arguments
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op region takes ('f32'), expected ('f32', 'f32')}}
  %0 = tile.reduce %a axis 0 : tensor<8xf32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

// no end
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'tile.reduce' op region ends without tile.yield}}
  %0 = tile.reduce %a axis 0 : tensor<8xf32> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
  }
  return
}

// -----

// side effects
func.func @f(%a: tensor<8xf32>) {
  %0 = tile.reduce %a axis 0 : tensor<8xf32> {
  ^bb0(%x: f32, %y: f32):
    // expected-error@+1 {{'tile.print' op is in the combiner of tile.reduce, expected an op without side effects}}
    tile.print "{}", %x : f32
    tile.yield %y : f32
  }
  return
}

// -----

gpu.module @kernels {
  gpu.func @block_in_combiner(%x: tensor<16xf32>) {
    %s = tile.reduce %x axis 0 : tensor<16xf32> {
    ^bb0(%a: f32, %b: f32):
      // expected-error @+1 {{takes or returns a block in the combiner of tile.reduce, expected single elements}}
      %c = tile.reduce add %x axis 0 : tensor<16xf32>
      tile.yield %c : f32
    }
    gpu.return
  }
}
