// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @silu
// CHECK: act.activation_grad silu %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @silu(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.activation_grad silu %dy, %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @gelu
// CHECK: act.activation_grad gelu %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @gelu(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.activation_grad gelu %dy, %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @gelu_new
// CHECK: act.activation_grad gelu_new %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @gelu_new(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.activation_grad gelu_new %dy, %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
