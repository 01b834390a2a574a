// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --remat=layer | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=none | FileCheck %s --check-prefix=NONE
// RUN: act-opt %S/../Inputs/three-layers.mlir --autodiff --remat=layer | FileCheck %s --check-prefix=LAYER
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=selective | FileCheck %s --check-prefix=SELECTIVE
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=segments=2 | FileCheck %s --check-prefix=SEGMENTS
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=segments=3 | FileCheck %s --check-prefix=SINGLE
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=sqrt -o %t.sqrt
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=segments=2 -o %t.two
// RUN: sed s/segments=2/sqrt/ %t.two | diff %t.sqrt -

// The manual's example.
act.parameter @w "layers.{l}.weight" : tensor<4x4xf32> layers(3)
func.func private @layer(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.linear %arg0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = act.silu %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
func.func @forward(%arg0: tensor<2x4xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
  %0 = act.repeat @layer count(L = 3) carry(%arg0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss = act.cross_entropy %0, %arg1 ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// AFTER: func.func private @layer.fwd(%arg0: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
// AFTER:   return %1, %arg0 : tensor<2x4xf32>, tensor<2x4xf32>
// AFTER-NEXT: }
// AFTER-NEXT: func.func private @layer.bwd(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x4xf32> {
// AFTER-NEXT:   %w = act.param @w : tensor<4x4xf32>
// AFTER-NEXT:   %0 = act.linear %arg1, %w {act.recompute} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// AFTER-NEXT:   %1 = act.activation_grad silu %arg0, %0 : tensor<2x4xf32>

// Everything that backward mentions is saved, and nothing runs twice.
// NONE-NOT: {act.recompute}
// NONE: %[[NORMED:.+]], %[[RSTD:.+]] = act.rms_norm %[[X:.+]], %
// NONE: %[[Z:.+]] = act.linear %[[NORMED]]
// NONE: return %{{.+}}, %[[Z]], %[[NORMED]], %[[X]], %[[RSTD]] :
// NONE-NOT: {act.recompute}

// Only the input of a layer is saved. The last product and what follows it are
// not run again: nobody needs them.
// LAYER-LABEL: func.func private @layer.fwd
// LAYER-SAME: (%[[X:[^:]+]]:
// LAYER: return %{{.+}}, %[[X]] : tensor<2x3x4xf32, {{.+}}>, tensor<2x3x4xf32, {{[^>]+}}>{{$}}
// LAYER-LABEL: func.func private @layer.bwd
// LAYER-SAME: (%[[DY:[^:]+]]: {{[^%]+}}%[[X:[^:]+]]:
// LAYER: %[[NORMED:.+]], %[[RSTD:.+]] = act.rms_norm %[[X]], {{.*}} {act.recompute}
// LAYER: %[[Z:.+]] = act.linear %[[NORMED]], {{.*}} {act.recompute}
// LAYER-NEXT: act.activation_grad silu %[[DY]], %[[Z]]
// LAYER-NOT: act.recompute
// LAYER: act.rms_norm_grad {{.*}}, %[[RSTD]] :

// The product is kept; the norm's output is made again from its input, with the
// row statistics kept.
// SELECTIVE-LABEL: func.func private @layer.fwd
// SELECTIVE-SAME: (%[[X:[^:]+]]:
// SELECTIVE: %{{.+}}, %[[RSTD:.+]] = act.rms_norm %[[X]]
// SELECTIVE: %[[Z:.+]] = act.linear
// SELECTIVE: return %{{.+}}, %[[Z]], %[[X]], %[[RSTD]] :
// SELECTIVE-LABEL: func.func private @layer.bwd
// SELECTIVE-SAME: (%[[DY:[^:]+]]: {{[^%]+}}%[[Z:[^:]+]]: {{[^%]+}}%[[X:[^:]+]]: {{[^%]+}}%[[RSTD:[^:]+]]:
// SELECTIVE: %[[NORMED:.+]], %{{.+}} = act.rms_norm %[[X]], {{.*}} {act.recompute}
// SELECTIVE: act.rms_norm_grad {{.*}}, %[[RSTD]] :
// The loss that is returned is the one that forward made.
// SELECTIVE-LABEL: func.func @grad
// SELECTIVE: %[[LOSS:.+]], %{{.+}} = act.cross_entropy
// SELECTIVE: act.phase "backward"
// SELECTIVE-NOT: act.cross_entropy %
// SELECTIVE: return %[[LOSS]]

// 3 layers in 2 segments: cut at round(1 * 3 / 2) = 2. Forward keeps the inputs of
// the segments; backward runs a segment again up to its last layer, which
// recomputes for itself.
// SEGMENTS-LABEL: func.func @grad
// SEGMENTS-SAME: (%[[X:[^:]+]]:
// SEGMENTS: %[[A:.+]] = act.repeat @layer.fwd.plain count(2) carry(%[[X]])
// SEGMENTS: act.repeat @layer.fwd.plain count(1) from(2) carry(%[[A]])
// SEGMENTS: act.phase "backward"
// SEGMENTS: %[[KA:.+]] = act.kept %[[A]]
// SEGMENTS: %[[SA:.+]] = act.reshape %[[KA]]
// SEGMENTS: %[[D2:.+]] = act.repeat @layer.bwd.recompute count(1) from(2) reverse {{.*}} stack(%[[SA]])
// SEGMENTS: %[[KX:.+]] = act.kept %[[X]]
// SEGMENTS: %[[R:.+]]:5 = act.repeat @layer.fwd count(1) carry(%[[KX]]) {act.recompute}
// SEGMENTS: %[[S1:.+]] = act.reshape %[[R]]#0
// SEGMENTS: %[[D1:.+]] = act.repeat @layer.bwd.recompute count(1) from(1) reverse carry(%[[D2]]) stack(%[[S1]])
// SEGMENTS: act.repeat @layer.bwd count(1) reverse carry(%[[D1]]) stack(%[[R]]#1, %[[R]]#2, %[[R]]#3, %[[R]]#4)

// One layer to a segment: no layer is run with saved values, and the functions
// for that are gone.
// SINGLE-NOT: @layer.fwd(
// SINGLE-NOT: @layer.bwd(
// SINGLE: func.func private @layer.fwd.plain
// SINGLE-NOT: @layer.fwd(
// SINGLE-NOT: @layer.bwd(
// SINGLE: func.func private @layer.bwd.recompute
