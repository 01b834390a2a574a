// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @mean
// CHECK: act.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
func.func @mean(%dl: tensor<f32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>, %lse: tensor<2x3xf32>) -> tensor<2x3x16xf32> {
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}

// CHECK-LABEL: @none
// CHECK: act.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction none : (tensor<2x3xf32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
func.func @none(%dl: tensor<2x3xf32>, %logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>, %lse: tensor<2x3xf32>) -> tensor<2x3x16xf32> {
  %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction none : (tensor<2x3xf32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}
