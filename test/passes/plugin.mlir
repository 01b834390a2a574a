// SPDX-License-Identifier: Apache-2.0
// The distribution's mlir-opt with the plugin is act-opt. Pass flags of a plugin
// are unknown to it; pipelines are not.
// RUN: act-opt %S/Inputs/three-layers.mlir --fuse-attention --remat=selective --write-step --form-kernels --plan-memory -o %t.act
// RUN: mlir-opt %S/Inputs/three-layers.mlir --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline='builtin.module(fuse-attention,remat{policy=selective},write-step,form-kernels,plan-memory)' -o %t.plugin
// RUN: diff %t.act %t.plugin
// RUN: FileCheck %s < %t.plugin
// CHECK: act.plan
// CHECK: act.group

// Its errors are act's, and do not print the module.
// RUN: not mlir-opt %S/Inputs/three-layers.mlir --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline='builtin.module(remat{policy=all})' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: unknown remat policy 'all'
// ERROR-NOT: func.func
// RUN: not mlir-opt %S/Inputs/three-layers.mlir --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline='builtin.module(remat{policy=segments=9})' 2>&1 | FileCheck %s --check-prefix=SEGMENTS
// SEGMENTS: error: cannot be cut into 9 segments
// SEGMENTS-NOT: act.matmul
