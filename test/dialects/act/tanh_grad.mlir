// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @single
// CHECK: act.tanh_grad %{{.+}}, %{{.+}} : tensor<2x4xf32>
func.func @single(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.tanh_grad %dy, %y : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
