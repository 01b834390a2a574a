// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Operands of other ranks, orders and types.

// Operands that are [b, heads, s, d] are transposed once each, and so is the result.
// CHECK-LABEL: func.func @nothing_transposed
// CHECK-COUNT-3: act.transpose
// CHECK: act.attention {{.*}} -> tensor<2x8x4x16xf32>
// CHECK-NEXT: act.transpose
// CHECK-NEXT: return
func.func @nothing_transposed(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A batch of single heads needs no transpose.
// CHECK-LABEL: func.func @one_head
// CHECK: act.attention {{.*}} -> tensor<2x8x1x64xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @one_head(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<2x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x8x8xf32>, tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return %o : tensor<2x8x64xf32>
}

// Plain matrices are one sequence of one head.
// CHECK-LABEL: func.func @matrices
// CHECK: act.attention {{.*}} -> tensor<1x8x1x64xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @matrices(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x8xf32>
  %p = act.softmax %s axis 1 : tensor<8x8xf32>
  %o = act.matmul %p, %v : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// Everything in f32 from 16-bit values, the output rounded: the product's type counts.
// CHECK-LABEL: func.func @upcast_everything
// CHECK-NOT: act.cast
// CHECK: act.attention {{.*}} -> tensor<2x8x4x16xbf16>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @upcast_everything(%q: tensor<2x8x64xbf16>, %k: tensor<2x8x64xbf16>, %v: tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16> {
  %q0 = act.reshape %q : tensor<2x8x64xbf16> -> tensor<2x8x4x16xbf16>
  %k0 = act.reshape %k : tensor<2x8x64xbf16> -> tensor<2x8x4x16xbf16>
  %v0 = act.reshape %v : tensor<2x8x64xbf16> -> tensor<2x8x4x16xbf16>
  %q1 = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
  %q2 = act.cast %q1 : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
  %k2 = act.cast %k1 : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
  %s = act.matmul %q2, %k2 transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %pb = act.cast %p : tensor<2x4x8x8xf32> to tensor<2x4x8x8xbf16>
  %o = act.matmul %pb, %v1 : (tensor<2x4x8x8xbf16>, tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xbf16> -> tensor<2x8x4x16xbf16>
  %r = act.reshape %o1 : tensor<2x8x4x16xbf16> -> tensor<2x8x64xbf16>
  return %r : tensor<2x8x64xbf16>
}
