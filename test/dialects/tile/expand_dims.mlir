// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#lanes = #tile.layout<register = [4:(1)], lane = [32:(4)], warp = []>
#column = #tile.layout<register = [4:(1,0)], lane = [32:(4,0)], warp = []>

// CHECK-LABEL: @column
// CHECK: tile.expand_dims %{{.+}} axis 1 : tensor<128xf32>
// CHECK: return %{{.+}} : tensor<128x1xf32>
func.func @column(%m: tensor<128xf32>) -> tensor<128x1xf32> {
  %0 = tile.expand_dims %m axis 1 : tensor<128xf32>
  return %0 : tensor<128x1xf32>
}

// CHECK-LABEL: @layout
// CHECK: tile.expand_dims %{{.+}} axis 1 : tensor<128xf32, #{{.+}}> -> tensor<128x1xf32, #{{.+}}>
func.func @layout(%m: tensor<128xf32, #lanes>) -> tensor<128x1xf32, #column> {
  %0 = tile.expand_dims %m axis 1 : tensor<128xf32, #lanes> -> tensor<128x1xf32, #column>
  return %0 : tensor<128x1xf32, #column>
}

// CHECK-LABEL: @of_equal_elements
// FOLD-LABEL: @of_equal_elements
// FOLD-DAG: arith.constant dense<2> : tensor<1x4xi32>
// FOLD-DAG: tensor.splat %{{.+}} : tensor<4x1xf32>
// FOLD-NOT: tile.
func.func @of_equal_elements(%x: f32) -> (tensor<1x4xi32>, tensor<4x1xf32>) {
  %twos = arith.constant dense<2> : tensor<4xi32>
  %xs = tensor.splat %x : tensor<4xf32>
  %0 = tile.expand_dims %twos axis 0 : tensor<4xi32>
  %1 = tile.expand_dims %xs axis 1 : tensor<4xf32>
  return %0, %1 : tensor<1x4xi32>, tensor<4x1xf32>
}
