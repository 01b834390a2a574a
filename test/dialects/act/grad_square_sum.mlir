// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @w "w" : tensor<4xf32>

// CHECK-LABEL: @one
// CHECK: act.grad_square_sum @w, %{{.+}} : tensor<f32>
func.func @one(%0: tensor<f32>) -> tensor<f32> {
  %1 = act.grad_square_sum @w, %0 : tensor<f32>
  return %1 : tensor<f32>
}
