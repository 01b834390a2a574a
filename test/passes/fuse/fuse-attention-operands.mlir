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

// What is added to the scores and is no mask is a bias; a factor behind the sum
// is applied to it, too.
// CHECK-LABEL: func.func @bias
// CHECK-NOT: act.softmax
// CHECK: %[[BIAS:.+]] = act.scale %[[B:.+]] by 5.000000e-01 : tensor<1x4x1x8xf32>
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 5.000000e-01 causal bias(%[[BIAS]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @bias(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %b: tensor<4x1x8xf32>) -> tensor<2x4x8x16xf32> {
  %qt = act.transpose %q [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kt = act.transpose %k [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vt = act.transpose %v [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qt, %kt transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %t = act.add %s, %b : (tensor<2x4x8x8xf32>, tensor<4x1x8xf32>) -> tensor<2x4x8x8xf32>
  %u = act.scale %t by 5.000000e-01 : tensor<2x4x8x8xf32>
  %c = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %w = act.select %c, %u, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %w axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vt : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
