// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --form-kernels | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --form-kernels | FileCheck %s

// The manual's example.
act.parameter @w "w" : tensor<4x4xf32>
func.func @forward(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %arg0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = act.silu %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
// AFTER: %0 = act.group "linear.w" (%arg1 = %arg0 : tensor<2x4xf32>, %arg2 = %w : tensor<4x4xf32>) -> tensor<2x4xf32> {
// AFTER-NEXT:   %1 = act.linear %arg1, %arg2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// AFTER-NEXT:   %2 = act.silu %1 : tensor<2x4xf32>
// AFTER-NEXT:   act.yield %2 : tensor<2x4xf32>
// AFTER-NEXT: }

// -----

// Elementwise ops follow the product in its kernel; the last result alone is
// materialised.
act.parameter @w "w" : tensor<4x4xf32>
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = act.silu %0 : tensor<2x4xf32>
  %2 = act.add %1, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
// CHECK: %[[Y:.+]] = act.group "linear.w" (
// CHECK: %[[L:.+]] = act.linear
// CHECK: %[[S:.+]] = act.silu %[[L]]
// CHECK: %[[A:.+]] = act.add %[[S]]
// CHECK: act.yield %[[A]] :
// CHECK-NOT: act.group
// CHECK: return %[[Y]]

// -----

// A value that somebody else reads is yielded, too.
act.parameter @w "w" : tensor<4x4xf32>
// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = act.silu %0 : tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK: %[[G:.+]]:2 = act.group
// CHECK: act.yield %[[L:.+]], %[[S:.+]] :
// CHECK: return %[[G]]#0, %[[G]]#1

// -----

// Reading through views belongs to the kernel that reads.
// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = act.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = act.matmul %0, %y : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
// CHECK-NEXT: act.group "matmul" (%[[X:.+]] = %{{.+}} : tensor<2x3xf32>, %{{.+}} = %{{.+}})
// CHECK: %[[T:.+]] = act.transpose %[[X]]
// CHECK: act.matmul %[[T]]

// -----

// An op between the kernel and its reader that reads the kernel's result: joining
// would be a cycle.
// CHECK-LABEL: func.func @no_cycle
func.func @no_cycle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = act.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = act.softmax %0 axis 1 : tensor<4x4xf32>
  %2 = act.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
// CHECK: %[[M:.+]] = act.group "matmul"
// CHECK: act.yield
// CHECK: %[[S:.+]] = act.group "softmax" (%{{.+}} = %[[M]] :
// CHECK: act.yield
// CHECK: act.group "mul" (

// -----

// What backward recomputes does not become part of a forward kernel.
// CHECK-LABEL: func.func @phases
func.func @phases(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = act.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  act.phase "backward"
  %1 = act.silu %0 {act.recompute} : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
// CHECK: %[[M:.+]] = act.group "matmul"
// CHECK: act.phase "backward"
// CHECK: act.group "silu" (%{{.+}} = %[[M]] : {{.*}}inplace [0]

// -----

// A gradient is added where it is made.
act.parameter @w "w" : tensor<4x4xf32>
// CHECK-LABEL: func.func @accumulate
func.func @accumulate(%x: tensor<2x4xf32>, %dy: tensor<2x4xf32>) {
  %0 = act.matmul %dy, %x transpose_lhs : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  act.accumulate @w, %0 : tensor<4x4xf32>
  return
}
// CHECK: act.group "matmul.w" (
// CHECK: %[[D:.+]] = act.matmul
// CHECK: act.accumulate @w, %[[D]]
// CHECK-NEXT: act.yield{{$}}

// -----

// The gradients of a norm's weight and bias go over the rows that the gradient of
// its input goes over. What comes after that is in the kernel, too; what needs one
// of the sums is not.
act.parameter @g "g" : tensor<64xf32>
act.parameter @b "b" : tensor<64xf32>
// CHECK-LABEL: func.func @norm_gradients
func.func @norm_gradients(%dy: tensor<2x4x64xf32>, %x: tensor<2x4x64xf32>, %m: tensor<2x4xf32>, %r: tensor<2x4xf32>, %d: tensor<2x4x64xf32>) -> (tensor<2x4x64xf32>, tensor<2x4x64xf32>) {
  %g = act.param @g : tensor<64xf32>
  %0 = act.layer_norm_grad %dy, %x, %g, %m, %r : (tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<64xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4x64xf32>
  %1 = act.norm_weight_grad %dy, %x mean(%m) rstd(%r) : (tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<64xf32>
  %rows = act.reshape %dy : tensor<2x4x64xf32> -> tensor<8x64xf32>
  %2 = act.sum_to %rows : tensor<8x64xf32> -> tensor<1x64xf32>
  %3 = act.reshape %2 : tensor<1x64xf32> -> tensor<64xf32>
  act.accumulate @g, %1 : tensor<64xf32>
  act.accumulate @b, %3 : tensor<64xf32>
  %4 = act.add %0, %d : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  %5 = act.mul %4, %3 : (tensor<2x4x64xf32>, tensor<64xf32>) -> tensor<2x4x64xf32>
  return %4, %5 : tensor<2x4x64xf32>, tensor<2x4x64xf32>
}
// CHECK: %[[G:.+]]:2 = act.group "layer_norm_grad.b" ({{.*}}) workspace(tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK: act.layer_norm_grad
// CHECK-NEXT: %[[W:.+]] = act.norm_weight_grad
// CHECK: %[[S:.+]] = act.sum_to
// CHECK: act.accumulate @g, %[[W]]
// CHECK: act.accumulate @b
// CHECK: %[[A:.+]] = act.add
// CHECK: act.yield %[[S]], %[[A]]
// CHECK: act.group "mul" (

// -----

// Of other rows, or in rows that no program of a GPU has whole, they are kernels of
// their own.
// CHECK-LABEL: func.func @other_rows
func.func @other_rows(%dy: tensor<2x64xf32>, %x: tensor<2x64xf32>, %g: tensor<64xf32>, %r: tensor<2xf32>, %dz: tensor<2x64xf32>) -> (tensor<2x64xf32>, tensor<64xf32>) {
  %0 = act.rms_norm_grad %dy, %x, %g, %r : (tensor<2x64xf32>, tensor<2x64xf32>, tensor<64xf32>, tensor<2xf32>) -> tensor<2x64xf32>
  %1 = act.norm_weight_grad %dz, %x rstd(%r) : (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<2x64xf32>, tensor<64xf32>
}
// CHECK: act.group "rms_norm_grad"
// CHECK: act.group "norm_weight_grad"

// -----

// Memory is taken over only from an operand that dies, and that is read at the
// element that is written.
// CHECK-LABEL: func.func @inplace
func.func @inplace(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = act.softmax %x axis 1 : tensor<4x4xf32>
  %1 = act.silu %0 : tensor<4x4xf32>
  %2 = act.softmax %1 axis 0 : tensor<4x4xf32>
  %3 = act.silu %0 : tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK: act.group "softmax" (%{{.+}} = %{{.+}} : tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK: act.group "silu" (%{{.+}} = %{{.+}} : tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK: act.group "softmax" (%{{.+}} = %{{.+}} : tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK: act.group "silu" (%{{.+}} = %{{.+}} : tensor<4x4xf32>) inplace [0] ->

// -----

// The fused loss is a loop over chunks of tokens.
act.parameter @w "w" : tensor<8x4xf32>
// CHECK-LABEL: func.func private @loss.chunk
// CHECK-SAME: tensor<16x4xf32>
// CHECK: act.linear
// CHECK-LABEL: func.func @chunks
func.func @chunks(%x: tensor<48x4xf32>, %l: tensor<48xi32>) -> tensor<f32> {
  %w = act.param @w : tensor<8x4xf32>
  %0 = act.linear_cross_entropy %x, %w, %l ignore -100 reduction mean chunk 16 : (tensor<48x4xf32>, tensor<8x4xf32>, tensor<48xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: act.repeat @loss.chunk count(3)

// -----

// Tokens that are left over are a smaller chunk. Both are places in the operands.
act.parameter @w "w" : tensor<8x4xf32>
// CHECK-LABEL: func.func private @loss.chunk
// CHECK-SAME: tensor<16x4xf32>
// CHECK-LABEL: func.func @rest
func.func @rest(%x: tensor<37x4xf32>, %l: tensor<37xi32>) -> tensor<f32> {
  %w = act.param @w : tensor<8x4xf32>
  %0 = act.linear_cross_entropy %x, %w, %l ignore -100 reduction sum chunk 17 : (tensor<37x4xf32>, tensor<8x4xf32>, tensor<37xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: %[[X:.+]]:2 = act.split %{{.+}} : tensor<148xf32> -> tensor<128xf32>, tensor<20xf32>
// CHECK: %[[C:.+]] = act.reshape %[[X]]#0 : tensor<128xf32> -> tensor<2x16x4xf32>
// CHECK: act.repeat @loss.chunk count(2) {{.*}} stack(%[[C]],
// CHECK: act.group "linear.w" (%{{.+}} = %[[X]]#1 : tensor<20xf32>, {{.*}}) -> tensor<5x8xf32>

// -----

// The loss of tokens is a kernel over rows, their sum one of its own.
// CHECK-LABEL: func.func @sum_of_losses
func.func @sum_of_losses(%x: tensor<6x8xf32>, %l: tensor<6xi32>) -> tensor<f32> {
  %0 = act.cross_entropy %x, %l ignore -100 reduction mean : (tensor<6x8xf32>, tensor<6xi32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: act.group "cross_entropy" ({{.*}}) -> tensor<6xf32>
// CHECK: act.cross_entropy {{.*}} reduction none
// CHECK: act.group "sum_to" ({{.*}}) -> tensor<1xf32>
// CHECK: act.group "label_count"
// CHECK: act.group "div"

// -----

// Both results are computed from the softmax's: neither may overwrite it.
// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = act.softmax %x axis 0 : tensor<4xf32>
  %1 = act.silu %0 : tensor<4xf32>
  %2 = act.mul %1, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: act.group "softmax"
// CHECK: act.group "silu" (%{{.+}} = %{{.+}} : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {

// -----

// A slice is read where it is, so what is cut has memory, though nobody reads
// all of it.
// CHECK-LABEL: func.func @cut
func.func @cut(%x: tensor<8x1x16xf32>) -> tensor<64xf32> {
  %0 = act.expand %x : tensor<8x1x16xf32> -> tensor<8x3x16xf32>
  %1 = act.reshape %0 : tensor<8x3x16xf32> -> tensor<384xf32>
  %2:2 = act.split %1 : tensor<384xf32> -> tensor<64xf32>, tensor<320xf32>
  %3 = act.gelu %2#0 : tensor<64xf32>
  return %3 : tensor<64xf32>
}
// CHECK: %[[E:.+]] = act.group "expand" ({{.*}}) -> tensor<8x3x16xf32>
// CHECK: %[[R:.+]] = act.reshape %[[E]]
// CHECK: act.split %[[R]]
// CHECK: act.group "gelu"
