// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @silu
// CHECK: act.glu_grad silu %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @silu(%dy: tensor<2x4xf32>, %g: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = act.glu_grad silu %dy, %g, %u : tensor<2x4xf32>
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @gelu
// CHECK: act.glu_grad gelu %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @gelu(%dy: tensor<2x4xf32>, %g: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = act.glu_grad gelu %dy, %g, %u : tensor<2x4xf32>
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @gelu_new
// CHECK: act.glu_grad gelu_new %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @gelu_new(%dy: tensor<2x4xf32>, %g: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = act.glu_grad gelu_new %dy, %g, %u : tensor<2x4xf32>
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}
