// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @causal_and_padding
// CHECK: act.and %{{.+}}, %{{.+}} : (tensor<4x4xi1>, tensor<2x1x4xi1>) -> tensor<2x4x4xi1>
func.func @causal_and_padding(%m: tensor<4x4xi1>, %n: tensor<2x1x4xi1>) -> tensor<2x4x4xi1> {
  %0 = act.and %m, %n : (tensor<4x4xi1>, tensor<2x1x4xi1>) -> tensor<2x4x4xi1>
  return %0 : tensor<2x4x4xi1>
}
