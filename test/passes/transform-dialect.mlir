// SPDX-License-Identifier: Apache-2.0
// A schedule in the transform dialect names act's passes, with their options.
// RUN: act-opt %s --transform-preload-library='transform-library-paths=%S/Inputs/fuse-schedule.mlir' --transform-interpreter | FileCheck %s
// CHECK: func.func @forward
// CHECK: act.attention
// CHECK-NOT: act.softmax
func.func @forward(%q: tensor<4x16x8xf32>, %k: tensor<4x16x8xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x16xf32>
  %t = act.scale %s by 2.500000e-01 : tensor<4x16x16xf32>
  %p = act.softmax %t axis 2 : tensor<4x16x16xf32>
  %o = act.matmul %p, %v : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %o : tensor<4x16x8xf32>
}
