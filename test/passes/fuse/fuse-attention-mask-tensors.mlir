// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Masks that are tensors: of keys, or of queries and keys; of what to see, or of
// what to hide.

// torch's masked_fill: true hides.
// CHECK-LABEL: func.func @masked_fill
// CHECK-NOT: act.softmax
// CHECK: %[[HIDE:.+]] = act.reshape %arg3 : tensor<2x1x1x8xi1> -> tensor<2x8xi1>
// CHECK-NEXT: %[[SEEN:.+]] = act.not %[[HIDE]] : tensor<2x8xi1>
// CHECK-NEXT: act.attention {{.*}} mask(%[[SEEN]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @masked_fill(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %hide: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %hide, %n, %s : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// Two negations cancel.
// CHECK-LABEL: func.func @masked_fill_of_not
// CHECK-NOT: act.softmax
// CHECK-NOT: act.not
// CHECK: act.attention {{.*}} mask(%arg3)
// CHECK-NOT: act.softmax
// CHECK: return
func.func @masked_fill_of_not(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %no = act.not %pad : tensor<2x8xi1>
  %hide = act.reshape %no : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %t = act.select %hide, %n, %s : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// What is not causal is hidden.
// CHECK-LABEL: func.func @hidden_causal
// CHECK-NOT: act.softmax
// CHECK: act.attention {{.*}} causal :
// CHECK-NOT: act.softmax
// CHECK: return
func.func @hidden_causal(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %x: tensor<f32>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %c = act.causal_mask : tensor<8x8xi1>
  %hide = act.not %c : tensor<8x8xi1>
  %t = act.select %hide, %n, %s : (tensor<8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// A mask for every query and key.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: act.softmax
// CHECK: %[[MASK:.+]] = act.reshape %arg3 : tensor<2x1x8x8xi1> -> tensor<2x8x8xi1>
// CHECK-NEXT: act.attention {{.*}} mask(%[[MASK]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @pairs(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<2x1x8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// One for the whole batch is not repeated.
// CHECK-LABEL: func.func @pairs_for_all
// CHECK-NOT: act.softmax
// CHECK: %[[MASK:.+]] = act.reshape %arg3 : tensor<8x8xi1> -> tensor<1x8x8xi1>
// CHECK-NEXT: act.attention {{.*}} mask(%[[MASK]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @pairs_for_all(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %t = act.select %m, %s, %n : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// With one for keys: both.
// CHECK-LABEL: func.func @pairs_and_padding
// CHECK-NOT: act.softmax
// CHECK-DAG: %[[PAIRS:.+]] = act.not %{{.+}} : tensor<1x8x8xi1>
// CHECK-DAG: %[[KEYS:.+]] = act.reshape %arg4 : tensor<2x8xi1> -> tensor<2x1x8xi1>
// CHECK: %[[BOTH:.+]] = act.and %{{.+}}, %{{.+}} : (tensor<{{.*}}xi1>, tensor<{{.*}}xi1>) -> tensor<2x8x8xi1>
// CHECK: act.attention {{.*}} mask(%[[BOTH]])
// CHECK-NOT: act.softmax
// CHECK: return
func.func @pairs_and_padding(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xi1>, %pad: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %s = act.matmul %q, %k transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %n = act.constant dense<0xFF800000> : tensor<f32>
  %keys = act.reshape %pad : tensor<2x8xi1> -> tensor<2x1x1x8xi1>
  %u = act.select %m, %n, %s : (tensor<8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %t = act.select %keys, %u, %n : (tensor<2x1x1x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %t axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}
