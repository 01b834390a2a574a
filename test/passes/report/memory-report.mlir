// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --memory-report -o /dev/null | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %S/../Inputs/three-layers.mlir --memory-report -o %t.mlir > %t.txt
// RUN: FileCheck %s --check-prefix=TEXT < %t.txt
// RUN: act-opt %S/../Inputs/three-layers.mlir -o %t.same
// RUN: diff %t.mlir %t.same
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=layer --memory-report="format=json file=%t.json" -o /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: act-opt %S/../Inputs/three-layers.mlir --memory-report="format=html file=%t.html" -o /dev/null
// RUN: FileCheck %s --check-prefix=HTML < %t.html
// RUN: FileCheck %s --check-prefix=GRAPH < %t.json

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
// AFTER:   memory                           bytes
// AFTER-NEXT:   ─────────────────────  ────────  ─────  ──────────────────────
// AFTER-NEXT:   retained for backward     200 B    200
// AFTER-NEXT:   peak of activations       212 B    212
// AFTER: Formulas, in bytes
// AFTER-NEXT:   retained = 64*L + 8
// AFTER-NEXT:   peak     = 64*L + 20
// AFTER-NEXT:   with L = 3

// Per layer: x, the norm's output and the product, 96 bytes each, and a statistic
// of 24; x of the first layer is an input. The loss reads the last output and keeps
// a statistic. The report leaves the module as it is.
// TEXT: retained for backward {{.*}} 960
// TEXT: parameters 240 B
// TEXT: parameter gradients 240 B
// TEXT: optimizer state 480 B
// TEXT: inputs 120 B
// TEXT: retained = {{.*}}L

// JSON: "view": "act"
// JSON-DAG: "retained_bytes": 312
// JSON-DAG: "parameters_bytes": 240
// JSON-DAG: "variant": "layer"

// In the graph of a layer is what reads or makes values: no zeroed gradients.
// GRAPH: "graphs": [
// GRAPH-NOT: "label": "zero_grad
// GRAPH: "label": "linear

// HTML: {{<!(doctype|DOCTYPE) html>}}
// HTML-NOT: src="http
