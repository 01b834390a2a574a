// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// The scale is found wherever it is multiplied in.

// On the scores.
// CHECK-LABEL: func.func @scores
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @scores(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %t = act.scale %s by 0.25 : tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// On the query.
// CHECK-LABEL: func.func @query
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @query(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.scale %q by 0.25 : tensor<2x4x8x16xf32>
  %s = act.matmul %x, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// On the key.
// CHECK-LABEL: func.func @key
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @key(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.scale %k by 0.25 : tensor<2x4x8x16xf32>
  %s = act.matmul %q, %x transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A root on both, as GPT-J's relatives do.
// CHECK-LABEL: func.func @both
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @both(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.scale %q by 0.5 : tensor<2x4x8x16xf32>
  %y = act.scale %k by 0.5 : tensor<2x4x8x16xf32>
  %s = act.matmul %x, %y transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// As a quotient.
// CHECK-LABEL: func.func @quotient
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @quotient(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %c = act.constant dense<4.0> : tensor<f32>
  %t = act.div %s, %c : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// As a product, commuted, with a constant of the scores' shape.
// CHECK-LABEL: func.func @product
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @product(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %c = act.constant dense<0.25> : tensor<2x4x8x8xf32>
  %t = act.mul %c, %s : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Several factors multiply.
// CHECK-LABEL: func.func @several
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.softmax
func.func @several(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %x = act.scale %q by 8.0 : tensor<2x4x8x16xf32>
  %s = act.matmul %x, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %t = act.scale %s by 0.0625 : tensor<2x4x8x8xf32>
  %c = act.constant dense<2.0> : tensor<f32>
  %u = act.div %t, %c : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %u axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// No scale is a scale of one.
// CHECK-LABEL: func.func @none
// CHECK: act.attention {{.*}} scale {{1|1\.0+e\+00}} :
func.func @none(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// c tanh(x / c): the scale before it, the cap after it.
// CHECK-LABEL: func.func @softcap
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} softcap({{50|5\.0+e\+01}}) :
func.func @softcap(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %t = act.scale %s by 0.25 : tensor<2x4x8x8xf32>
  %u = act.scale %t by 0.02 : tensor<2x4x8x8xf32>
  %w = act.tanh %u : tensor<2x4x8x8xf32>
  %x = act.scale %w by 50.0 : tensor<2x4x8x8xf32>
  %p = act.softmax %x axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// The same with tensors, and the scale folded into the quotient.
// CHECK-LABEL: func.func @softcap_by_constants
// CHECK: act.attention {{.*}} scale {{0\.25|2\.5[0-9]*e-01}} softcap({{8|8\.0+e\+00}}) :
func.func @softcap_by_constants(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %c = act.constant dense<32.0> : tensor<f32>
  %d = act.constant dense<8.0> : tensor<f32>
  %t = act.div %s, %c : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %w = act.tanh %t : tensor<2x4x8x8xf32>
  %x = act.mul %d, %w : (tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %x axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
