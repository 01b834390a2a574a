// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @rms_norm
// CHECK: act.normalize %{{.+}}, %{{.+}} rstd(%{{.+}}) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
func.func @rms_norm(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) -> tensor<2x4xf32> {
  %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @layer_norm
// CHECK: act.normalize %{{.+}}, %{{.+}} mean(%{{.+}}) rstd(%{{.+}}) bias(%{{.+}}) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @layer_norm(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = act.normalize %x, %g mean(%mean) rstd(%rstd) bias(%b) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
