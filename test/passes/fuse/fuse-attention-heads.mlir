// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention | FileCheck %s

// Key and value heads that several query heads share. No copy of them is left.

// Key heads repeated by one op.
// CHECK-LABEL: func.func @expand
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @expand(%q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>) -> tensor<2x8x64xf32> {
  %k0 = act.reshape %k : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %v0 = act.reshape %v : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %kx = act.expand %k1 : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// By an expand between reshapes, as Hugging Face's repeat_kv.
// CHECK-LABEL: func.func @repeat_kv
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @repeat_kv(%q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>) -> tensor<2x8x64xf32> {
  %k0 = act.reshape %k : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %v0 = act.reshape %v : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %k2 = act.reshape %k1 : tensor<2x2x8x16xf32> -> tensor<2x2x1x8x16xf32>
  %v2 = act.reshape %v1 : tensor<2x2x8x16xf32> -> tensor<2x2x1x8x16xf32>
  %k3 = act.expand %k2 : tensor<2x2x1x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %v3 = act.expand %v2 : tensor<2x2x1x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %kx = act.reshape %k3 : tensor<2x2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.reshape %v3 : tensor<2x2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Before the transpose.
// CHECK-LABEL: func.func @before_the_transpose
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @before_the_transpose(%q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>) -> tensor<2x8x64xf32> {
  %k0 = act.reshape %k : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %v0 = act.reshape %v : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.expand %k0 : tensor<2x8x2x16xf32> -> tensor<2x8x4x16xf32>
  %v1 = act.expand %v0 : tensor<2x8x2x16xf32> -> tensor<2x8x4x16xf32>
  %kx = act.transpose %k1 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.transpose %v1 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Queries as [b, kv_heads, group, s, d].
// CHECK-LABEL: func.func @grouped
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @grouped(%q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>) -> tensor<2x8x64xf32> {
  %k0 = act.reshape %k : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %v0 = act.reshape %v : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %k2 = act.reshape %k1 : tensor<2x2x8x16xf32> -> tensor<2x2x1x8x16xf32>
  %v2 = act.reshape %v1 : tensor<2x2x8x16xf32> -> tensor<2x2x1x8x16xf32>
  %k3 = act.expand %k2 : tensor<2x2x1x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %v3 = act.expand %v2 : tensor<2x2x1x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %q5 = act.reshape %qx : tensor<2x4x8x16xf32> -> tensor<2x2x2x8x16xf32>
  %s = act.matmul %q5, %k3 transpose_rhs : (tensor<2x2x2x8x16xf32>, tensor<2x2x2x8x16xf32>) -> tensor<2x2x2x8x8xf32>
  %p = act.softmax %s axis 4 : tensor<2x2x2x8x8xf32>
  %o5 = act.matmul %p, %v3 : (tensor<2x2x2x8x8xf32>, tensor<2x2x2x8x16xf32>) -> tensor<2x2x2x8x16xf32>
  %o = act.reshape %o5 : tensor<2x2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// One key head for all.
// CHECK-LABEL: func.func @multi_query
// CHECK: act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @multi_query(%q: tensor<2x8x64xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x8x16xf32>) -> tensor<2x8x64xf32> {
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %qx = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.reshape %k : tensor<2x8x16xf32> -> tensor<2x1x8x16xf32>
  %v1 = act.reshape %v : tensor<2x8x16xf32> -> tensor<2x1x8x16xf32>
  %kx = act.expand %k1 : tensor<2x1x8x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x1x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// A rotation of repeated and scaled heads is one of the heads there are.
// CHECK-LABEL: func.func @rotated
// CHECK-DAG: %[[Q:.*]] = act.rope %{{.*}}, %arg3, %arg4 : tensor<2x8x4x16xf32>
// CHECK-DAG: %[[K:.*]] = act.rope %{{.*}}, %arg3, %arg4 interleaved : tensor<2x8x2x16xf32>
// CHECK: act.attention %[[Q]], %[[K]], %{{.*}} scale {{0\.25|2\.5[0-9]*e-01}} :
// CHECK-NOT: act.transpose
// CHECK: return
func.func @rotated(%q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>, %cos: tensor<8x8xf32>, %sin: tensor<8x8xf32>) -> tensor<2x8x64xf32> {
  %k0 = act.reshape %k : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %v0 = act.reshape %v : tensor<2x8x32xf32> -> tensor<2x8x2x16xf32>
  %q0 = act.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %q1 = act.transpose %q0 [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %q2 = act.scale %q1 by 0.25 : tensor<2x4x8x16xf32>
  %qx = act.rope %q2, %cos, %sin heads_first : tensor<2x4x8x16xf32>, tensor<8x8xf32>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %k2 = act.expand %k1 : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %kx = act.rope %k2, %cos, %sin interleaved heads_first : tensor<2x4x8x16xf32>, tensor<8x8xf32>
  %vx = act.expand %v1 : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = act.reshape %o1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// Numbers of heads known by name only.
// CHECK-LABEL: func.func @named
// CHECK-NOT: act.expand
// CHECK: act.attention {{.*}} : (tensor<2x8x?x16xf32, #{{.*}}>, tensor<2x8x?x16xf32, #{{.*}}>, tensor<2x8x?x16xf32, #{{.*}}>) -> tensor<2x8x?x16xf32, #_2_8_a_16>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @named(%q: tensor<2x8x?x16xf32, #act.dims<2, 8, a, 16>>, %k: tensor<2x8x?x16xf32, #act.dims<2, 8, k, 16>>) -> tensor<2x8x?xf32, #act.dims<2, 8, 16*a>> {
  %q1 = act.transpose %q [0, 2, 1, 3] : tensor<2x8x?x16xf32, #act.dims<2, 8, a, 16>> -> tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>
  %k1 = act.transpose %k [0, 2, 1, 3] : tensor<2x8x?x16xf32, #act.dims<2, 8, k, 16>> -> tensor<2x?x8x16xf32, #act.dims<2, k, 8, 16>>
  %kx = act.expand %k1 : tensor<2x?x8x16xf32, #act.dims<2, k, 8, 16>> -> tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>
  %s = act.matmul %q1, %kx transpose_rhs : (tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>, tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>) -> tensor<2x?x8x8xf32, #act.dims<2, a, 8, 8>>
  %p = act.softmax %s axis 3 : tensor<2x?x8x8xf32, #act.dims<2, a, 8, 8>>
  %o = act.matmul %p, %kx : (tensor<2x?x8x8xf32, #act.dims<2, a, 8, 8>>, tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>) -> tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x?x8x16xf32, #act.dims<2, a, 8, 16>> -> tensor<2x8x?x16xf32, #act.dims<2, 8, a, 16>>
  %r = act.reshape %o1 : tensor<2x8x?x16xf32, #act.dims<2, 8, a, 16>> -> tensor<2x8x?xf32, #act.dims<2, 8, 16*a>>
  return %r : tensor<2x8x?xf32, #act.dims<2, 8, 16*a>>
}

// Value heads of another size, with names.
// CHECK-LABEL: func.func @value_heads_of_another_size
// CHECK: %[[O:.+]] = act.attention {{.*}} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x24xf32, #_2_8_2_e>) -> tensor<2x8x4x24xf32, #_2_8_4_e>
// CHECK-NEXT: act.reshape %[[O]]
// CHECK-NOT: act.transpose
// CHECK: return
func.func @value_heads_of_another_size(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>, %v: tensor<2x8x2x24xf32, #act.dims<2, 8, 2, e>>) -> tensor<2x8x96xf32, #act.dims<2, 8, 4*e>> {
  %qx = act.transpose %q [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %k1 = act.transpose %k [0, 2, 1, 3] : tensor<2x8x2x16xf32> -> tensor<2x2x8x16xf32>
  %v1 = act.transpose %v [0, 2, 1, 3] : tensor<2x8x2x24xf32, #act.dims<2, 8, 2, e>> -> tensor<2x2x8x24xf32, #act.dims<2, 2, 8, e>>
  %kx = act.expand %k1 : tensor<2x2x8x16xf32> -> tensor<2x4x8x16xf32>
  %vx = act.expand %v1 : tensor<2x2x8x24xf32, #act.dims<2, 2, 8, e>> -> tensor<2x4x8x24xf32, #act.dims<2, 4, 8, e>>
  %s = act.matmul %qx, %kx transpose_rhs : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = act.softmax %s axis 3 : tensor<2x4x8x8xf32>
  %o = act.matmul %p, %vx : (tensor<2x4x8x8xf32>, tensor<2x4x8x24xf32, #act.dims<2, 4, 8, e>>) -> tensor<2x4x8x24xf32, #act.dims<2, 4, 8, e>>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x8x24xf32, #act.dims<2, 4, 8, e>> -> tensor<2x8x4x24xf32, #act.dims<2, 8, 4, e>>
  %r = act.reshape %o1 : tensor<2x8x4x24xf32, #act.dims<2, 8, 4, e>> -> tensor<2x8x96xf32, #act.dims<2, 8, 4*e>>
  return %r : tensor<2x8x96xf32, #act.dims<2, 8, 4*e>>
}
