// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %S/Inputs/three-layers.mlir --memory-report -o %t.mlir > %t.txt
// RUN: FileCheck %s --check-prefix=TEXT < %t.txt
// RUN: act-opt %S/Inputs/three-layers.mlir -o %t.same
// RUN: diff %t.mlir %t.same
// RUN: act-opt %S/Inputs/three-layers.mlir --remat=layer --memory-report="format=json file=%t.json" -o /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: act-opt %S/Inputs/three-layers.mlir --memory-report="format=html file=%t.html" -o /dev/null
// RUN: FileCheck %s --check-prefix=HTML < %t.html
// RUN: FileCheck %s --check-prefix=GRAPH < %t.json
// RUN: act-opt %s --memory-report="dims=b=2 file=-" -o /dev/null | FileCheck %s --check-prefix=DIMS
// RUN: act-opt %s --memory-report="dims=b=2,z=3" -o /dev/null | FileCheck %s --check-prefix=DIMS
// RUN: act-opt %s --memory-report="dims=b=6 file=-" -o /dev/null | FileCheck %s --check-prefix=MORE

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

// Letters that are dynamic get sizes.
// DIMS: arena (planned) {{.*}} 64
// DIMS: lower bound {{.*}} 64
// MORE: arena (planned) {{.*}} 128
// MORE: lower bound {{.*}} 128
func.func @forward(%x: tensor<?x4xf32, #act.dims<b, h>>) -> tensor<?x4xf32, #act.dims<b, h>> {
  %0 = act.softmax %x axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  %1 = act.softmax %0 axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  return %1 : tensor<?x4xf32, #act.dims<b, h>>
}
