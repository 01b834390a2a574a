// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @mean
// CHECK: act.cross_entropy %{{.+}}, %{{.+}} ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<f32>
func.func @mean(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi32>) -> tensor<f32> {
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @sum_with_statistics
// CHECK: act.cross_entropy %{{.+}}, %{{.+}} ignore -100 reduction sum : (tensor<2x3x16xbf16>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
func.func @sum_with_statistics(%logits: tensor<2x3x16xbf16>, %labels: tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>) {
  %0:2 = act.cross_entropy %logits, %labels ignore -100 reduction sum : (tensor<2x3x16xbf16>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<2x3xf32>
}

// CHECK-LABEL: @none
// CHECK: act.cross_entropy %{{.+}}, %{{.+}} ignore -100 reduction none : (tensor<2x3x16xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
func.func @none(%logits: tensor<2x3x16xf32>, %labels: tensor<2x3xi64>) -> tensor<2x3xf32> {
  %0 = act.cross_entropy %logits, %labels ignore -100 reduction none : (tensor<2x3x16xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
