// SPDX-License-Identifier: Apache-2.0
// A schedule in the transform dialect names act's passes, with their options.
// RUN: act-opt %s --transform-interpreter --canonicalize | FileCheck %s
// CHECK-LABEL: func.func @forward
// CHECK: act.attention
// CHECK-NOT: act.softmax
module attributes {transform.with_named_sequence} {
  func.func @forward(%q: tensor<4x16x8xf32>, %k: tensor<4x16x8xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
    %s = act.matmul %q, %k transpose_rhs : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x16xf32>
    %t = act.scale %s by 2.500000e-01 : tensor<4x16x16xf32>
    %p = act.softmax %t axis 2 : tensor<4x16x16xf32>
    %o = act.matmul %p, %v : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    return %o : tensor<4x16x8xf32>
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %0 = transform.apply_registered_pass "fuse-attention" with options = { "remarks" = "none" } to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
