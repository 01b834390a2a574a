// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Softmaxes between products that do not fit together.

// A softmax over the queries.
// CHECK-LABEL: func.func @wrong_axis
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @wrong_axis(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A softmax over the heads.
// CHECK-LABEL: func.func @heads_axis
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @heads_axis(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 1 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Probabilities contracted over the queries.
// CHECK-LABEL: func.func @transposed_probabilities
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @transposed_probabilities(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v transpose_lhs : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Keys per sequence, one value matrix for all.
// CHECK-LABEL: func.func @one_value_for_a_batch
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @one_value_for_a_batch(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Key heads repeated, value heads not.
// CHECK-LABEL: func.func @unequal_groups
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @unequal_groups(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.expand %k : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %q, %x transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Heads 0 1 0 1, where grouped queries have 0 0 1 1.
// CHECK-LABEL: func.func @tiled_heads
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @tiled_heads(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %k1 = act.reshape %k : tensor<2x2x8x16xf32> -> tensor<2x1x2x8x16xf32>
  %k2 = act.expand %k1 : tensor<2x1x2x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %x = act.reshape %k2 : tensor<2x2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %v1 = act.reshape %v : tensor<2x2x8x16xf32> -> tensor<2x1x2x8x16xf32>
  %v2 = act.expand %v1 : tensor<2x1x2x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %y = act.reshape %v2 : tensor<2x2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %q, %x transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %y : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Keys repeated along the tokens.
// CHECK-LABEL: func.func @repeated_keys
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @repeated_keys(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x4x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.expand %k : tensor<2x4x4x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %q, %x transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
