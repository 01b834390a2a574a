// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-prepare-kernel | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-prepare-kernel | FileCheck %s

// The example of the manual: bytes for i1, exp in its consumer, one dimension.
// AFTER: func.func @masked_exp(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi8>) -> tensor<4x8xf32> {
// AFTER-NEXT{LITERAL}: %collapsed = tensor.collapse_shape %arg1 [[0, 1]] : tensor<4x8xi8> into tensor<32xi8>
// AFTER-NEXT{LITERAL}: %collapsed_0 = tensor.collapse_shape %arg0 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
// AFTER-NEXT: %0 = tensor.empty() : tensor<32xf32>
// AFTER-NEXT: %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%collapsed, %collapsed_0 : {{.*}}
// AFTER-NEXT: ^bb0(%in: i8, %in_1: f32, %out: f32):
// AFTER-NEXT: %2 = math.exp %in_1 : f32
// AFTER-NEXT: %3 = arith.trunci %in : i8 to i1
// AFTER-NEXT: %4 = arith.select %3, %2, %in_1 : f32
// AFTER-NEXT: linalg.yield %4 : f32
// AFTER-NEXT: } -> tensor<32xf32>
// AFTER-NEXT{LITERAL}: %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
func.func @masked_exp(%x: tensor<4x8xf32>, %m: tensor<4x8xi1>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.select ins(%m, %y, %x : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A mask as the result: a byte that is 0 or 1.
// CHECK-LABEL: func.func @is_negative
// CHECK-SAME: -> tensor<8xi8>
func.func @is_negative(%x: tensor<8xf32>) -> tensor<8xi1> {
  %e = tensor.empty() : tensor<8xi1>
  // CHECK: %[[BIT:.+]] = arith.cmpf olt
  // CHECK: %[[BYTE:.+]] = arith.extui %[[BIT]] : i1 to i8
  // CHECK: linalg.yield %[[BYTE]] : i8
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xi1>) {
  ^bb0(%a: f32, %old: i1):
    %zero = arith.constant 0.0 : f32
    %b = arith.cmpf olt, %a, %zero : f32
    linalg.yield %b : i1
  } -> tensor<8xi1>
  return %r : tensor<8xi1>
}

// Constants and fills of i1 hold bytes as well.
// CHECK-LABEL: func.func @masks
func.func @masks() -> (tensor<2xi1>, tensor<2xi1>) {
  // CHECK-DAG: arith.constant dense<[1, 0]> : tensor<2xi8>
  // CHECK-DAG: linalg.fill ins(%{{.+}} : i8) outs(%{{.+}} : tensor<2xi8>)
  %c = arith.constant dense<[true, false]> : tensor<2xi1>
  %true = arith.constant true
  %e = tensor.empty() : tensor<2xi1>
  %f = linalg.fill ins(%true : i1) outs(%e : tensor<2xi1>) -> tensor<2xi1>
  return %c, %f : tensor<2xi1>, tensor<2xi1>
}

// exp would be evaluated for each of 16 columns, so it stays before the sum.
// CHECK-LABEL: func.func @repeated
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-NOT: math.exp
// CHECK: arith.addf
func.func @repeated(%x: tensor<8xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = tensor.empty() : tensor<8x16xf32>
  %2 = linalg.broadcast ins(%0 : tensor<8xf32>) outs(%1 : tensor<8x16xf32>) dimensions = [1]
  %3 = linalg.add ins(%2, %y : tensor<8x16xf32>, tensor<8x16xf32>) outs(%1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// The result replaces %x, which becomes the destination: no copy later.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32> {{.*}}, %[[Y:.+]]: tensor<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<8xf32>) outs(%[[X]] : tensor<8xf32>)
func.func @in_place(%x: tensor<8xf32> {act.role = #act.role<in_place, result = 0>}, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.sub ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What is read from its end on is put in the order in which it is read, also where nothing
// else says how long a loop is.
// CHECK-LABEL: func.func @backwards
// CHECK-SAME: %[[X:.+]]: tensor<3x4xf32>
// CHECK: %[[T:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<3x4xf32>)
// CHECK: %[[I:.+]] = linalg.index 0
// CHECK: %[[J:.+]] = affine.apply
// CHECK: tensor.extract %[[X]][%[[I]], %[[J]]]
// CHECK: linalg.generic {{.+}}["reduction", "parallel"]} ins(%[[T]] :
func.func @backwards(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 3 - j)>, affine_map<(i, j) -> (j)>],
                       iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<3x4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.addf %o, %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}
