// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Transposes and reshapes in other places. No transpose is left.

// Keys transposed for the product in one go.
// CHECK-LABEL: func.func @transposed_keys
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @transposed_keys(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %k0 = act.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %v0 = act.reshape %v : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.transpose %k0 [0, 2, 3, 1] : tensor<2x8x4x16xf32> -> tensor<2x4x16x8xf32>
  %vx = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// K Q^T, its softmax over the rows, and V^T P.
// CHECK-LABEL: func.func @keys_first
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @keys_first(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %k0 = act.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %v0 = act.reshape %v : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.transpose %v0 [0, 2, 3, 1] : tensor<2x8x4x16xf32> -> tensor<2x4x16x8xf32>
  %s = act.matmul %kx, %qx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<2x4x8x8xf32>
  %o0 = act.matmul %vx, %p : (tensor<2x4x16x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x16x8xf32>
  %o = act.transpose %o0 [0, 1, 3, 2] : tensor<2x4x16x8xf32> -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Scores transposed between the product and the softmax.
// CHECK-LABEL: func.func @transposed_scores
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @transposed_scores(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %k0 = act.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %v0 = act.reshape %v : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %s0 = act.matmul %kx, %qx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %s = act.transpose %s0 [0, 1, 3, 2] : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Batch and heads as one dimension, as torch.bmm wants them.
// CHECK-LABEL: func.func @flattened
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @flattened(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
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
  %of = act.matmul %p, %vf : (tensor<8x8x8xf32>, tensor<8x8x16xf32>) -> tensor<8x8x16xf32>
  %o = act.reshape %of : tensor<8x8x16xf32> -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Taken apart for the mask, and put together again.
// CHECK-LABEL: func.func @flattened_and_masked
// CHECK: act.attention {{.*}} mask(%arg3)
// CHECK-NOT: act.transpose
// CHECK: return
func.func @flattened_and_masked(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>, %v: tensor<2x8x64xf32>, %pad: tensor<2x8xi1>) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %k0 = act.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %v0 = act.reshape %v : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %qf = act.reshape %qx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %kf = act.reshape %kx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %vf = act.reshape %vx : tensor<2x4x8x16xf32> -> tensor<8x8x16xf32>
  %s0 = act.matmul %qf, %kf transpose_rhs : (tensor<8x8x16xf32>, tensor<8x8x16xf32>) -> tensor<8x8x8xf32>
  %s = act.reshape %s0 : tensor<8x8x8xf32> -> tensor<2x4x8x8xf32>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %a, %s, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %u = act.reshape %t : tensor<2x4x8x8xf32> -> tensor<8x8x8xf32>
  %p = act.softmax %u axis 2 : tensor<8x8x8xf32>
  %of = act.matmul %p, %vf : (tensor<8x8x8xf32>, tensor<8x8x16xf32>) -> tensor<8x8x16xf32>
  %o = act.reshape %of : tensor<8x8x16xf32> -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}
