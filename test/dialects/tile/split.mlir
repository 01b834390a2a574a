// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#half = #tile.layout<register = [32:(0,1)], lane = [32:(1,0)], warp = [4:(32,0)]>
#whole = #tile.layout<register = [2:(0,0,1), 32:(0,1,0)], lane = [32:(1,0,0)], warp = [4:(32,0,0)]>

// CHECK-LABEL: @pairs
// CHECK: tile.split %{{.+}} : tensor<128x32x2xf32>
// CHECK: return %{{.+}}, %{{.+}} : tensor<128x32xf32>, tensor<128x32xf32>
func.func @pairs(%0: tensor<128x32x2xf32>) -> (tensor<128x32xf32>, tensor<128x32xf32>) {
  %x, %y = tile.split %0 : tensor<128x32x2xf32>
  return %x, %y : tensor<128x32xf32>, tensor<128x32xf32>
}

// CHECK-LABEL: @layout
// CHECK: tile.split %{{.+}} : tensor<128x32x2xf32, #{{.+}}> -> tensor<128x32xf32, #{{.+}}>
func.func @layout(%a: tensor<128x32x2xf32, #whole>) -> (tensor<128x32xf32, #half>, tensor<128x32xf32, #half>) {
  %x, %y = tile.split %a : tensor<128x32x2xf32, #whole> -> tensor<128x32xf32, #half>
  return %x, %y : tensor<128x32xf32, #half>, tensor<128x32xf32, #half>
}

// CHECK-LABEL: @of_a_join
// FOLD-LABEL: @of_a_join
// FOLD-SAME: %[[A:.+]]: tensor<8xf32>, %[[B:.+]]: tensor<8xf32>
// FOLD-NOT: tile.
// FOLD: return %[[A]], %[[B]]
func.func @of_a_join(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = tile.join %a, %b : tensor<8xf32>
  %x, %y = tile.split %0 : tensor<8x2xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}
