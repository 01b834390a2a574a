// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Dropout between the softmax and the product with V.

// Dropout of the probabilities, which are [b, heads, s, s_kv]: every element keeps its random number.
// CHECK-LABEL: func.func @probabilities
// CHECK: act.attention {{.*}} dropout({{0.1|1.0+e-01}}, %arg3, %arg4, %arg5)
// CHECK-NOT: act.dropout
func.func @probabilities(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %d = act.dropout %p p 0.1 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %o = act.matmul %d, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Flattened, the order of elements is the same.
// CHECK-LABEL: func.func @flattened
// CHECK: act.attention {{.*}} dropout({{0.1|1.0+e-01}}, %arg3, %arg4, %arg5)
// CHECK-NOT: act.dropout
func.func @flattened(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %k0 = act.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %v0 = act.reshape %v : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %qf = act.reshape %qx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %kf = act.reshape %kx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %vf = act.reshape %vx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %s = act.matmul %qf, %kf transpose_rhs : (tensor<8x8x16xf32>, tensor<8x8x16xf32>) -> tensor<8x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<8x8x8xf32>
  %d = act.dropout %p p 0.1 rng(%seed, %step, %site) : tensor<8x8x8xf32>
  %of = act.matmul %d, %vf : (tensor<8x8x8xf32>, tensor<8x8x16xf32>) -> tensor<8x8x16xf32>
  %o = act.reshape %of : tensor<8x8x16xf32> -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Dropout of nothing.
// CHECK-LABEL: func.func @never
// CHECK: act.attention
// CHECK-NOT: dropout
// CHECK: return
func.func @never(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %d = act.dropout %p p 0.0 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %o = act.matmul %d, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Where keys come before queries, elements have other random numbers: left alone.
// CHECK-LABEL: func.func @keys_first
// CHECK-NOT: act.attention
// CHECK: act.dropout
// CHECK-NOT: act.attention
// CHECK: return
func.func @keys_first(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %k, %q transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<2x4x8x8xf32>
  %d = act.dropout %p p 0.1 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %o = act.matmul %d, %v transpose_lhs : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Dropout twice.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: act.attention
// CHECK: act.dropout
// CHECK-NOT: act.attention
// CHECK: return
func.func @twice(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %d = act.dropout %p p 0.1 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %e = act.dropout %d p 0.1 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %o = act.matmul %e, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Dropout of the scores.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: act.attention
// CHECK: act.dropout
// CHECK-NOT: act.attention
// CHECK: return
func.func @scores(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %x = act.dropout %s p 0.1 rng(%seed, %step, %site) : tensor<2x4x8x8xf32>
  %p = act.softmax %x axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
