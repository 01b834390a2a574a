// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Padding masks in the ways they are written, with and without causal ones.

// A padding mask.
// CHECK-LABEL: func.func @padding
// CHECK: act.attention {{.*}} mask(%arg3)
func.func @padding(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %a, %s, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// (1 - mask) * min, as BERT does.
// CHECK-LABEL: func.func @padding_as_number
// CHECK: act.attention {{.*}} mask(%arg3)
func.func @padding_as_number(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %f = act.cast %a : tensor<2x1x1x8xi1> to tensor<2x1x1x8xf32>
  %c = act.constant dense<1.0> : tensor<f32>
  %d = act.sub %c, %f : (tensor<f32>, tensor<2x1x1x8xf32>) -> tensor<2x1x1x8xf32>
  %b = act.scale %d by -3.4028234663852886e+38 : tensor<2x1x1x8xf32>
  %t = act.add %s, %b : (tensor<2x4x8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Causal and padding in one mask.
// CHECK-LABEL: func.func @conjunction
// CHECK: act.attention {{.*}} causal mask(%arg3)
func.func @conjunction(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %b = act.and %a, %m : (tensor<2x1x1x8xi1>, tensor<8x8xi1>) -> tensor<2x1x8x8xi1>
  %t = act.select %b, %s, %n : (tensor<2x1x8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Causal by choice, padding by a sum.
// CHECK-LABEL: func.func @one_after_the_other
// CHECK: act.attention {{.*}} causal mask(%arg3)
func.func @one_after_the_other(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %z = act.constant dense<0.0> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %b = act.select %a, %z, %n : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x8xf32>
  %u = act.add %t, %b : (tensor<2x4x8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Two biases added before they are applied.
// CHECK-LABEL: func.func @sum_of_biases
// CHECK: act.attention {{.*}} causal mask(%arg3)
func.func @sum_of_biases(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %z = act.constant dense<0.0> : tensor<f32>
  %b = act.select %a, %z, %n : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x8xf32>
  %d = act.select %m, %z, %n : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %b2 = act.add %d, %b : (tensor<8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x1x8x8xf32>
  %u = act.add %s, %b2 : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A bias chosen inside a bias.
// CHECK-LABEL: func.func @nested_bias
// CHECK: act.attention {{.*}} causal mask(%arg3)
func.func @nested_bias(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %z = act.constant dense<0.0> : tensor<f32>
  %b = act.select %a, %z, %n : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x8xf32>
  %b2 = act.select %m, %b, %n : (tensor<8x8xi1>, tensor<2x1x1x8xf32>, tensor<f32>) -> tensor<2x1x8x8xf32>
  %u = act.add %s, %b2 : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Two padding masks become one; the same one twice is one.
// CHECK-LABEL: func.func @two_paddings
// CHECK: %[[M:.*]] = act.and %arg
// CHECK: act.attention {{.*}} mask(%[[M]])
func.func @two_paddings(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>, %pad2: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %a = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %a2 = act.reshape %pad2 : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %a, %s, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %u = act.select %a2, %t, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %w = act.select %a, %u, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %w axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// One padding mask for the whole batch is repeated.
// CHECK-LABEL: func.func @padding_for_all
// CHECK: %[[M:.*]] = act.expand {{.*}} -> tensor<2x8xi1>
// CHECK: act.attention {{.*}} mask(%[[M]])
func.func @padding_for_all(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %pad, %s, %n : (tensor<8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
