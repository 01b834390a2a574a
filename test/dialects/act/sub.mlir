// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @same_shapes
// CHECK: act.sub %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @same_shapes(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.sub %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @broadcasts_a_row
// CHECK: act.sub %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @broadcasts_a_row(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = act.sub %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @broadcasts_both
// CHECK: act.sub %{{.+}}, %{{.+}} : (tensor<2x1xbf16>, tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16>
func.func @broadcasts_both(%x: tensor<2x1xbf16>, %y: tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16> {
  %0 = act.sub %x, %y : (tensor<2x1xbf16>, tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16>
  return %0 : tensor<3x2x4xbf16>
}

// CHECK-LABEL: @named_dimensions
// CHECK: act.sub %{{.+}}, %{{.+}} : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
func.func @named_dimensions(%x: tensor<?x4xf32, #s_4>, %y: tensor<1x4xf32>) -> tensor<?x4xf32, #s_4> {
  %0 = act.sub %x, %y : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
  return %0 : tensor<?x4xf32, #s_4>
}
