// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --convert-linalg-to-tile | FileCheck %s

// One element of a vector, as a tensor of rank 0: the load has the vector's index.
// CHECK-LABEL: gpu.func @half(
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: tile.load %{{.*}}[%[[ONE]]]
func.func @half(%x: tensor<4xf32>) -> tensor<f32> {
  %part = tensor.extract_slice %x[1] [1] [1] : tensor<4xf32> to tensor<1xf32>
  %one = tensor.collapse_shape %part [] : tensor<1xf32> into tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%one : tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %half = arith.constant 0.5 : f32
    %p = arith.mulf %a, %half : f32
    linalg.yield %p : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
