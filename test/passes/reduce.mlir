// SPDX-License-Identifier: Apache-2.0
// act-reduce keeps what the script asks for: here a module whose forward has a
// softmax. All else goes.
// RUN: act-reduce %s --reduction-tree="traversal-mode=0 test=%S/Inputs/has-softmax.sh" | FileCheck %s
// CHECK-LABEL: func.func @forward
// CHECK: act.softmax
// CHECK-NOT: @unused
// CHECK-NOT: act.matmul
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = act.softmax %x axis 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @unused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = act.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
