// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Sequences of a pack see only themselves.

// Packed sequences in one row of tokens.
// CHECK-LABEL: func.func @packed
// CHECK: act.attention {{.*}} causal cu_seqlens(%arg3) : (tensor<8x4x16xf32>, tensor<8x2x16xf32>, tensor<8x2x16xf32>,
// CHECK-NOT: act.transpose
// CHECK: return
func.func @packed(%q: tensor<8x64xf32>, %k: tensor<8x32xf32>, %v: tensor<8x32xf32>, %cu: tensor<5xi32>) -> tensor<8x64xf32> {
  %q0 = act.reshape %q : tensor<8x64xf32> -> tensor<8x4x16xf32>
  %k0 = act.reshape %k : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %v0 = act.reshape %v : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %qx = act.transpose %q0 [1, 0, 2] : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %k1 = act.transpose %k0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %v1 = act.transpose %v0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %kx = act.expand %k1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %g = act.segment_mask %cu : tensor<5xi32> -> tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %m2 = act.and %m, %g : (tensor<8x8xi1>, tensor<8x8xi1>) -> tensor<8x8xi1>
  %t = act.select %m2, %s, %n : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %p = act.softmax %t axis 2 : tensor<4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %o1 = act.transpose %o [1, 0, 2] : tensor<4x8x16xf32> -> tensor<8x4x16xf32>
  %r = act.reshape %o1 : tensor<8x4x16xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// Segments alone.
// CHECK-LABEL: func.func @packed_bidirectional
// CHECK: act.attention {{.*}} cu_seqlens(%arg3) : (tensor<8x4x16xf32>, tensor<8x2x16xf32>, tensor<8x2x16xf32>,
// CHECK-NOT: act.transpose
// CHECK: return
func.func @packed_bidirectional(%q: tensor<8x64xf32>, %k: tensor<8x32xf32>, %v: tensor<8x32xf32>, %cu: tensor<5xi32>) -> tensor<8x64xf32> {
  %q0 = act.reshape %q : tensor<8x64xf32> -> tensor<8x4x16xf32>
  %k0 = act.reshape %k : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %v0 = act.reshape %v : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %qx = act.transpose %q0 [1, 0, 2] : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %k1 = act.transpose %k0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %v1 = act.transpose %v0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %kx = act.expand %k1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %g = act.segment_mask %cu : tensor<5xi32> -> tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %g, %s, %n : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %p = act.softmax %t axis 2 : tensor<4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %o1 = act.transpose %o [1, 0, 2] : tensor<4x8x16xf32> -> tensor<8x4x16xf32>
  %r = act.reshape %o1 : tensor<8x4x16xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// With dropout.
// CHECK-LABEL: func.func @packed_dropout
// CHECK: act.attention {{.*}} causal cu_seqlens(%arg3) dropout({{0.1|1.0+e-01}}, %arg4, %arg5, %arg6) : (tensor<8x4x16xf32>, tensor<8x2x16xf32>, tensor<8x2x16xf32>,
// CHECK-NOT: act.transpose
// CHECK: return
func.func @packed_dropout(%q: tensor<8x64xf32>, %k: tensor<8x32xf32>, %v: tensor<8x32xf32>, %cu: tensor<5xi32>, %seed: i64, %step: i64, %site: i64) -> tensor<8x64xf32> {
  %q0 = act.reshape %q : tensor<8x64xf32> -> tensor<8x4x16xf32>
  %k0 = act.reshape %k : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %v0 = act.reshape %v : tensor<8x32xf32> -> tensor<8x2x16xf32>
  %qx = act.transpose %q0 [1, 0, 2] : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %k1 = act.transpose %k0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %v1 = act.transpose %v0 [1, 0, 2] : tensor<8x2x16xf32> -> tensor<2x8x16xf32>
  %kx = act.expand %k1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x8x16xf32> -> tensor<4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %g = act.segment_mask %cu : tensor<5xi32> -> tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %m2 = act.and %m, %g : (tensor<8x8xi1>, tensor<8x8xi1>) -> tensor<8x8xi1>
  %t = act.select %m2, %s, %n : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %p = act.softmax %t axis 2 : tensor<4x8x8xf32>
  %d = act.dropout %p p 0.1 rng(%seed, %step, %site) : tensor<4x8x8xf32>
  %o = act.matmul %d, %vx : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %o1 = act.transpose %o [1, 0, 2] : tensor<4x8x16xf32> -> tensor<8x4x16xf32>
  %r = act.reshape %o1 : tensor<8x4x16xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// The same segments for a whole batch, whose sequences count as heads.
// CHECK-LABEL: func.func @segments_of_a_batch
// CHECK: act.attention {{.*}} cu_seqlens(%arg3) : (tensor<8x8x16xf32>,
func.func @segments_of_a_batch(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %cu: tensor<3xi32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %m = act.segment_mask %cu : tensor<3xi32> -> tensor<8x8xi1>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
