// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @broadcasts_a_row
// CHECK: act.mul %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @broadcasts_a_row(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = act.mul %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @doubles
// CHECK: act.mul %{{.+}}, %{{.+}} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
func.func @doubles(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = act.mul %x, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: @named_dimensions
// CHECK: act.mul %{{.+}}, %{{.+}} : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
func.func @named_dimensions(%x: tensor<?x4xf32, #s_4>, %y: tensor<1x4xf32>) -> tensor<?x4xf32, #s_4> {
  %0 = act.mul %x, %y : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
  return %0 : tensor<?x4xf32, #s_4>
}
