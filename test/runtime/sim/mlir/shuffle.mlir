// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// Two blocks of two warps: a butterfly of shuffles sums a warp, shared memory the
// block. Block b holds 32b, 32b + 1, … 32b + 63.

// CHECK: [2016, 4064]
// In lane 17: the neighbour below; 40, which lies outside of the warp; lane 3.
// CHECK: [16, 17, 3]
// CHECK: [1, 0, 1]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %sums = memref.alloc() : memref<2xi32>
  %got = memref.alloc() : memref<3xi32>
  %inside = memref.alloc() : memref<3xi32>
  %sums_any = memref.cast %sums : memref<2xi32> to memref<*xi32>
  %got_any = memref.cast %got : memref<3xi32> to memref<*xi32>
  %inside_any = memref.cast %inside : memref<3xi32> to memref<*xi32>
  gpu.host_register %sums_any : memref<*xi32>
  gpu.host_register %got_any : memref<*xi32>
  gpu.host_register %inside_any : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1)
             workgroup(%shared : memref<2xi32, #gpu.address_space<workgroup>>) {
    %k1 = arith.constant 1 : i32
    %k2 = arith.constant 2 : i32
    %k4 = arith.constant 4 : i32
    %k8 = arith.constant 8 : i32
    %k16 = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    %offset = arith.muli %bx, %c32 : index
    %value = arith.addi %tx, %offset : index
    %v0 = arith.index_cast %value : index to i32
    %s16, %p16 = gpu.shuffle xor %v0, %k16, %width : i32
    %v1 = arith.addi %v0, %s16 : i32
    %s8, %p8 = gpu.shuffle xor %v1, %k8, %width : i32
    %v2 = arith.addi %v1, %s8 : i32
    %s4, %p4 = gpu.shuffle xor %v2, %k4, %width : i32
    %v3 = arith.addi %v2, %s4 : i32
    %s2, %p2 = gpu.shuffle xor %v3, %k2, %width : i32
    %v4 = arith.addi %v3, %s2 : i32
    %s1, %p1 = gpu.shuffle xor %v4, %k1, %width : i32
    %total = arith.addi %v4, %s1 : i32
    %warp = arith.divui %tx, %c32 : index
    %lane = arith.remui %tx, %c32 : index
    // Every lane has the sum: let the last one speak.
    %c31 = arith.constant 31 : index
    %last = arith.cmpi eq, %lane, %c31 : index
    scf.if %last {
      memref.store %total, %shared[%warp] : memref<2xi32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      %a = memref.load %shared[%c0] : memref<2xi32, #gpu.address_space<workgroup>>
      %b = memref.load %shared[%c1] : memref<2xi32, #gpu.address_space<workgroup>>
      %ab = arith.addi %a, %b : i32
      memref.store %ab, %sums[%bx] : memref<2xi32>
    }

    %l = arith.index_cast %lane : index to i32
    %k23 = arith.constant 23 : i32
    %k3 = arith.constant 3 : i32
    %below, %below_in = gpu.shuffle up %l, %k1, %width : i32
    // Reaches beyond the last lane: the own value comes back, and the predicate tells.
    %above, %above_in = gpu.shuffle down %l, %k23, %width : i32
    %third, %third_in = gpu.shuffle idx %l, %k3, %width : i32
    %c17 = arith.constant 17 : index
    %at17 = arith.cmpi eq, %value, %c17 : index
    scf.if %at17 {
      %below_i = arith.extui %below_in : i1 to i32
      %above_i = arith.extui %above_in : i1 to i32
      %third_i = arith.extui %third_in : i1 to i32
      memref.store %below, %got[%c0] : memref<3xi32>
      memref.store %above, %got[%c1] : memref<3xi32>
      memref.store %third, %got[%c2] : memref<3xi32>
      memref.store %below_i, %inside[%c0] : memref<3xi32>
      memref.store %above_i, %inside[%c1] : memref<3xi32>
      memref.store %third_i, %inside[%c2] : memref<3xi32>
    }
    gpu.terminator
  }
  call @printMemrefI32(%sums_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%got_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%inside_any) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
