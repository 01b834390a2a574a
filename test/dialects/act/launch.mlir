// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --mlir-print-op-generic | act-opt | FileCheck %s

// CHECK: } launches {
// CHECK-NEXT: act.launch @kernels::@k0_scale (input 0, result 0 written) main
// CHECK-NEXT: act.launch @kernels::@k1_scale (input 0 written) inplace [0] main
// CHECK-NEXT: act.launch @kernels::@k2 (workspace 0, scratch written, effect 0 gradient written, effect 0 exp_avg_sq)
// CHECK-NEXT: }
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.group "scale" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.scale %a by 2.000000e+00 : tensor<4xf32>
    act.yield %0 : tensor<4xf32>
  } launches {
    act.launch @kernels::@k0_scale (input 0, result 0 written) main
    act.launch @kernels::@k1_scale (input 0 written) inplace [0] main
    act.launch @kernels::@k2 (workspace 0, scratch written, effect 0 gradient written, effect 0 exp_avg_sq)
  }
  return %y : tensor<4xf32>
}
