// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @mean
// CHECK: act.linear_cross_entropy %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
func.func @mean(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @sum_with_statistics
// CHECK: act.linear_cross_entropy %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction sum chunk 1 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
func.func @sum_with_statistics(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>) {
  %0:2 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction sum chunk 1 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<2x4xf32>
}

// CHECK-LABEL: @none
// CHECK: act.linear_cross_entropy %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction none chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
func.func @none(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) -> tensor<2x4xf32> {
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction none chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @bias
// CHECK: act.linear_cross_entropy %{{.+}}, %{{.+}} bias(%{{.+}}), %{{.+}} ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>) -> tensor<f32>
func.func @bias(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %0 = act.linear_cross_entropy %x, %w bias(%b), %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @capped
// CHECK: act.linear_cross_entropy %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction mean chunk 4 softcap 3.000000e+01 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
func.func @capped(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 softcap 30.0 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}
