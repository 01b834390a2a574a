// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --form-kernels -o %t.mlir
// RUN: act-opt %t.mlir --memory-report=file=- -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: act-opt %t.mlir --memory-report="file=- function=forward" -o /dev/null | FileCheck %s --check-prefix=ASKED
// RUN: not act-opt %t.mlir --autodiff 2>&1 | FileCheck %s
// RUN: not act-opt %t.mlir --remat=layer 2>&1 | FileCheck %s
// RUN: not act-opt %t.mlir --optimizer=sgd 2>&1 | FileCheck %s
// RUN: not act-opt %t.mlir --emit="file=%t.act mode=train" 2>&1 | FileCheck %s
// RUN: not act-run train %t.mlir --data %s --steps 1 --lr 1 2>&1 | FileCheck %s
// RUN: not act-run train %t.mlir --optimizer sgd --data %s --steps 1 --lr 1 2>&1 | FileCheck %s
// RUN: act-opt %s --autodiff --form-kernels -o %t.grad.mlir
// RUN: not act-opt %t.grad.mlir --remat=layer 2>&1 | FileCheck %s --check-prefix=REMAT
// RUN: not act-opt %t.grad.mlir --optimizer=sgd 2>&1 | FileCheck %s --check-prefix=STEP

// Kernels have no gradients: who forms them first is told so, and a report says
// that it is of @forward alone.
// REPORT: @forward
// REPORT: note: the module is in kernel form without a gradient and can no longer be differentiated: this is @forward alone
// ASKED-NOT: note:
// CHECK: is in kernel form without a gradient and can no longer be differentiated
// REMAT: is in kernel form; --remat must come before --form-kernels
// STEP: has kernels but no @step; write the optimizer before kernels are formed
act.parameter @w "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = act.sum_to %0 : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
