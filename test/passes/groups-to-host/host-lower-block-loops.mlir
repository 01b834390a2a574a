// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-lower-block-loops | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-lower-block-loops --canonicalize --cse | FileCheck %s

// The example of the manual: 8 x 4 iterations, each worth a block of its own.
// AFTER: func.func @rows(%arg0: memref<8x4xf32>, %arg1: f32, %arg2: i64) attributes {act.grid = 32 : i64} {
// AFTER-NEXT: %0 = arith.index_cast %arg2 : i64 to index
// AFTER-NEXT: %c4 = arith.constant 4 : index
// AFTER-NEXT: %1 = arith.remui %0, %c4 : index
// AFTER-NEXT: %2 = arith.divui %0, %c4 : index
// AFTER-NEXT: memref.store %arg1, %arg0[%2, %1] : memref<8x4xf32>
// AFTER-NEXT: return
// AFTER-NEXT: }
func.func @rows(%x: memref<8x4xf32>, %zero: f32) attributes {act.work = [20000]} {
  scf.forall (%i, %j) in (8, 4) {
    memref.store %zero, %x[%i, %j] : memref<8x4xf32>
  }
  return
}

// Small iterations: 32 in 8 blocks of 4, row-major, in steps of a tile.
// CHECK-LABEL: func.func @tiles
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<64x128xf32>, %{{.+}}: f32, %[[BLOCK:[a-z0-9]+]]: i64) attributes {act.grid = 8 : i64}
// CHECK: %[[B:.+]] = arith.index_cast %[[BLOCK]] : i64 to index
// CHECK: %[[FROM:.+]] = arith.muli %[[B]], %c4
// CHECK: %[[TO:.+]] = arith.addi %[[FROM]], %c4
// CHECK: scf.for %[[N:.+]] = %[[FROM]] to %[[TO]]
// CHECK-DAG: %[[R:.+]] = arith.remui %[[N]], %c4
// CHECK-DAG: %[[D:.+]] = arith.divui %[[N]], %c4
// CHECK-DAG: %[[J:.+]] = arith.muli %[[R]], %c32
// CHECK-DAG: %[[I:.+]] = arith.muli %[[D]], %c8
// CHECK: memref.subview %[[X]][%[[I]], %[[J]]] [8, 32]
func.func @tiles(%x: memref<64x128xf32>, %zero: f32) attributes {act.work = [1024]} {
  scf.forall (%i, %j) = (0, 0) to (64, 128) step (8, 32) {
    %v = memref.subview %x[%i, %j] [8, 32] [1, 1] : memref<64x128xf32> to memref<8x32xf32, strided<[128, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%v : memref<8x32xf32, strided<[128, 1], offset: ?>>)
  }
  return
}

// At most 256 blocks; the last one is shorter.
// CHECK-LABEL: func.func @many
// CHECK-SAME: act.grid = 250 : i64
// CHECK: arith.minui %{{.+}}, %c999
func.func @many(%x: memref<999xf32>, %zero: f32) attributes {act.work = [20000]} {
  scf.forall (%i) in (999) {
    memref.store %zero, %x[%i] : memref<999xf32>
  }
  return
}

// Independent loops: blocks 0 to 15 and 16 to 19.
// CHECK-LABEL: func.func @two
// CHECK-SAME: act.grid = 20 : i64
// CHECK: %[[B:.+]] = arith.index_cast
// CHECK: %[[FIRST:.+]] = arith.cmpi ult, %[[B]], %c16
// CHECK: scf.if
// CHECK: arith.cmpi uge, %[[B]], %c16
// CHECK: arith.cmpi ult, %[[B]], %c20
// CHECK: scf.if
// CHECK: arith.subi %[[B]], %c16
func.func @two(%x: memref<16xf32>, %y: memref<4xf32>, %zero: f32) attributes {act.work = [20000, 20000]} {
  scf.forall (%i) in (16) {
    memref.store %zero, %x[%i] : memref<16xf32>
  }
  scf.forall (%i) in (4) {
    memref.store %zero, %y[%i] : memref<4xf32>
  }
  return
}

// The second loop reads what the first writes: one block, in order.
// CHECK-LABEL: func.func @dependent
// CHECK-SAME: act.grid = 1 : i64
// CHECK: scf.for %{{.+}} = %c0 to %c16
// CHECK: scf.for %{{.+}} = %c0 to %c4
func.func @dependent(%x: memref<16xf32>, %y: memref<4xf32>, %zero: f32) attributes {act.work = [20000, 20000]} {
  scf.forall (%i) in (16) {
    memref.store %zero, %x[%i] : memref<16xf32>
  }
  scf.forall (%i) in (4) {
    %v = memref.load %x[%i] : memref<16xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
  return
}

// Work outside the loop happens once.
// CHECK-LABEL: func.func @outside
// CHECK-SAME: act.grid = 1 : i64
func.func @outside(%x: memref<16xf32>, %y: memref<16xf32>, %zero: f32) attributes {act.work = [20000]} {
  linalg.fill ins(%zero : f32) outs(%y : memref<16xf32>)
  scf.forall (%i) in (16) {
    memref.store %zero, %x[%i] : memref<16xf32>
  }
  return
}

// A temporary of all iterations.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: act.grid = 1 : i64
func.func @shared(%x: memref<16xf32>, %zero: f32) attributes {act.work = [20000]} {
  %t = memref.alloc() : memref<16xf32>
  scf.forall (%i) in (16) {
    memref.store %zero, %t[%i] : memref<16xf32>
    %v = memref.load %t[%i] : memref<16xf32>
    memref.store %v, %x[%i] : memref<16xf32>
  }
  return
}

// The inner loop runs in order.
// CHECK-LABEL: func.func @inner
// CHECK-SAME: act.grid = 16 : i64
// CHECK: scf.for %{{.+}} = %c0 to %c4
func.func @inner(%x: memref<16x4xf32>, %zero: f32) attributes {act.work = [20000]} {
  scf.forall (%i) in (16) {
    scf.forall (%j) in (4) {
      memref.store %zero, %x[%i, %j] : memref<16x4xf32>
    }
  }
  return
}
