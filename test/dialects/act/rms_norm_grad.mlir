// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @single
// CHECK: act.rms_norm_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
func.func @single(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) -> tensor<2x4xf32> {
  %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
