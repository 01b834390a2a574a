// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// Every thread of a block of 11 × 9 has a value, x² − 3·y: four warps, the last of
// three lanes. The sum, the largest value and the exclusive or of all by
// gpu.all_reduce, beside the same values taken on the CPU. Then whole warps by
// redux.sync, and a sum over blocks by atomics.

// CHECK: [[[SUM:-?[0-9]+]], [[MAX:-?[0-9]+]], [[XOR:-?[0-9]+]]]
// CHECK: [[[SUM]], [[MAX]], [[XOR]]]
// CHECK: [496, 31]
// CHECK: [8128]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %c11 = arith.constant 11 : index
  %c32 = arith.constant 32 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %lowest = arith.constant -2147483648 : i32
  %three = arith.constant 3 : i32
  %got = memref.alloc() : memref<3xi32>
  %warp = memref.alloc() : memref<2xi32>
  %sum = memref.alloc() : memref<1xf32>
  %fzero = arith.constant 0.0 : f32
  memref.store %fzero, %sum[%c0] : memref<1xf32>
  %got_any = memref.cast %got : memref<3xi32> to memref<*xi32>
  %warp_any = memref.cast %warp : memref<2xi32> to memref<*xi32>
  %sum_any = memref.cast %sum : memref<1xf32> to memref<*xf32>
  gpu.host_register %got_any : memref<*xi32>
  gpu.host_register %warp_any : memref<*xi32>
  gpu.host_register %sum_any : memref<*xf32>

  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c11, %sy = %c9, %sz = %c1) {
    %square = arith.muli %tx, %tx : index
    %c3 = arith.constant 3 : index
    %less = arith.muli %ty, %c3 : index
    %v = arith.subi %square, %less : index
    %value = arith.index_cast %v : index to i32
    %s = gpu.all_reduce add %value uniform {} : (i32) -> i32
    %m = gpu.all_reduce maxsi %value uniform {} : (i32) -> i32
    %x = gpu.all_reduce %value uniform {
    ^bb(%a : i32, %b : i32):
      %ab = arith.xori %a, %b : i32
      gpu.yield %ab : i32
    } : (i32) -> i32
    // All threads have the results: the last one writes them.
    %c8 = arith.constant 8 : index
    %c10 = arith.constant 10 : index
    %at10 = arith.cmpi eq, %tx, %c10 : index
    %at8 = arith.cmpi eq, %ty, %c8 : index
    %last = arith.andi %at10, %at8 : i1
    scf.if %last {
      memref.store %s, %got[%c0] : memref<3xi32>
      memref.store %m, %got[%c1] : memref<3xi32>
      memref.store %x, %got[%c2] : memref<3xi32>
    }
    gpu.terminator
  }

  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %lane = arith.index_cast %tx : index to i32
    %all = arith.constant -1 : i32
    %s = nvvm.redux.sync add %lane, %all : i32 -> i32
    %m = nvvm.redux.sync umax %lane, %all : i32 -> i32
    // Lane 5 of block 0 writes what the warp knows; all 128 threads add up 0 … 127.
    %c5 = arith.constant 5 : index
    %at5 = arith.cmpi eq, %tx, %c5 : index
    %block0 = arith.cmpi eq, %bx, %c0 : index
    %writes = arith.andi %at5, %block0 : i1
    scf.if %writes {
      memref.store %s, %warp[%c0] : memref<2xi32>
      memref.store %m, %warp[%c1] : memref<2xi32>
    }
    %before = arith.muli %bx, %c32 : index
    %global = arith.addi %before, %tx : index
    %global_i = arith.index_cast %global : index to i32
    %f = arith.sitofp %global_i : i32 to f32
    %old = memref.atomic_rmw addf %f, %sum[%c0] : (f32, memref<1xf32>) -> f32
    gpu.terminator
  }

  // The same as the first kernel, one value after another.
  %expected = memref.alloc() : memref<3xi32>
  %s, %m, %x = scf.for %i = %c0 to %c11 step %c1
      iter_args(%si = %zero, %mi = %lowest, %xi = %zero) -> (i32, i32, i32) {
    %rs, %rm, %rx = scf.for %j = %c0 to %c9 step %c1
        iter_args(%sj = %si, %mj = %mi, %xj = %xi) -> (i32, i32, i32) {
      %i32 = arith.index_cast %i : index to i32
      %j32 = arith.index_cast %j : index to i32
      %square = arith.muli %i32, %i32 : i32
      %less = arith.muli %j32, %three : i32
      %value = arith.subi %square, %less : i32
      %s1 = arith.addi %sj, %value : i32
      %m1 = arith.maxsi %mj, %value : i32
      %x1 = arith.xori %xj, %value : i32
      scf.yield %s1, %m1, %x1 : i32, i32, i32
    }
    scf.yield %rs, %rm, %rx : i32, i32, i32
  }
  memref.store %s, %expected[%c0] : memref<3xi32>
  memref.store %m, %expected[%c1] : memref<3xi32>
  memref.store %x, %expected[%c2] : memref<3xi32>
  %expected_any = memref.cast %expected : memref<3xi32> to memref<*xi32>
  call @printMemrefI32(%expected_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%got_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%warp_any) : (memref<*xi32>) -> ()
  call @printMemrefF32(%sum_any) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
func.func private @printMemrefF32(memref<*xf32>)
