// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @rms_norm
// CHECK: act.norm_weight_grad %{{.+}}, %{{.+}} rstd(%{{.+}}) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<4xf32>
func.func @rms_norm(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %rstd: tensor<2xf32>) -> tensor<4xf32> {
  %0 = act.norm_weight_grad %dy, %x rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @layer_norm
// CHECK: act.norm_weight_grad %{{.+}}, %{{.+}} mean(%{{.+}}) rstd(%{{.+}}) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
func.func @layer_norm(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) -> tensor<4xf32> {
  %0 = act.norm_weight_grad %dy, %x mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
