// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @both
// CHECK: act.grad_norm %{{.+}} : tensor<f32>
// CHECK: act.grad_norm %{{.+}} scale(%{{.+}} : tensor<f32>) : tensor<f32>
func.func @both(%s: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %a = act.grad_norm %s : tensor<f32>
  %b = act.grad_norm %s scale(%k : tensor<f32>) : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
