// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @masked_scores
// CHECK: act.select %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
func.func @masked_scores(%m: tensor<4x4xi1>, %x: tensor<2x4x4xf32>, %c: tensor<f32>) -> tensor<2x4x4xf32> {
  %0 = act.select %m, %x, %c : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
