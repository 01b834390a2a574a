// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --remat=everything 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not act-opt %s --remat=segments=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not act-opt %s --remat=segments=x 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not act-opt %s --remat=segments=4 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not act-opt %s --remat=layer --remat=selective 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: act-opt %s --remat=none --remat=layer -o %t.mlir
// RUN: not act-opt %t.mlir --remat=layer 2>&1 | FileCheck %s --check-prefix=AGAIN
// POLICY: error: unknown remat policy 'everything': expected none, selective, attention, attention-core, layer, sqrt, segments=N, offload, budget=BYTES or budget=fit:BYTES
// ZERO: error: remat policy 'segments=0': expected a number of segments of 1 or more, found '0'
// TEXT: error: remat policy 'segments=x': expected a number of segments of 1 or more, found 'x'
// MANY: error: cannot be cut into 4 segments: it runs 3 layers
// TWICE: error: the module is already rematerialized, by policy 'layer'; policy 'selective' cannot be added to it
// AGAIN: error: the module is already rematerialized, by policy 'layer'
// RUN: sed s/carry/reverse\ carry/ %s | not act-opt --remat=segments=2 2>&1 | FileCheck %s --check-prefix=REVERSE
// REVERSE: error: runs its layers in reverse and cannot be cut into segments
act.parameter @w "layers.{l}.w" : tensor<4xf32> layers(3)
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %y = act.repeat @layer count(L = 3) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %sum = act.sum_to %y : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
