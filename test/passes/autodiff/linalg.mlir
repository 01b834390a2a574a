// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --autodiff | FileCheck %s
//
// The gradient of a generic op runs its body again, then the adjoints of it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>
module {
  func.func @forward(%x: tensor<5x3xf32> {act.name = "x", act.requires_grad},
                     %w: tensor<3xf32> {act.name = "w", act.requires_grad})
      -> (tensor<5x3xf32> {act.name = "y"}, tensor<5xf32> {act.name = "z"})
      attributes {act.differentiable} {
    %empty = tensor.empty() : tensor<5x3xf32>
    %y = linalg.generic {indexing_maps = [#id, #row, #id],
                         iterator_types = ["parallel", "parallel"]}
        ins(%x, %w : tensor<5x3xf32>, tensor<3xf32>) outs(%empty : tensor<5x3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = math.sin %0 : f32
      linalg.yield %1 : f32
    } -> tensor<5x3xf32>
    %sums = tensor.empty() : tensor<5xf32>
    %zero = arith.constant 0.0 : f32
    %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<5xf32>) -> tensor<5xf32>
    %z = linalg.generic {indexing_maps = [#id, #row, #column],
                         iterator_types = ["parallel", "reduction"]}
        ins(%y, %w : tensor<5x3xf32>, tensor<3xf32>) outs(%start : tensor<5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<5xf32>
    return %y, %z : tensor<5x3xf32>, tensor<5xf32>
  }
}
// CHECK-LABEL: func.func @grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5x3xf32>{{[^%]*}}, %[[W:[^:]*]]: tensor<3xf32>{{[^%]*}}, %[[DY:[^:]*]]: tensor<5x3xf32>{{[^%]*}}, %[[DZ:[^:]*]]: tensor<5xf32>
// CHECK: act.phase "backward"
// Of the sum: y gets a map, w a sum over the other dimension, as it is a contraction.
// Neither reads what it is the gradient of, so that is not kept.
// CHECK: %[[DY2:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[W]], %[[DZ]] :
// CHECK: %[[DW2:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%{{[^,]*}}, %[[DZ]] :
// CHECK: %[[DYS:.*]] = act.add %[[DY]], %[[DY2]]
// Of the map: x gets a map, w one and the sum over what it was repeated along.
// CHECK: %[[DX:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]], %[[DYS]] :
// CHECK: math.cos
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]], %[[DYS]] :
// CHECK: math.cos
// CHECK: %[[ONE:.*]] = act.sum_to %[[ALL]] : tensor<5x3xf32> -> tensor<1x3xf32>
// CHECK: %[[FLAT:.*]] = act.reshape %[[ONE]]
// CHECK: %[[DW:.*]] = act.add %[[DW2]], %[[FLAT]]
// CHECK: return %{{.*}}, %{{.*}}, %[[DX]], %[[DW]] :
