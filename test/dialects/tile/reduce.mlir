// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#block = #tile.layout<register = [64:(0,1)], lane = [32:(1,0)], warp = [4:(32,0)]>
#row = #tile.layout<register = [], lane = [32:(1)], warp = [4:(32)]>

// CHECK-LABEL: @both_forms
// CHECK: tile.reduce max %{{.+}} axis 1 : tensor<128x64xf32>
// CHECK: tile.reduce %{{.+}}, %{{.+}} axis 1 : tensor<128x64xf32>, tensor<128x64xi32> {
// CHECK-NEXT: ^bb0(%{{.+}}: f32, %{{.+}}: i32, %{{.+}}: f32, %{{.+}}: i32):
// CHECK: tile.yield %{{.+}}, %{{.+}} : f32, i32
// CHECK: return %{{.+}}, %{{.+}}, %{{.+}} : tensor<128xf32>, tensor<128xf32>, tensor<128xi32>
func.func @both_forms(%s: tensor<128x64xf32>, %j: tensor<128x64xi32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xi32>) {
  %m = tile.reduce max %s axis 1 : tensor<128x64xf32>
  %v, %k = tile.reduce %s, %j axis 1 : tensor<128x64xf32>, tensor<128x64xi32> {
  ^bb0(%x: f32, %xj: i32, %y: f32, %yj: i32):
    %c = arith.cmpf oge, %x, %y : f32
    %r = arith.select %c, %x, %y : f32
    %rj = arith.select %c, %xj, %yj : i32
    tile.yield %r, %rj : f32, i32
  }
  return %m, %v, %k : tensor<128xf32>, tensor<128xf32>, tensor<128xi32>
}

// CHECK-LABEL: @to_a_scalar
// CHECK: tile.reduce add %{{.+}} axis 0 : tensor<80xf32>
// CHECK: return %{{.+}} : f32
func.func @to_a_scalar(%x: tensor<80xf32>) -> f32 {
  %0 = tile.reduce add %x axis 0 : tensor<80xf32>
  return %0 : f32
}

// CHECK-LABEL: @layout
// CHECK: tile.reduce min %{{.+}} axis 1 : tensor<128x64xf32, #{{.+}}> -> tensor<128xf32, #{{.+}}>
func.func @layout(%x: tensor<128x64xf32, #block>) -> tensor<128xf32, #row> {
  %0 = tile.reduce min %x axis 1 : tensor<128x64xf32, #block> -> tensor<128xf32, #row>
  return %0 : tensor<128xf32, #row>
}

// A region that is one op has a word.
// CHECK-LABEL: @words
// FOLD-LABEL: @words
// FOLD: tile.reduce add %{{.+}} axis 0 : tensor<8xf32>
// FOLD: tile.reduce max %{{.+}} axis 0 : tensor<8xf32>
// FOLD: tile.reduce or %{{.+}} axis 0 : tensor<8xi1>
func.func @words(%x: tensor<8xf32>, %p: tensor<8xi1>) -> (f32, f32, i1) {
  %0 = tile.reduce %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    tile.yield %r : f32
  }
  %1 = tile.reduce %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    tile.yield %r : f32
  }
  %2 = tile.reduce %p axis 0 : tensor<8xi1> {
  ^bb0(%a: i1, %b: i1):
    %r = arith.ori %a, %b : i1
    tile.yield %r : i1
  }
  return %0, %1, %2 : f32, f32, i1
}

// Other regions have none: another maximum, x + x, liberties, i1.
// CHECK-LABEL: @no_words
// FOLD-LABEL: @no_words
// FOLD-COUNT-4: tile.reduce %{{.+}} axis 0
func.func @no_words(%x: tensor<8xf32>, %p: tensor<8xi1>) -> (f32, f32, f32, i1) {
  %0 = tile.reduce %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maxnumf %a, %b : f32
    tile.yield %r : f32
  }
  %1 = tile.reduce %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %a : f32
    tile.yield %r : f32
  }
  %2 = tile.reduce %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b fastmath<reassoc> : f32
    tile.yield %r : f32
  }
  %3 = tile.reduce %p axis 0 : tensor<8xi1> {
  ^bb0(%a: i1, %b: i1):
    %r = arith.addi %a, %b : i1
    tile.yield %r : i1
  }
  return %0, %1, %2, %3 : f32, f32, f32, i1
}
