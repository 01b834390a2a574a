// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#rows = #tile.layout<register = [4:(0,1)], lane = [32:(1,0)], warp = []>
#columns = #tile.layout<register = [4:(1,0)], lane = [32:(0,1)], warp = []>

// CHECK-LABEL: @matrix
// CHECK: tile.trans %{{.+}} : tensor<128x64xbf16>
// CHECK: return %{{.+}} : tensor<64x128xbf16>
func.func @matrix(%a: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  %0 = tile.trans %a : tensor<128x64xbf16>
  return %0 : tensor<64x128xbf16>
}

// CHECK-LABEL: @more_dimensions_and_layout
// CHECK: tile.trans %{{.+}} : tensor<2x3x4xi8>
// CHECK: tile.trans %{{.+}} : tensor<32x4xf32, #{{.+}}> -> tensor<4x32xf32, #{{.+}}>
func.func @more_dimensions_and_layout(%a: tensor<2x3x4xi8>, %b: tensor<32x4xf32, #rows>) -> (tensor<2x4x3xi8>, tensor<4x32xf32, #columns>) {
  %0 = tile.trans %a : tensor<2x3x4xi8>
  %1 = tile.trans %b : tensor<32x4xf32, #rows> -> tensor<4x32xf32, #columns>
  return %0, %1 : tensor<2x4x3xi8>, tensor<4x32xf32, #columns>
}

// CHECK-LABEL: @twice
// FOLD-LABEL: @twice
// FOLD-SAME: %[[A:.+]]: tensor
// FOLD-NOT: tile.trans
// FOLD: return %[[A]]
func.func @twice(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = tile.trans %a : tensor<3x4xf32>
  %1 = tile.trans %0 : tensor<4x3xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: @of_equal_elements
// FOLD-LABEL: @of_equal_elements
// FOLD-DAG: arith.constant dense<1.000000e+00> : tensor<4x3xf32>
// FOLD-DAG: tensor.splat %{{.+}} : tensor<4x3xf32>
// FOLD-NOT: tile.trans
func.func @of_equal_elements(%x: f32) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %ones = arith.constant dense<1.0> : tensor<3x4xf32>
  %xs = tensor.splat %x : tensor<3x4xf32>
  %0 = tile.trans %ones : tensor<3x4xf32>
  %1 = tile.trans %xs : tensor<3x4xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}
