// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --autodiff | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --autodiff | FileCheck %s

// The manual's example.
act.parameter @w "w" : tensor<4x8xf32>
func.func @forward(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
  %w = act.param @w : tensor<4x8xf32>
  %0 = act.linear %arg0, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %loss = act.cross_entropy %0, %arg1 ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// AFTER: func.func @grad(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
// AFTER-NEXT:   %w = act.param @w : tensor<4x8xf32>
// AFTER-NEXT:   %0 = act.linear %arg0, %w : {{.*}}
// AFTER-NEXT:   %loss, %lse = act.cross_entropy %0, %arg1 ignore -100 reduction mean : {{.*}}
// AFTER-NEXT:   act.phase "backward"
// AFTER-NEXT:   %1 = act.constant dense<1.000000e+00> : tensor<f32> {act.loss_scale}
// AFTER-NEXT:   %2 = act.cross_entropy_grad %1, %0, %arg1, %lse ignore -100 reduction mean : {{.*}}
// AFTER-NEXT:   %3 = act.matmul %2, %arg0 transpose_lhs : {{.*}}
// AFTER-NEXT:   act.accumulate @w, %3 : tensor<4x8xf32>
// AFTER-NEXT:   return %loss : tensor<f32>
// AFTER-NEXT: }

// -----

// A layer becomes a pair; what a gradient mentions is saved, once.
act.parameter @w "layers.{l}.weight" : tensor<4x4xf32> layers(3)
func.func private @layer(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = act.silu %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
// CHECK-LABEL: func.func private @layer.fwd
// CHECK-SAME: (%[[X:.+]]: tensor<2x4xf32>)
// CHECK: %[[Z:.+]] = act.linear %[[X]]
// CHECK: %[[Y:.+]] = act.silu %[[Z]]
// CHECK: return %[[Y]], %[[Z]], %[[X]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-LABEL: func.func private @layer.bwd
// CHECK-SAME: (%[[DY:.+]]: tensor<2x4xf32>, %[[Z:.+]]: tensor<2x4xf32>, %[[X:.+]]: tensor<2x4xf32>)
// CHECK: %[[DZ:.+]] = act.activation_grad silu %[[DY]], %[[Z]]
// CHECK-NEXT: %[[DW:.+]] = act.matmul %[[DZ]], %[[X]] transpose_lhs
// CHECK-NEXT: act.accumulate @w, %[[DW]]
// CHECK: %[[DX:.+]] = act.matmul %[[DZ]]
// CHECK: return %[[DX]]
func.func @forward(%x: tensor<2x4xf32>, %l: tensor<2xi32>) -> tensor<f32> {
  %y = act.repeat @layer count(L = 3) carry(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss = act.cross_entropy %y, %l ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// The backward repeat runs in reverse and takes the stacks.
// CHECK-LABEL: func.func @grad
// CHECK: %[[F:.+]]:3 = act.repeat @layer.fwd count(L = 3)
// CHECK: %[[LOSS:.+]], %[[LSE:.+]] = act.cross_entropy %[[F]]#0
// CHECK: act.phase "backward"
// CHECK: %[[ONE:.+]] = act.constant dense<1.0{{.*}}> : tensor<f32> {act.loss_scale}
// CHECK: %[[G:.+]] = act.cross_entropy_grad %[[ONE]], %[[F]]#0, {{.*}}, %[[LSE]]
// CHECK: act.repeat @layer.bwd count(L = 3) reverse carry(%[[G]]) stack(%[[F]]#1, %[[F]]#2)
// CHECK: return %[[LOSS]]

// -----

// The gradients of a value that is used twice are added, in a fixed order.
act.parameter @w "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>, %l: tensor<i32>) -> tensor<f32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = act.silu %0 : tensor<4xf32>
  %2 = act.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = act.sum_to %2 : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-LABEL: func.func @grad
// CHECK: act.phase "backward"
// CHECK: %[[D:.+]] = act.expand
// CHECK: %[[DS:.+]] = act.activation_grad silu %[[D]]
// CHECK: %[[SUM:.+]] = act.add %[[D]], %[[DS]]
// CHECK: %[[DW:.+]] = act.mul {{.*}}%[[SUM]]
// CHECK: act.accumulate @w, %[[DW]]

// -----

// A frozen parameter gets no gradient, and nothing is saved for it.
act.parameter @w "w" : tensor<4x4xf32> frozen
act.parameter @v "v" : tensor<4x4xf32>
func.func @forward(%x: tensor<2x4xf32>, %l: tensor<2xi32>) -> tensor<f32> {
  %v = act.param @v : tensor<4x4xf32>
  %0 = act.linear %x, %v : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %w = act.param @w : tensor<4x4xf32>
  %1 = act.linear %0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %loss = act.cross_entropy %1, %l ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-LABEL: func.func @grad
// CHECK-NOT: act.accumulate @w
// CHECK: act.accumulate @v
// CHECK-NOT: act.accumulate @w
// CHECK: return

// -----

// A mask is made again instead of being saved.
act.parameter @w "layers.{l}.weight" : tensor<3x3xf32> layers(2)
func.func private @layer(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %w = act.param @w : tensor<3x3xf32>
  %0 = act.linear %x, %w : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %m = act.causal_mask : tensor<3x3xi1>
  %never = act.constant dense<0.0> : tensor<f32>
  %1 = act.select %m, %0, %never : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  return %1 : tensor<3x3xf32>
}
func.func @forward(%x: tensor<3x3xf32>, %l: tensor<3xi32>) -> tensor<f32> {
  %y = act.repeat @layer count(L = 2) carry(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %loss = act.cross_entropy %y, %l ignore -100 reduction mean : (tensor<3x3xf32>, tensor<3xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-LABEL: func.func private @layer.fwd
// CHECK: %[[Y:.+]] = act.select
// CHECK: return %[[Y]], %{{.+}} : tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-LABEL: func.func private @layer.bwd
// CHECK: %[[M:.+]] = act.causal_mask
// CHECK: act.select %[[M]]
