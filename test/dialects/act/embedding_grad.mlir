// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @tokens
// CHECK: act.embedding_grad %{{.+}}, %{{.+}} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
func.func @tokens(%dy: tensor<2x3x4xf32>, %ids: tensor<2x3xi32>) -> tensor<16x4xf32> {
  %0 = act.embedding_grad %dy, %ids : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// CHECK-LABEL: @padding
// CHECK: act.embedding_grad %{{.+}}, %{{.+}} padding_idx 15 : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
func.func @padding(%dy: tensor<2x3x4xf32>, %ids: tensor<2x3xi32>) -> tensor<16x4xf32> {
  %0 = act.embedding_grad %dy, %ids padding_idx 15 : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
