// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Causal masks in the ways they are written.

// Forbidden scores become -inf.
// CHECK-LABEL: func.func @causal
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal :
// CHECK-NOT: act.softmax
func.func @causal(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A sliding window.
// CHECK-LABEL: func.func @window
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal window(4) :
// CHECK-NOT: act.softmax
func.func @window(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask window(4) : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// The narrower of two windows.
// CHECK-LABEL: func.func @two_windows
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal window(3) :
// CHECK-NOT: act.softmax
func.func @two_windows(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask window(3) : tensor<8x8xi1>
  %m2 = act.causal_mask window(5) : tensor<8x8xi1>
  %m3 = act.and %m, %m2 : (tensor<8x8xi1>, tensor<8x8xi1>) -> tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m3, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A bias that is 0 or very negative, on either side of the sum.
// CHECK-LABEL: func.func @added
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal :
// CHECK-NOT: act.softmax
func.func @added(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %z = act.constant dense<0.0> : tensor<f32>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %b = act.select %m, %z, %n : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %t = act.add %b, %s : (tensor<8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask that is repeated before it is used.
// CHECK-LABEL: func.func @expanded
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal :
// CHECK-NOT: act.softmax
func.func @expanded(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %a = act.reshape %m : tensor<8x8xi1> -> tensor<1x1x8x8xi1>
  %b = act.expand %a : tensor<1x1x8x8xi1> -> tensor<2x4x8x8xi1>
  %t = act.select %b, %s, %n : (tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask that forbids nothing.
// CHECK-LABEL: func.func @all_true
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} :
// CHECK-NOT: act.softmax
func.func @all_true(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %m = act.constant dense<true> : tensor<8x8xi1>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask before the scale: what it forbids stays forbidden.
// CHECK-LABEL: func.func @before_scale
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} causal :
func.func @before_scale(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = act.causal_mask : tensor<8x8xi1>
  %n = act.constant dense<-1.0e+09> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %u = act.scale %t by 0.25 : tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Three queries at the end of eight keys.
// CHECK-LABEL: func.func @rectangular
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} causal :
// CHECK-NOT: act.softmax
func.func @rectangular(%q: tensor<2x4x3x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x3x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x3x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x3x8xf32>
  %m = act.causal_mask : tensor<3x8xi1>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<3x8xi1>, tensor<2x4x3x8xf32>, tensor<f32>) -> tensor<2x4x3x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x3x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x3x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x3x16xf32>
  return %o : tensor<2x4x3x16xf32>
}
