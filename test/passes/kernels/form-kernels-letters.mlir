// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --form-kernels | FileCheck %s
// RUN: act-opt %s --split-input-file --memory-report=file=- -o /dev/null | FileCheck %s --check-prefix=REPORT

// Chunks of 16 of 64 tokens: the rows of a chunk have a letter, and it is said what
// it stands for.
// CHECK: module attributes {{.*}}act.letters = {c = [16, "rows of logits
// CHECK: @loss.chunk(%{{.+}}: tensor<f32>, %{{.+}}: tensor<16x4xf32, #[[CH:.+]]>
// CHECK: act.reshape {{.*}} -> tensor<4x16x4xf32
// REPORT: peak     = c*(4*V + 4) + 4
// REPORT: c = 16
// REPORT: note: c: rows of logits that the fused loss has at a time
func.func @forward(%x: tensor<64x4xf32, #act.dims<t, h>>, %w: tensor<8x4xf32, #act.dims<V, h>>, %y: tensor<64xi32, #act.dims<t>>) -> tensor<f32> {
  %0 = act.linear_cross_entropy %x, %w, %y ignore -100 reduction mean chunk 16 : (tensor<64x4xf32, #act.dims<t, h>>, tensor<8x4xf32, #act.dims<V, h>>, tensor<64xi32, #act.dims<t>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The letter is taken.
// CHECK: act.letters = {c2 = [16,
// REPORT: c = 64 {{.*}}c2 = 16
func.func @forward(%x: tensor<64x4xf32, #act.dims<c, h>>, %w: tensor<8x4xf32, #act.dims<V, h>>, %y: tensor<64xi32, #act.dims<c>>) -> tensor<f32> {
  %0 = act.linear_cross_entropy %x, %w, %y ignore -100 reduction mean chunk 16 : (tensor<64x4xf32, #act.dims<c, h>>, tensor<8x4xf32, #act.dims<V, h>>, tensor<64xi32, #act.dims<c>>) -> tensor<f32>
  return %0 : tensor<f32>
}
