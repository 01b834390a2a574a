// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --inline-repeats | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --inline-repeats | FileCheck %s

// One parameter per layer, under its own name; one layer after the other, with
// what enters and leaves kept, so that no kernel reaches across.
// CHECK-DAG: act.parameter @w.0 "layers.0.weight"
// CHECK-DAG: act.parameter @w.1 "layers.1.weight"
// CHECK-NOT: layers(
// CHECK-NOT: func.func private @layer
act.parameter @w "layers.{l}.weight" : tensor<4xf32> layers(2)
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
// CHECK: %[[K0:.+]] = act.kept %[[X]]
// CHECK: %[[W0:.+]] = act.param @w.0
// CHECK: %[[Y0:.+]] = act.mul %[[K0]], %[[W0]]
// CHECK: %[[K1:.+]] = act.kept %[[Y0]]
// CHECK: %[[W1:.+]] = act.param @w.1
// CHECK: %[[Y1:.+]] = act.mul %[[K1]], %[[W1]]
// CHECK: %[[K2:.+]] = act.kept %[[Y1]]
// CHECK: return %[[K2]]
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.repeat @layer count(L = 2) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A reverse repeat over part of the layers takes them from the last to the first.
act.parameter @w "layers.{l}.weight" : tensor<4xf32> layers(4)
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK: act.param @w.2
// CHECK: act.param @w.1
// CHECK-NOT: act.param
// CHECK: return
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.repeat @layer count(2) from(1) reverse carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The site of a dropout gets the layer's number: id + 65536 * (l + 1).
func.func private @layer(%l: i64, %x: tensor<4xf32>, %seed: i64, %step: i64) -> tensor<4xf32> {
  %s = act.site 3 layer(%l) : i64
  %0 = act.dropout %x p 0.5 rng(%seed, %step, %s) : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK: %[[S0:.+]] = act.site 65539
// CHECK: act.dropout {{.*}}, %[[S0]])
// CHECK: %[[S1:.+]] = act.site 131075
// CHECK: act.dropout {{.*}}, %[[S1]])
func.func @forward(%x: tensor<4xf32>, %seed: i64, %step: i64) -> tensor<4xf32> {
  %y = act.repeat @layer count(L = 2) carry(%x) shared(%seed, %step) : (tensor<4xf32>, i64, i64) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A stack becomes the values that its iterations made: the first layer's product
// is read by the last backward iteration.
func.func private @fwd(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = act.silu %x : tensor<4xf32>
  return %0, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @bwd(%d: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.activation_grad silu %d, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
// CHECK: %[[X0:.+]] = act.kept %[[X]]
// CHECK: %[[Y0:.+]] = act.silu %[[X0]]
// CHECK: %[[X1:.+]] = act.kept %[[Y0]]
// CHECK: act.silu %[[X1]]
// CHECK: %[[S1:.+]] = act.kept %[[X1]]
// CHECK: %[[D1:.+]] = act.activation_grad {{.*}}, %[[S1]]
// CHECK: %[[D:.+]] = act.kept %[[D1]]
// CHECK: %[[S0:.+]] = act.kept %[[X0]]
// CHECK: act.activation_grad silu %[[D]], %[[S0]]
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y, %s = act.repeat @fwd count(L = 2) carry(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  %d = act.repeat @bwd count(L = 2) reverse carry(%y) stack(%s) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// The manual's example.
act.parameter @w "layers.{l}.weight" : tensor<4xf32> layers(2)
func.func private @layer(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %arg0, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @forward(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.repeat @layer count(L = 2) carry(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// AFTER: act.parameter @w.0 "layers.0.weight" : tensor<4xf32>
// AFTER-NEXT: act.parameter @w.1 "layers.1.weight" : tensor<4xf32>
// AFTER: %0 = act.kept %arg0 : tensor<4xf32>
// AFTER-NEXT: %w.0 = act.param @w.0 : tensor<4xf32>
// AFTER-NEXT: %1 = act.mul %0, %w.0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// AFTER-NEXT: %2 = act.kept %1 : tensor<4xf32>
// AFTER-NEXT: %w.1 = act.param @w.1 : tensor<4xf32>
// AFTER-NEXT: %3 = act.mul %2, %w.1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// AFTER-NEXT: %4 = act.kept %3 : tensor<4xf32>
