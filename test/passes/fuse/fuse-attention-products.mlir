// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Masks as numbers that are multiplied, and queries of all heads as one matrix.

// Two masks as the product of numbers.
// CHECK-LABEL: func.func @product_of_masks
// CHECK: %[[M:.+]] = act.reshape %arg3 : tensor<2x1x1x8xi1> -> tensor<2x8xi1>
// CHECK: act.attention {{.*}} causal mask(%[[M]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @product_of_masks(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
  %one = act.constant dense<1.0> : tensor<f32>
  %c = act.causal_mask : tensor<8x8xi1>
  %cf = act.cast %c : tensor<8x8xi1> to tensor<8x8xf32>
  %mf = act.cast %m : tensor<2x1x1x8xi1> to tensor<2x1x1x8xf32>
  %p = act.mul %cf, %mf : (tensor<8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x1x8x8xf32>
  %d = act.sub %one, %p : (tensor<f32>, tensor<2x1x8x8xf32>) -> tensor<2x1x8x8xf32>
  %b = act.scale %d by -1.0e9 : tensor<2x1x8x8xf32>
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %t = act.add %s, %b : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %w = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %w, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// scores * mask - 1e9 * (1 - mask), the mask made twice.
// CHECK-LABEL: func.func @masked_product
// CHECK: act.attention {{.*}} causal window(3) :
// CHECK-NOT: act.softmax
// CHECK: return
func.func @masked_product(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %one = act.constant dense<1.0> : tensor<f32>
  %c0 = act.causal_mask window(3) : tensor<8x8xi1>
  %c1 = act.causal_mask window(3) : tensor<8x8xi1>
  %f0 = act.cast %c0 : tensor<8x8xi1> to tensor<8x8xf32>
  %f1 = act.cast %c1 : tensor<8x8xi1> to tensor<8x8xf32>
  %d = act.sub %one, %f0 : (tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = act.scale %d by 1.0e9 : tensor<8x8xf32>
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = act.mul %f1, %s : (tensor<8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %t = act.sub %z, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %w = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %w, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Multiplied by another mask than the one that hides.
// CHECK-LABEL: func.func @product_of_another_mask
// CHECK-NOT: act.attention
// CHECK: act.softmax
func.func @product_of_another_mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %one = act.constant dense<1.0> : tensor<f32>
  %c0 = act.causal_mask : tensor<8x8xi1>
  %c1 = act.causal_mask window(3) : tensor<8x8xi1>
  %f0 = act.cast %c0 : tensor<8x8xi1> to tensor<8x8xf32>
  %f1 = act.cast %c1 : tensor<8x8xi1> to tensor<8x8xf32>
  %d = act.sub %one, %f0 : (tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = act.scale %d by 1.0e9 : tensor<8x8xf32>
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = act.mul %f1, %s : (tensor<8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %t = act.sub %z, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %w = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %w, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// One key for all heads, whose queries are rows of one matrix.
// CHECK-LABEL: func.func @rows_of_all_heads
// CHECK: act.attention {{.*}} causal : (tensor<2x8x4x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.softmax
// CHECK: return
func.func @rows_of_all_heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x8x16xf32>) -> tensor<2x32x16xf32> {
  %low = act.constant dense<-1.0e9> : tensor<f32>
  %c = act.causal_mask : tensor<8x8xi1>
  %c1 = act.reshape %c : tensor<8x8xi1> -> tensor<1x8x1x8xi1>
  %r = act.reshape %q : tensor<2x8x4x16xf32> -> tensor<2x32x16xf32>
  %s = act.matmul %r, %k transpose_rhs : (tensor<2x32x16xf32>, tensor<2x8x16xf32>) -> tensor<2x32x8xf32>
  %s1 = act.reshape %s : tensor<2x32x8xf32> -> tensor<2x8x4x8xf32>
  %t = act.select %c1, %s1, %low : (tensor<1x8x1x8xi1>, tensor<2x8x4x8xf32>, tensor<f32>) -> tensor<2x8x4x8xf32>
  %w = act.softmax %t axis 3 : tensor<2x8x4x8xf32>
  %w1 = act.reshape %w : tensor<2x8x4x8xf32> -> tensor<2x32x8xf32>
  %o = act.matmul %w1, %v : (tensor<2x32x8xf32>, tensor<2x8x16xf32>) -> tensor<2x32x16xf32>
  return %o : tensor<2x32x16xf32>
}
