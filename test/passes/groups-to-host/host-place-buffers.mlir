// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-place-buffers | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-place-buffers --canonicalize | FileCheck %s

// The example of the manual: 2 KiB in the scratch, 16 bytes on the stack.
// AFTER: func.func @copy(%arg0: memref<512xf32>, %arg1: index, %arg2: memref<2048xi8>, %arg3: i64) attributes {act.grid = 1 : i64, act.scratch_bytes = 2048 : i64} {
// AFTER-NEXT: %alloca = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// AFTER-NEXT: %c0 = arith.constant 0 : index
// AFTER-NEXT: %view = memref.view %arg2[%c0][] : memref<2048xi8> to memref<512xf32>
// AFTER-NEXT: memref.copy %arg0, %view : memref<512xf32> to memref<512xf32>
// AFTER-NEXT: %0 = memref.load %view[%arg1] : memref<512xf32>
// AFTER-NEXT: memref.store %0, %alloca[%arg1] : memref<4xf32>
// AFTER-NEXT: return
// AFTER-NEXT: }
func.func @copy(%x: memref<512xf32>, %i: index, %block: i64) attributes {act.grid = 1 : i64} {
  %large = memref.alloc() : memref<512xf32>
  %small = memref.alloc() : memref<4xf32>
  memref.copy %x, %large : memref<512xf32> to memref<512xf32>
  %v = memref.load %large[%i] : memref<512xf32>
  memref.store %v, %small[%i] : memref<4xf32>
  return
}

// Offsets are multiples of 64 and are not reused. The one in the loop has one
// place for all iterations.
// CHECK-LABEL: func.func @offsets
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<2112xi8>, %{{.+}}: i64) attributes {act.scratch_bytes = 2112 : i64}
// CHECK-DAG: memref.view %[[S]][%c0][] : memref<2112xi8> to memref<100xf32>
// CHECK-DAG: memref.view %[[S]][%c448][] : memref<2112xi8> to memref<300xf32>
// CHECK-DAG: memref.view %[[S]][%c1664][] : memref<2112xi8> to memref<200xi16>
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @offsets(%v: f32, %w: i16, %i: index, %n: index, %block: i64) {
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<100xf32>
  memref.store %v, %a[%i] : memref<100xf32>
  scf.for %k = %i to %n step %c1 {
    %b = memref.alloc() : memref<300xf32>
    memref.store %v, %b[%k] : memref<300xf32>
    memref.dealloc %b : memref<300xf32>
  }
  %c = memref.alloc() : memref<200xi16>
  memref.store %w, %c[%i] : memref<200xi16>
  return
}

// A tile at the edge takes the room of a whole one. Its rows stand together.
// CHECK-LABEL: func.func @edge
// CHECK-SAME: (%{{.+}}: f32, %[[I:.+]]: index, %[[S:.+]]: memref<8192xi8>, %{{.+}}: i64) attributes {act.scratch_bytes = 8192 : i64}
// CHECK: %[[ROOM:.+]] = memref.view %[[S]][%c0][] : memref<8192xi8> to memref<2048xf32>
// CHECK: %[[N:.+]] = affine.min
// CHECK: memref.reinterpret_cast %[[ROOM]] to offset: [0], sizes: [%[[N]], 32], strides: [32, 1]
func.func @edge(%v: f32, %i: index, %block: i64) {
  %n = affine.min affine_map<(d) -> (64, -d + 1000)>(%i)
  %t = memref.alloc(%n) : memref<?x32xf32>
  memref.store %v, %t[%i, %i] : memref<?x32xf32>
  return
}

// What nobody uses takes no room.
// CHECK-LABEL: func.func @unused
// CHECK-SAME: (%{{.+}}: i64) attributes {act.scratch_bytes = 0 : i64}
// CHECK-NEXT: return
func.func @unused(%block: i64) {
  %t = memref.alloc() : memref<4096xf32>
  memref.dealloc %t : memref<4096xf32>
  return
}
