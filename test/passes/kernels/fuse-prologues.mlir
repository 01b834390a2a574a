// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --fuse-prologues --form-kernels | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --fuse-prologues --form-kernels | FileCheck %s
// RUN: act-opt %s --split-input-file --fuse-prologues --form-kernels -o %t.mlir
// RUN: not act-opt %t.mlir --split-input-file --fuse-prologues 2>&1 | FileCheck %s --check-prefix=LATE

// The manual's example.
act.parameter @w "w" : tensor<4x4xf32>
func.func @forward(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.silu %arg0 : tensor<2x4xf32>
  %1 = act.linear %0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
// AFTER: %0 = act.group "linear.w" (%arg1 = %arg0 : tensor<2x4xf32>, %arg2 = %w : tensor<4x4xf32>) -> tensor<2x4xf32> {
// AFTER-NEXT:   %1 = act.silu %arg1 : tensor<2x4xf32>
// AFTER-NEXT:   %2 = act.linear %1, %arg2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// AFTER-NEXT:   act.yield %2 : tensor<2x4xf32>
// AFTER-NEXT: }

// -----

// LATE: already has kernels; --fuse-prologues must come before --form-kernels

// Of a norm a kernel computes the statistics, each product its rows. x is in
// memory for the residual anyhow.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>)
// CHECK: %[[R:.+]] = act.group "rms_norm.g" (
// CHECK: %{{.+}}, %[[S:.+]] = act.rms_norm
// CHECK-NEXT: act.yield %[[S]] : tensor<4xf32>
// CHECK: act.group "linear.w" (%[[A:.+]] = %[[X]] : {{.+}}, %[[G:.+]] = %g : {{.+}}, %[[B:.+]] = %[[R]] : {{.+}}, %[[W:.+]] = %w :
// CHECK-NEXT: %[[N:.+]] = act.normalize %[[A]], %[[G]] rstd(%[[B]])
// CHECK-NEXT: act.linear %[[N]], %[[W]]
// CHECK: act.group "linear.v" (
// CHECK-NEXT: act.normalize
// CHECK-NEXT: act.linear
// CHECK-NEXT: act.add
// CHECK-NOT: act.group
act.parameter @g "g" : tensor<8xf32>
act.parameter @w "w" : tensor<16x8xf32>
act.parameter @v "v" : tensor<8x8xf32>
func.func @norm(%x: tensor<4x8xf32>) -> (tensor<4x16xf32>, tensor<4x8xf32>) {
  %g = act.param @g : tensor<8xf32>
  %w = act.param @w : tensor<16x8xf32>
  %v = act.param @v : tensor<8x8xf32>
  %n = act.rms_norm %x, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = act.linear %n, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = act.linear %n, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = act.add %1, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %2 : tensor<4x16xf32>, tensor<4x8xf32>
}

// -----

// The same of a norm with a mean and a bias.
// CHECK-LABEL: func.func @layer_norm
// CHECK: %[[S:.+]]:2 = act.group "layer_norm.b"
// CHECK: act.group "linear.w" ({{.+}} = %[[S]]#0 : {{.+}} = %[[S]]#1 :
// CHECK-NEXT: act.normalize %{{.+}}, %{{.+}} mean(%{{.+}}) rstd(%{{.+}}) bias(%{{.+}})
// CHECK-NEXT: act.linear
// CHECK-NOT: act.group
act.parameter @g "g" : tensor<8xf32>
act.parameter @b "b" : tensor<8xf32>
act.parameter @w "w" : tensor<8x8xf32>
func.func @layer_norm(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %g = act.param @g : tensor<8xf32>
  %b = act.param @b : tensor<8xf32>
  %w = act.param @w : tensor<8x8xf32>
  %n = act.layer_norm %x, %g, %b eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = act.linear %n, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = act.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Nobody needs x afterwards: its memory would be needed as long as the result's
// is, and the statistics'. The norm stays what it is.
// CHECK-LABEL: func.func @last
// CHECK: act.group "rms_norm.g"
// CHECK-NEXT: %[[N:.+]] = act.rms_norm
// CHECK-NEXT: act.yield %[[N]] : tensor<4x8xf32>
// CHECK-NOT: act.normalize
act.parameter @g "g" : tensor<8xf32>
act.parameter @w "w" : tensor<16x8xf32>
func.func @last(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %g = act.param @g : tensor<8xf32>
  %w = act.param @w : tensor<16x8xf32>
  %n = act.rms_norm %x, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = act.linear %n, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Others than products read the result.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: act.group "rms_norm.g"
// CHECK-NOT: act.normalize
// CHECK: act.group "silu"
// CHECK-NEXT: act.silu
act.parameter @g "g" : tensor<8xf32>
act.parameter @w "w" : tensor<8x8xf32>
func.func @read_elsewhere(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %g = act.param @g : tensor<8xf32>
  %w = act.param @w : tensor<8x8xf32>
  %n = act.rms_norm %x, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = act.linear %n, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = act.add %0, %n : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = act.silu %x : tensor<4x8xf32>
  %3 = act.softmax %2 axis 1 : tensor<4x8xf32>
  %4 = act.linear %2, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = act.add %4, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Elementwise ops, each of both products' kernels, behind views as well; two
// operands instead of one result would be more.
// CHECK-LABEL: func.func @elementwise
// CHECK: act.group "matmul"
// CHECK: act.silu
// CHECK: act.cast
// CHECK: act.reshape
// CHECK: act.matmul
// CHECK: act.group "matmul"
// CHECK: act.silu
// CHECK: act.cast
// CHECK: act.matmul
// CHECK: act.group "mul"
// CHECK-NEXT: act.mul
// CHECK: act.group "matmul"
// CHECK-NEXT: act.matmul
func.func @elementwise(%x: tensor<2x4x8xbf16>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>, %g: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x4x4xf32>, tensor<8x4xf32>) {
  %0 = act.silu %x : tensor<2x4x8xbf16>
  %1 = act.cast %0 : tensor<2x4x8xbf16> to tensor<2x4x8xf32>
  %2 = act.reshape %1 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %3 = act.matmul %2, %g : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = act.matmul %1, %g : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %5 = act.mul %y, %z : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = act.matmul %5, %g : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %3, %4, %6 : tensor<8x4xf32>, tensor<2x4x4xf32>, tensor<8x4xf32>
}

// -----

// Dropout, whose operands are not all tensors.
// CHECK-LABEL: func.func @dropout
// CHECK: act.group "matmul"
// CHECK-NEXT: %[[D:.+]] = act.dropout
// CHECK-NEXT: act.matmul %[[D]]
// CHECK-NOT: act.group
func.func @dropout(%x: tensor<8x8xf32>, %g: tensor<8x4xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<8x4xf32> {
  %0 = act.dropout %x p 1.0e-1 rng(%seed, %step, %site) : tensor<8x8xf32>
  %1 = act.matmul %0, %g : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Backward makes the norm again, of the statistics that its gradient has.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME: %{{.+}}: tensor<4x8xf32>, %[[KEPT:.+]]: tensor<4xf32>,
// CHECK-NOT: act.group "rms_norm.g"
// CHECK: act.group "matmul" ({{.+}} = %[[KEPT]] :
// CHECK-NEXT: act.normalize
// CHECK-NEXT: act.matmul
act.parameter @g "g" : tensor<8xf32>
act.parameter @w "w" : tensor<8x8xf32>
func.func @kept(%x: tensor<4x8xf32>, %rstd: tensor<4xf32>, %dy: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %g = act.param @g : tensor<8xf32>
  %n = act.rms_norm %x, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %dw = act.matmul %dy, %n transpose_lhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %dx = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  %o = act.rms_norm %dx, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %dw, %dx, %o : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// There is another epsilon: these statistics may be of that one.
// CHECK-LABEL: func.func @two_epsilons(
// CHECK: %[[OWN:.+]] = act.group "rms_norm.g"
// CHECK: act.group "matmul" ({{.+}} = %[[OWN]] :
// CHECK-NEXT: act.normalize
act.parameter @g "g" : tensor<8xf32>
act.parameter @w "w" : tensor<8x8xf32>
func.func @two_epsilons(%x: tensor<4x8xf32>, %rstd: tensor<4xf32>, %dy: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %g = act.param @g : tensor<8xf32>
  %n = act.rms_norm %x, %g eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %dw = act.matmul %dy, %n transpose_lhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %dx = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  %o = act.rms_norm %dx, %g eps 1.0e-6 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %dw, %dx, %o : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
