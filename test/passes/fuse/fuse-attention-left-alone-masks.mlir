// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Masks that act.attention does not have.

// Forbidden scores are only made small.
// CHECK-LABEL: func.func @mild_mask
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @mild_mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<-5.0> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask that the scale after it weakens.
// CHECK-LABEL: func.func @scaled_away
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @scaled_away(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<-1.0e+05> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %u = act.scale %t by 0.001 : tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A causal mask that says what to forbid.
// CHECK-LABEL: func.func @inverted
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @inverted(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %n, %s : (tensor<8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask under the softcap is only a score of -50.
// CHECK-LABEL: func.func @below_softcap
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @below_softcap(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %u = act.scale %t by 0.02 : tensor<2x4x8x8xf32>
  %w = act.tanh %u : tensor<2x4x8x8xf32>
  %x = act.scale %w by 50.0 : tensor<2x4x8x8xf32>
  %p = act.softmax %x axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A causal mask turned round.
// CHECK-LABEL: func.func @anti_causal
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @anti_causal(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %a = act.transpose %m [1, 0] : tensor<8x8xi1> -> tensor<8x8xi1>
  %t = act.select %a, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A causal mask between heads and keys.
// CHECK-LABEL: func.func @wrong_dimension
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @wrong_dimension(%q: tensor<2x8x8x16xf32>, %k: tensor<2x8x8x16xf32>, %v: tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %a = act.reshape %m : tensor<8x8xi1> -> tensor<8x1x8xi1>
  %t = act.select %a, %s, %n : (tensor<8x1x8xi1>, tensor<2x8x8x8xf32>, tensor<f32>) -> tensor<2x8x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x8x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x8x8x8xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  return %o : tensor<2x8x8x16xf32>
}

// A mask that forbids everything.
// CHECK-LABEL: func.func @all_false
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @all_false(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %m = act.constant dense<false> : tensor<8x8xi1>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask of pairs beside packed sequences.
// CHECK-LABEL: func.func @packed_pairs
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @packed_pairs(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %cu: tensor<3xi32>, %m: tensor<8x8xi1>) -> tensor<4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %same = act.segment_mask %cu : tensor<3xi32> -> tensor<8x8xi1>
  %a = act.and %same, %m : (tensor<8x8xi1>, tensor<8x8xi1>) -> tensor<8x8xi1>
  %t = act.select %a, %s, %n : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %p = act.softmax %t axis 2 : tensor<4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %o : tensor<4x8x16xf32>
}

// A mask of queries alone: rows that see nothing.
// CHECK-LABEL: func.func @query_padding
// CHECK-NOT: act.attention
// CHECK: act.softmax
// CHECK-NOT: act.attention
// CHECK: return
func.func @query_padding(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x8x1xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %a, %s, %n : (tensor<2x1x8x1xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
