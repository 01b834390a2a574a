// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @gate_and_up
// CHECK: act.geglu %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @gate_and_up(%g: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.geglu %g, %u : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @by_tanh
// CHECK: act.geglu %{{.+}}, %{{.+}} tanh : tensor<2x4xf32>
func.func @by_tanh(%g: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.geglu %g, %u tanh : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
