// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @both
// CHECK: act.linear_cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
func.func @both(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>) {
  %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
  return %0#0, %0#1 : tensor<2x4x8xf32>, tensor<16x8xf32>
}

// CHECK-LABEL: @input_only
// CHECK: act.linear_cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore -100 reduction sum chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x4x8xf32>
func.func @input_only(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) -> tensor<2x4x8xf32> {
  %0 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction sum chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: @bias
// CHECK: act.linear_cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}} bias(%{{.+}}), %{{.+}}, %{{.+}} ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>)
func.func @bias(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) {
  %0:3 = act.linear_cross_entropy_grad %dl, %x, %w bias(%b), %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>
}

// CHECK-LABEL: @frozen_head
// CHECK: act.linear_cross_entropy_grad {{.*}} -> tensor<2x4x8xf32>
func.func @frozen_head(%dl: tensor<f32>, %x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %labels: tensor<2x4xi32>, %lse: tensor<2x4xf32>) -> tensor<2x4x8xf32> {
  %0 = act.linear_cross_entropy_grad %dl, %x, %w bias(%b), %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}
