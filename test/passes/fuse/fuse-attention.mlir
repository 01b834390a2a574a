// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --fuse-attention | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --fuse-attention | FileCheck %s
// RUN: act-opt %s --fuse-attention --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// The manual's example.
func.func @attention(%arg0: tensor<2x8x16xf32>, %arg1: tensor<2x8x16xf32>, %arg2: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %0 = act.matmul %arg0, %arg1 transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
  %1 = act.scale %0 by 2.500000e-01 : tensor<2x8x8xf32>
  %2 = act.softmax %1 axis 2 : tensor<2x8x8xf32>
  %3 = act.matmul %2, %arg2 : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %3 : tensor<2x8x16xf32>
}
// AFTER: %0 = act.reshape %arg0 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
// AFTER-NEXT: %1 = act.reshape %arg1 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
// AFTER-NEXT: %2 = act.reshape %arg2 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
// AFTER-NEXT: %result = act.attention %0, %1, %2 scale 2.500000e-01 : {{.*}}
// AFTER-NEXT: %3 = act.reshape %result : tensor<2x8x1x16xf32> -> tensor<2x8x16xf32>

// -----

#bsh = #act.dims<b, s, a*d>
#bsk = #act.dims<b, s, d*k>
#bsad = #act.dims<b, s, a, d>
#bskd = #act.dims<b, s, k, d>
#basd = #act.dims<b, a, s, d>
#bksd = #act.dims<b, k, s, d>
#bass = #act.dims<b, a, s, s>

