// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-bufferize | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-bufferize | FileCheck %s

// The example of the manual: the result is one more argument.
// AFTER: func.func @rows(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>) {
// AFTER-NEXT: scf.forall (%arg2) in (4) {
// AFTER-NEXT: %subview = memref.subview %arg0[%arg2, 0] [1, 8] [1, 1] : memref<4x8xf32> to {{.*}}
// AFTER-NEXT: %subview_0 = memref.subview %arg1[%arg2, 0] [1, 8] [1, 1] : memref<4x8xf32> to {{.*}}
// AFTER-NEXT: linalg.exp ins(%subview : {{.*}}) outs(%subview_0 : {{.*}})
// AFTER-NEXT: }
// AFTER-NEXT: return
// AFTER-NEXT: }
func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %b = tensor.extract_slice %o[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %c = linalg.exp ins(%a : tensor<1x8xf32>) outs(%b : tensor<1x8xf32>) -> tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %c into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return %y : tensor<4x8xf32>
}

// A result in place needs no argument of its own.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[Y:.+]]: memref<8xf32>) {
// CHECK-NEXT: linalg.add ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[X]] :
// CHECK-NEXT: return
func.func @in_place(%x: tensor<8xf32> {act.role = #act.role<in_place, result = 0>}, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.add ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The reshape of a result is one of its memory.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: (%[[X:.+]]: memref<32xf32>, %[[OUT:.+]]: memref<4x8xf32>)
// CHECK: %[[FLAT:.+]] = memref.collapse_shape %[[OUT]]
// CHECK: linalg.exp ins(%[[X]] : memref<32xf32>) outs(%[[FLAT]] : memref<32xf32>)
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @reshaped(%x: tensor<32xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.exp ins(%x : tensor<32xf32>) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A temporary, and a result that is an operand: copied.
// CHECK-LABEL: func.func @copied
// CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[FIRST:.+]]: memref<8xf32>, %[[SECOND:.+]]: memref<8xf32>)
// CHECK: %[[T:.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK: linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[T]] : memref<8xf32>)
// CHECK: linalg.add ins(%[[T]], %[[T]] : {{.*}}) outs(%[[FIRST]] : memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[SECOND]] : memref<8xf32>)
func.func @copied(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %1 = linalg.add ins(%0, %0 : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
  return %1, %x : tensor<8xf32>, tensor<8xf32>
}

// A loop carries no buffer: both iterations and the result are in one.
// CHECK-LABEL: func.func @carried
// CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[OUT:.+]]: memref<8xf32>)
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{[a-z0-9_]+}} {
// CHECK: linalg.add ins(%[[OUT]], %[[X]] : {{.*}}) outs(%[[NEXT:.+]] :
// CHECK: linalg.generic {{.*}} ins(%[[NEXT]] : {{.*}}) outs(%[[OUT]] :
func.func @carried(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %f) -> tensor<8xf32> {
    %t = tensor.empty() : tensor<8xf32>
    %n = linalg.add ins(%s, %x : tensor<8xf32>, tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// Two that change places: each is copied before the other one is overwritten.
// CHECK-LABEL: func.func @exchanged
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} ins(%[[B:.+]] : {{.*}}) outs(%[[OLD_B:.+]] :
// CHECK: linalg.generic {{.*}} ins(%[[A:.+]] : {{.*}}) outs(%[[OLD_A:.+]] :
// CHECK: linalg.generic {{.*}} ins(%[[OLD_B]] : {{.*}}) outs(%[[A]] :
// CHECK: linalg.generic {{.*}} ins(%[[OLD_A]] : {{.*}}) outs(%[[B]] :
func.func @exchanged(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
