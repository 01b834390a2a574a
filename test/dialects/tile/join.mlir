// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#half = #tile.layout<register = [32:(0,1)], lane = [32:(1,0)], warp = [4:(32,0)]>
#whole = #tile.layout<register = [2:(0,0,1), 32:(0,1,0)], lane = [32:(1,0,0)], warp = [4:(32,0,0)]>

// CHECK-LABEL: @pairs
// CHECK: tile.join %{{.+}}, %{{.+}} : tensor<128x32xf32>
// CHECK: return %{{.+}} : tensor<128x32x2xf32>
func.func @pairs(%a: tensor<128x32xf32>, %b: tensor<128x32xf32>) -> tensor<128x32x2xf32> {
  %0 = tile.join %a, %b : tensor<128x32xf32>
  return %0 : tensor<128x32x2xf32>
}

// CHECK-LABEL: @layout
// CHECK: tile.join %{{.+}}, %{{.+}} : tensor<128x32xf32, #{{.+}}> -> tensor<128x32x2xf32, #{{.+}}>
func.func @layout(%a: tensor<128x32xf32, #half>) -> tensor<128x32x2xf32, #whole> {
  %0 = tile.join %a, %a : tensor<128x32xf32, #half> -> tensor<128x32x2xf32, #whole>
  return %0 : tensor<128x32x2xf32, #whole>
}

// CHECK-LABEL: @of_the_halves
// FOLD-LABEL: @of_the_halves
// FOLD-NOT: tile.join
// FOLD-LABEL: @the_other_way_round
// FOLD: tile.join
func.func @of_the_halves(%a: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %x, %y = tile.split %a : tensor<8x2xf32>
  %0 = tile.join %x, %y : tensor<8xf32>
  return %0 : tensor<8x2xf32>
}
func.func @the_other_way_round(%a: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %x, %y = tile.split %a : tensor<8x2xf32>
  %0 = tile.join %y, %x : tensor<8xf32>
  return %0 : tensor<8x2xf32>
}
