// RUN: mlir-opt %s --convert-scf-to-cf --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// 48 × 32 × 64 by wmma, a warp for each 16 × 16 of the result: f16 products, sums in
// f32 that begin at 1. a(i, k) = (i + 2k) mod 7 − 3, b(k, j) = (3k + j) mod 5 − 2.

// Wrong elements, elements that are not 1; c(0, 0), c(47, 31).
// CHECK: [0, 1452]
// CHECK: [-2, -3]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %c47 = arith.constant 47 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f16
  %three = arith.constant 3.0 : f16
  %a = memref.alloc() : memref<48x64xf16>
  %b = memref.alloc() : memref<64x32xf16>
  %c = memref.alloc() : memref<48x32xf32>
  scf.for %i = %c0 to %c48 step %c1 {
    scf.for %k = %c0 to %c64 step %c1 {
      %k2 = arith.muli %k, %c2 : index
      %sum = arith.addi %i, %k2 : index
      %mod = arith.remui %sum, %c7 : index
      %int = arith.index_cast %mod : index to i32
      %f = arith.sitofp %int : i32 to f16
      %v = arith.subf %f, %three : f16
      memref.store %v, %a[%i, %k] : memref<48x64xf16>
    }
  }
  scf.for %k = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c32 step %c1 {
      %k3 = arith.muli %k, %c3 : index
      %sum = arith.addi %k3, %j : index
      %mod = arith.remui %sum, %c5 : index
      %int = arith.index_cast %mod : index to i32
      %f = arith.sitofp %int : i32 to f16
      %v = arith.subf %f, %two : f16
      memref.store %v, %b[%k, %j] : memref<64x32xf16>
    }
  }
  %a_any = memref.cast %a : memref<48x64xf16> to memref<*xf16>
  %b_any = memref.cast %b : memref<64x32xf16> to memref<*xf16>
  %c_any = memref.cast %c : memref<48x32xf32> to memref<*xf32>
  gpu.host_register %a_any : memref<*xf16>
  gpu.host_register %b_any : memref<*xf16>
  gpu.host_register %c_any : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c3, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %c16 = arith.constant 16 : index
    %row = arith.muli %by, %c16 : index
    %column = arith.muli %bx, %c16 : index
    %begin = gpu.subgroup_mma_constant_matrix %one : !gpu.mma_matrix<16x16xf32, "COp">
    %sums = scf.for %k = %c0 to %c64 step %c16 iter_args(%before = %begin) -> (!gpu.mma_matrix<16x16xf32, "COp">) {
      %x = gpu.subgroup_mma_load_matrix %a[%row, %k] {leadDimension = 64 : index}
        : memref<48x64xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
      %y = gpu.subgroup_mma_load_matrix %b[%k, %column] {leadDimension = 32 : index}
        : memref<64x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
      %after = gpu.subgroup_mma_compute %x, %y, %before
        : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
      scf.yield %after : !gpu.mma_matrix<16x16xf32, "COp">
    }
    gpu.subgroup_mma_store_matrix %sums, %c[%row, %column] {leadDimension = 32 : index}
      : !gpu.mma_matrix<16x16xf32, "COp">, memref<48x32xf32>
    gpu.terminator
  }

  %wrong, %others = scf.for %i = %c0 to %c48 step %c1 iter_args(%w0 = %c0, %n0 = %c0) -> (index, index) {
    %rw, %rn = scf.for %j = %c0 to %c32 step %c1 iter_args(%w1 = %w0, %n1 = %n0) -> (index, index) {
      %expected = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %one) -> f32 {
        %x = memref.load %a[%i, %k] : memref<48x64xf16>
        %y = memref.load %b[%k, %j] : memref<64x32xf16>
        %x32 = arith.extf %x : f16 to f32
        %y32 = arith.extf %y : f16 to f32
        %xy = arith.mulf %x32, %y32 : f32
        %next = arith.addf %sum, %xy : f32
        scf.yield %next : f32
      }
      %v = memref.load %c[%i, %j] : memref<48x32xf32>
      %differs = arith.cmpf une, %v, %expected : f32
      %not_one = arith.cmpf une, %v, %one : f32
      %one_wrong = arith.select %differs, %c1, %c0 : index
      %one_other = arith.select %not_one, %c1, %c0 : index
      %w2 = arith.addi %w1, %one_wrong : index
      %n2 = arith.addi %n1, %one_other : index
      scf.yield %w2, %n2 : index, index
    }
    scf.yield %rw, %rn : index, index
  }
  %counts = memref.alloc() : memref<2xi64>
  %wrong_i = arith.index_cast %wrong : index to i64
  %others_i = arith.index_cast %others : index to i64
  memref.store %wrong_i, %counts[%c0] : memref<2xi64>
  memref.store %others_i, %counts[%c1] : memref<2xi64>
  %few = memref.alloc() : memref<2xf32>
  %first = memref.load %c[%c0, %c0] : memref<48x32xf32>
  %last = memref.load %c[%c47, %c31] : memref<48x32xf32>
  memref.store %first, %few[%c0] : memref<2xf32>
  memref.store %last, %few[%c1] : memref<2xf32>
  %counts_any = memref.cast %counts : memref<2xi64> to memref<*xi64>
  %few_any = memref.cast %few : memref<2xf32> to memref<*xf32>
  call @printMemrefI64(%counts_any) : (memref<*xi64>) -> ()
  call @printMemrefF32(%few_any) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefI64(memref<*xi64>)
func.func private @printMemrefF32(memref<*xf32>)
