// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @broadcasts_a_scalar
// CHECK: act.div %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
func.func @broadcasts_a_scalar(%x: tensor<2x4xf32>, %y: tensor<f32>) -> tensor<2x4xf32> {
  %0 = act.div %x, %y : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @halves
// CHECK: act.div %{{.+}}, %{{.+}} : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
func.func @halves(%x: tensor<3xf16>) -> tensor<3xf16> {
  %0 = act.div %x, %x : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}

// CHECK-LABEL: @named_dimensions
// CHECK: act.div %{{.+}}, %{{.+}} : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
func.func @named_dimensions(%x: tensor<?x4xf32, #s_4>, %y: tensor<1x4xf32>) -> tensor<?x4xf32, #s_4> {
  %0 = act.div %x, %y : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
  return %0 : tensor<?x4xf32, #s_4>
}
