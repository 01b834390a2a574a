// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// What only looks like attention.

// Probabilities that are returned, too.
// CHECK-LABEL: func.func @probabilities_returned
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @probabilities_returned(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>) {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o, %p : tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>
}

// Scores that something else reads.
// CHECK-LABEL: func.func @scores_used_twice
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @scores_used_twice(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %r = act.matmul %s, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %y = act.add %o, %r : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// One set of probabilities for two values.
// CHECK-LABEL: func.func @probabilities_of_two_values
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @probabilities_of_two_values(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %r = act.matmul %p, %k : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %y = act.add %o, %r : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// A mask after the softmax: rows do not add up to one.
// CHECK-LABEL: func.func @mask_after_softmax
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @mask_after_softmax(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %z = act.constant dense<0.0> : tensor<f32>
  %x = act.select %m, %p, %z : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %o = act.matmul %x, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A factor on the probabilities.
// CHECK-LABEL: func.func @scaled_probabilities
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @scaled_probabilities(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %x = act.scale %p by 0.5 : tensor<2x4x8x8xf32>
  %o = act.matmul %x, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A softmax of probabilities.
// CHECK-LABEL: func.func @two_softmaxes
// CHECK-NOT: act.attention
// CHECK: return
func.func @two_softmaxes(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p0 = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %p = act.softmax %p0 axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Probabilities of an input.
// CHECK-LABEL: func.func @not_a_product
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @not_a_product(%s: tensor<2x4x8x8xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A sink column beside the keys.
// CHECK-LABEL: func.func @sink
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @sink(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %sink: tensor<2x4x8x1xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %x = act.concat %s, %sink : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) -> tensor<2x4x8x9xf32>
  %y = act.softmax %x axis 3 : tensor<2x4x8x9xf32>
  %p, %rest = act.split %y : tensor<2x4x8x9xf32> -> tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