// A layer as Hugging Face writes it: rotation after the transpose, key heads
// repeated, f32 around the softmax. No transpose is left, and names are kept.
// CHECK-LABEL: func.func @llama
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x64xbf16, {{.*}}>, %[[Y:.*]]: tensor<{{.*}}>, %[[Z:.*]]: tensor<{{.*}}>, %[[C:.*]]: tensor<8x8xf32>, %[[S:.*]]: tensor<8x8xf32>)
// CHECK-DAG: %[[Q0:.*]] = act.reshape %[[X]] : {{.*}} -> tensor<1x8x4x16xbf16, #b_s_a_d>
// CHECK-DAG: %[[K0:.*]] = act.reshape %[[Y]] : {{.*}} -> tensor<1x8x2x16xbf16, #b_s_k_d>
// CHECK-DAG: %[[V:.*]] = act.reshape %[[Z]] : {{.*}} -> tensor<1x8x2x16xbf16, #b_s_k_d>
// CHECK-DAG: %[[Q:.*]] = act.rope %[[Q0]], %[[C]], %[[S]] : tensor<1x8x4x16xbf16, #b_s_a_d>
// CHECK-DAG: %[[K:.*]] = act.rope %[[K0]], %[[C]], %[[S]] : tensor<1x8x2x16xbf16, #b_s_k_d>
// CHECK: %[[O:.*]] = act.attention %[[Q]], %[[K]], %[[V]] scale {{0.25|2.5.*}} causal : {{.*}} -> tensor<1x8x4x16xbf16, #b_s_a_d>
// CHECK-NEXT: %[[R:.*]] = act.reshape %[[O]] : {{.*}} -> tensor<1x8x64xbf16, #b_s_axd>
// CHECK-NEXT: return %[[R]]
func.func @llama(%x: tensor<1x8x64xbf16, #bsh>, %y: tensor<1x8x32xbf16, #bsk>, %z: tensor<1x8x32xbf16, #bsk>,
    %cos: tensor<8x8xf32>, %sin: tensor<8x8xf32>) -> tensor<1x8x64xbf16, #bsh> {
  %q0 = act.reshape %x : tensor<1x8x64xbf16, #bsh> -> tensor<1x8x4x16xbf16, #bsad>
  %k0 = act.reshape %y : tensor<1x8x32xbf16, #bsk> -> tensor<1x8x2x16xbf16, #bskd>
  %v0 = act.reshape %z : tensor<1x8x32xbf16, #bsk> -> tensor<1x8x2x16xbf16, #bskd>
  %q1 = act.transpose %q0 [0, 2, 1, 3] : tensor<1x8x4x16xbf16, #bsad> -> tensor<1x4x8x16xbf16, #basd>
  %k1 = act.transpose %k0 [0, 2, 1, 3] : tensor<1x8x2x16xbf16, #bskd> -> tensor<1x2x8x16xbf16, #bksd>
  %v1 = act.transpose %v0 [0, 2, 1, 3] : tensor<1x8x2x16xbf16, #bskd> -> tensor<1x2x8x16xbf16, #bksd>
  %q = act.rope %q1, %cos, %sin heads_first : tensor<1x4x8x16xbf16, #basd>, tensor<8x8xf32>
  %k2 = act.rope %k1, %cos, %sin heads_first : tensor<1x2x8x16xbf16, #bksd>, tensor<8x8xf32>
  %k = act.expand %k2 : tensor<1x2x8x16xbf16, #bksd> -> tensor<1x4x8x16xbf16, #basd>
  %v = act.expand %v1 : tensor<1x2x8x16xbf16, #bksd> -> tensor<1x4x8x16xbf16, #basd>
  %s0 = act.matmul %q, %k transpose_rhs : (tensor<1x4x8x16xbf16, #basd>, tensor<1x4x8x16xbf16, #basd>) -> tensor<1x4x8x8xbf16, #bass>
  %s1 = act.scale %s0 by 0.25 : tensor<1x4x8x8xbf16, #bass>
  %m = act.causal_mask : tensor<8x8xi1>
  %c = act.constant dense<0xFF80> : tensor<bf16>
  %s2 = act.select %m, %s1, %c : (tensor<8x8xi1>, tensor<1x4x8x8xbf16, #bass>, tensor<bf16>) -> tensor<1x4x8x8xbf16, #bass>
  %s3 = act.cast %s2 : tensor<1x4x8x8xbf16, #bass> to tensor<1x4x8x8xf32, #bass>
  %p0 = act.softmax %s3 axis 3 : tensor<1x4x8x8xf32, #bass>
  %p = act.cast %p0 : tensor<1x4x8x8xf32, #bass> to tensor<1x4x8x8xbf16, #bass>
  %o = act.matmul %p, %v : (tensor<1x4x8x8xbf16, #bass>, tensor<1x4x8x16xbf16, #basd>) -> tensor<1x4x8x16xbf16, #basd>
  %o1 = act.transpose %o [0, 2, 1, 3] : tensor<1x4x8x16xbf16, #basd> -> tensor<1x8x4x16xbf16, #bsad>
  %r = act.reshape %o1 : tensor<1x8x4x16xbf16, #bsad> -> tensor<1x8x64xbf16, #bsh>
  return %r : tensor<1x8x64xbf16, #bsh>
}

// Dimensions known by name only.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[Q:.*]] = act.reshape %arg0
// CHECK-NEXT: act.attention %[[Q]], %[[Q]], %[[Q]] scale 1{{.*}} : {{.*}} -> tensor<?x?x4x16xf32, #b_s_4_16>
// CHECK-NOT: act.transpose
// CHECK: return
func.func @dynamic(%x: tensor<?x?x64xf32, #act.dims<b, s, 64>>) -> tensor<?x?x64xf32, #act.dims<b, s, 64>> {
  %0 = act.reshape %x : tensor<?x?x64xf32, #act.dims<b, s, 64>> -> tensor<?x?x4x16xf32, #act.dims<b, s, 4, 16>>
  %1 = act.transpose %0 [0, 2, 1, 3] : tensor<?x?x4x16xf32, #act.dims<b, s, 4, 16>> -> tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>>
  %s = act.matmul %1, %1 transpose_rhs : (tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>>, tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>>) -> tensor<?x4x?x?xf32, #act.dims<b, 4, s, s>>
  %p = act.softmax %s axis 3 : tensor<?x4x?x?xf32, #act.dims<b, 4, s, s>>
  %o = act.matmul %p, %1 : (tensor<?x4x?x?xf32, #act.dims<b, 4, s, s>>, tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>>) -> tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>>
  %2 = act.transpose %o [0, 2, 1, 3] : tensor<?x4x?x16xf32, #act.dims<b, 4, s, 16>> -> tensor<?x?x4x16xf32, #act.dims<b, s, 4, 16>>
  %3 = act.reshape %2 : tensor<?x?x4x16xf32, #act.dims<b, s, 4, 16>> -> tensor<?x?x64xf32, #act.dims<b, s, 64>>
  return %3 : tensor<?x?x64xf32, #act.dims<b, s, 64>>
}

// Two attentions, the second of the first's output; in a private function, too.
// CHECK-LABEL: func.func private @two
// CHECK: %[[A:.*]] = act.attention %arg0, %arg0, %arg0
// CHECK: act.attention %[[A]], %[[A]], %[[A]]
// CHECK-NOT: act.softmax
// CHECK: return
func.func private @two(%x: tensor<2x8x1x16xf32>) -> tensor<2x8x1x16xf32> {
  %0 = act.reshape %x : tensor<2x8x1x16xf32> -> tensor<2x8x16xf32>
  %s = act.matmul %0, %0 transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
  %p = act.softmax %s axis 2 : tensor<2x8x8xf32>
  %1 = act.matmul %p, %0 : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %t = act.matmul %1, %1 transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
  %r = act.softmax %t axis 2 : tensor<2x8x8xf32>
  %2 = act.matmul %r, %1 : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %3 = act.reshape %2 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  return %3 : tensor<2x8x1x16xf32>
}

// The fused op is where its parts were.
// LOC-LABEL: func.func @location
// LOC: act.attention {{.*}} loc(#[[FUSED:.*]])
// LOC-DAG: #[[QK:.*]] = loc("qk")
// LOC-DAG: #[[SM:.*]] = loc("probabilities")
// LOC-DAG: #[[PV:.*]] = loc("pv")
// LOC: #[[FUSED]] = loc(fused[#[[QK]], #[[SM]], #[[PV]]])
func.func @location(%x: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %s = act.matmul %x, %x transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32> loc("qk")
  %p = act.softmax %s axis 2 : tensor<2x8x8xf32> loc("probabilities")
  %o = act.matmul %p, %x : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32> loc("pv")
  return %o : tensor<2x8x16xf32>
}
