// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#b_s = #act.dims<b, s>
#b_s_h = #act.dims<b, s, h>

// CHECK-LABEL: @tokens
// CHECK: act.embedding %{{.+}}, %{{.+}} : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
func.func @tokens(%table: tensor<16x4xf32>, %ids: tensor<2x3xi32>) -> tensor<2x3x4xf32> {
  %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @long_ids
// CHECK: act.embedding %{{.+}}, %{{.+}} : (tensor<16x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
func.func @long_ids(%table: tensor<16x4xf32>, %ids: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
  %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @named
// CHECK: act.embedding %{{.+}}, %{{.+}} : (tensor<16x4xf32>, tensor<?x?xi32, #b_s>) -> tensor<?x?x4xf32, #b_s_h>
func.func @named(%table: tensor<16x4xf32>, %ids: tensor<?x?xi32, #b_s>) -> tensor<?x?x4xf32, #b_s_h> {
  %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<?x?xi32, #b_s>) -> tensor<?x?x4xf32, #b_s_h>
  return %0 : tensor<?x?x4xf32, #b_s_h>
}

// CHECK-LABEL: @padding
// CHECK: act.embedding %{{.+}}, %{{.+}} padding_idx 0 : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
func.func @padding(%table: tensor<16x4xf32>, %ids: tensor<2x3xi32>) -> tensor<2x3x4xf32> {
  %0 = act.embedding %table, %ids padding_idx 0 : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
