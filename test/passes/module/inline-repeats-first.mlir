// SPDX-License-Identifier: Apache-2.0
// Layers that are written out before they are differentiated.
// RUN: act-opt %S/../Inputs/three-layers.mlir --inline-repeats --autodiff -o %t.first.mlir
// RUN: FileCheck %s < %t.first.mlir
// RUN: act-opt %t.first.mlir --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: act-opt %S/../Inputs/three-layers.mlir --autodiff --inline-repeats --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: act-opt %S/../Inputs/three-layers.mlir --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: act-opt %S/../Inputs/three-layers.mlir --inline-repeats --remat=layer -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARNING
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=layer -o /dev/null 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: act-opt %S/../Inputs/three-layers.mlir --inline-repeats --remat=offload | FileCheck %s --check-prefix=OFFLOAD

// The gradient of a layer's border is one, so that no kernel of backward reaches
// across either. What backward reads of a layer is the value.
// CHECK-LABEL: func.func @grad
// CHECK-SAME: (%[[X:[^:]+]]:
// CHECK: %[[K:.+]] = act.kept %[[X]]
// CHECK: %[[N:.+]], %[[RSTD:.+]] = act.rms_norm %[[K]]
// CHECK: act.linear %[[N]]
// CHECK: act.phase "backward"
// CHECK: act.cross_entropy_grad
// CHECK: %[[D:.+]] = act.kept
// CHECK: act.activation_grad silu %[[D]]
// CHECK: act.kept
// CHECK: act.kept
// CHECK: act.norm_weight_grad %{{.+}}, %[[X]] rstd(%[[RSTD]])

// BYTES: "retained_bytes": 960
// BYTES: "peak_bytes": 988
// WARNING: warning: repeats no layers, so this policy of --remat changes nothing
// QUIET-NOT: warning
// Every value that crosses is moved.
// OFFLOAD: act.offload
// OFFLOAD: act.phase "backward"
// OFFLOAD-NOT: act.offload
// OFFLOAD: act.fetch
