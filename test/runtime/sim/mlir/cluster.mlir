// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s

// Four blocks in clusters of two: each writes its cluster and its place in it.

// CHECK: [0,  1,  10,  11]
// CHECK: [2,  2,  2,  2]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %where = memref.alloc() : memref<4xi32>
  %size = memref.alloc() : memref<4xi32>
  %where_any = memref.cast %where : memref<4xi32> to memref<*xi32>
  %size_any = memref.cast %size : memref<4xi32> to memref<*xi32>
  gpu.host_register %where_any : memref<*xi32>
  gpu.host_register %size_any : memref<*xi32>
  gpu.launch clusters(%kx, %ky, %kz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %cluster = gpu.cluster_id x
    %block = gpu.cluster_block_id x
    %n = gpu.cluster_dim_blocks x
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %c10 = arith.constant 10 : index
    %tens = arith.muli %cluster, %c10 : index
    %place = arith.addi %tens, %block : index
    %place32 = arith.index_cast %place : index to i32
    %n32 = arith.index_cast %n : index to i32
    memref.store %place32, %where[%bx] : memref<4xi32>
    memref.store %n32, %size[%bx] : memref<4xi32>
    gpu.terminator
  }
  call @printMemrefI32(%where_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%size_any) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
