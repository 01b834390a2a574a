// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=budget=1MB | FileCheck %s --check-prefix=ROOM
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=none --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=NONE
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=budget=800 -o %t.mlir
// RUN: FileCheck %s --check-prefix=MIXED < %t.mlir
// RUN: act-opt %t.mlir --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: act-opt %s --device-memory=600B | FileCheck %s --check-prefix=DEVICE
// RUN: act-opt %s --remat=budget=fit:0.6kB --device-memory=1GB | FileCheck %s --check-prefix=DEVICE
// RUN: act-opt %s --remat=layer --device-memory=500 2>&1 | FileCheck %s --check-prefix=WARN
// RUN: act-opt %s --remat="policy=budget=300 rates=sm_90a effort=100" | FileCheck %s --check-prefix=BODY
// RUN: not act-opt %s --remat=budget=100 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not act-opt %s --remat=budget=fit:100 2>&1 | FileCheck %s --check-prefix=NOFIT
// RUN: not act-opt %s --remat=budget=fit 2>&1 | FileCheck %s --check-prefix=HOWMUCH
// RUN: not act-opt %s --remat=budget=24gb 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not act-opt %s --remat=budget=1kB --device-memory=much 2>&1 | FileCheck %s --check-prefix=DEVUNIT
// RUN: not act-opt %s --remat="policy=budget=1kB rates=fast" 2>&1 | FileCheck %s --check-prefix=RATES
// RUN: not act-opt %s --remat="policy=budget=1kB effort=1" 2>&1 | FileCheck %s --check-prefix=EFFORT
// RUN: not act-opt %s --remat=budget=300 --remat=layer 2>&1 | FileCheck %s --check-prefix=TWICE

// With room for everything, nothing changes.
// ROOM: act.remat_result = "peak {{.*}} of 1 MB, recompute +0.00 %, optimal within 0.00 %"
// ROOM-NOT: {act.recompute}
// ROOM: act.repeat @layer.fwd count(L = 3)
// ROOM-NOT: {act.recompute}
// NONE: "peak_bytes": [[PEAK:[0-9]+]],

// Some layers recompute, and stand in front; the others keep.
// MIXED: act.remat_result = "peak {{.*}} of 800 bytes, recompute +
// MIXED: func.func private @layer.fwd.1
// MIXED: func.func private @layer.bwd.1
// MIXED: act.recompute
// MIXED: %[[A:.+]]:{{[0-9]+}} = act.repeat @layer.fwd.1 count([[N:1|2]])
// MIXED: act.repeat @layer.fwd{{.*}} count({{[12]}}) from([[N]]) carry(%[[A]]#0)
// MIXED: act.phase "backward"
// MIXED: act.repeat @layer.bwd{{.*}} from([[N]]) reverse
// MIXED: act.repeat @layer.bwd.1 count([[N]]) reverse
// REPORT: recomputation: peak {{.*}} of 800 bytes

// DEVICE: act.remat_result = "total peak {{.*}} of 600 bytes, recompute +
// WARN: warning: policy 'layer' needs {{[0-9]+}} bytes, more than the 500 of the device
// BODY: act.remat_result = "peak
// BODY: act.phase "backward"
// BODY: act.recompute
// SMALL: error: no choice of what to recompute was found that needs at most 100 bytes; the smallest feasible budget known is {{[0-9]+}} ({{[0-9]+}} bytes){{$}}
// NOFIT: error: no choice of what to recompute was found that needs at most 100 bytes; the smallest feasible budget known is fit:{{[0-9]+}} ({{.*}}), of which {{[0-9]+}} are parameters, gradients, optimizer state, inputs and outputs
// HOWMUCH: error: remat policy 'budget=fit' has no size; expected budget=fit:BYTES, or --device-memory=BYTES as well
// UNIT: error: remat policy 'budget=24gb': expected bytes, plain or with a unit such as 24GB, 22.5GiB or 512MiB, found '24gb'
// DEVUNIT: error: remat device memory: expected bytes
// RATES: error: remat rates 'fast': expected sm_80, sm_86, sm_89 or sm_90a, or FLOPS:BYTES
// EFFORT: error: remat effort 1: expected 2 or more
// TWICE: error: the module is already rematerialized, by policy 'budget=300'; policy 'layer' cannot be added to it

// No layers: a function alone.
act.parameter @w "w" : tensor<4x4xf32>
func.func @forward(%x: tensor<4x4xf32>) -> tensor<f32> {
  %w = act.param @w : tensor<4x4xf32>
  %0 = act.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = act.silu %0 : tensor<4x4xf32>
  %2 = act.matmul %1, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = act.silu %2 : tensor<4x4xf32>
  %4 = act.matmul %3, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = act.silu %4 : tensor<4x4xf32>
  %6 = act.reshape %5 : tensor<4x4xf32> -> tensor<16xf32>
  %7 = act.sum_to %6 : tensor<16xf32> -> tensor<1xf32>
  %loss = act.reshape %7 : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
