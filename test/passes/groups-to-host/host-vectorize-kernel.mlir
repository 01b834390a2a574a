// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-vectorize-kernel | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-vectorize-kernel --canonicalize --cse | FileCheck %s

// The example of the manual: 32 of 40 elements in vectors, then 8 one by one.
// AFTER: scf.for %arg3 = %c0 to %c32 step %c16 {
// AFTER-NEXT: %0 = vector.load %arg0[%arg3] : memref<40xf32>, vector<16xf32>
// AFTER-NEXT: %1 = vector.load %arg1[%arg3] : memref<40xf32>, vector<16xf32>
// AFTER-NEXT: %2 = arith.addf %0, %1 : vector<16xf32>
// AFTER-NEXT: vector.store %2, %arg2[%arg3] : memref<40xf32>, vector<16xf32>
// AFTER-NEXT: }
// AFTER: scf.for %arg3 = %c32 to %c40 step %c1 {
// AFTER-NEXT: %0 = memref.load %arg0[%arg3] : memref<40xf32>
// AFTER-NEXT: %1 = memref.load %arg1[%arg3] : memref<40xf32>
// AFTER-NEXT: %2 = arith.addf %0, %1 : f32
// AFTER-NEXT: memref.store %2, %arg2[%arg3] : memref<40xf32>
func.func @add(%x: memref<40xf32>, %y: memref<40xf32>, %z: memref<40xf32>) {
  linalg.add ins(%x, %y : memref<40xf32>, memref<40xf32>) outs(%z : memref<40xf32>)
  return
}

// 32 partial sums, folded in a tree, after the initial value.
// CHECK-LABEL: func.func @sum
// CHECK: %[[INIT:.+]] = memref.load
// CHECK: %[[PART:.+]] = scf.for {{.*}} -> (vector<32xf32>)
// CHECK: vector.extract_strided_slice %[[PART]] {offsets = [0], sizes = [16]
// CHECK: vector.extract_strided_slice %[[PART]] {offsets = [16], sizes = [16]
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: arith.addf %[[INIT]], %{{.+}} : f32
func.func @sum(%x: memref<1024xf32>, %s: memref<f32>) {
  linalg.reduce { arith.addf } ins(%x : memref<1024xf32>) outs(%s : memref<f32>) dimensions = [0]
  return
}

// Along the other dimension each lane is a sum of its own.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for {{.*}} -> (vector<32xf32>)
// CHECK: arith.addf {{.*}} : vector<32xf32>
func.func @columns(%x: memref<64x32xf32>, %s: memref<32xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<64x32xf32>) outs(%s : memref<32xf32>) dimensions = [0]
  return
}

// Squares of 16 x 16.
// CHECK-LABEL: func.func @transposed
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-16: vector.load
// CHECK: vector.shuffle
// CHECK-COUNT-16: vector.store
func.func @transposed(%x: memref<64x32xf32>, %y: memref<32x64xf32>) {
  linalg.transpose ins(%x : memref<64x32xf32>) outs(%y : memref<32x64xf32>) permutation = [1, 0]
  return
}

// sin is a call of libm: no vectors.
// CHECK-LABEL: func.func @called
// CHECK-NOT: vector
// CHECK: math.sin {{.*}} : f32
// CHECK-NOT: vector
// CHECK: return
func.func @called(%x: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    linalg.yield %s : f32
  }
  return
}

// A product: both operands packed, 8 x 2 accumulators of 16 lanes.
// CHECK-LABEL: func.func @product
// CHECK-COUNT-2: memref.alloc
// CHECK: %{{.+}}:16 = scf.for {{.*}} iter_args
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK: vector.maskedstore
func.func @product(%a: memref<64x96xf32>, %b: memref<96x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x96xf32>, memref<96x64xf32>) outs(%c : memref<64x64xf32>)
  return
}

// The width that compileHostKernels states: 6 x 2 accumulators of 8 lanes.
// CHECK-LABEL: func.func @narrow
// CHECK: %{{.+}}:12 = scf.for {{.*}} iter_args
// CHECK-COUNT-12: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: math.fma
module attributes {act.vector_bits = 256 : i64} {
  func.func @narrow(%a: memref<64x96xf32>, %b: memref<96x64xf32>, %c: memref<64x64xf32>) {
    linalg.matmul ins(%a, %b : memref<64x96xf32>, memref<96x64xf32>) outs(%c : memref<64x64xf32>)
    return
  }
}
