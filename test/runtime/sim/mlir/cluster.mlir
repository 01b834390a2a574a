// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s

// Eight blocks in clusters of four: each writes its cluster and its place in it,
// then thread t of a block reads what block t of its cluster has in shared memory,
// 100 · (block of the grid) + 1, and the block adds up the four.

// CHECK: [0, 1, 2, 3, 10, 11, 12, 13]
// CHECK: [4, 4, 4, 4, 4, 4, 4, 4]
// CHECK: [604, 604, 604, 604, 2204, 2204, 2204, 2204]
memref.global "private" @mine : memref<1xi32, 3>

func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %where = memref.alloc() : memref<8xi32>
  %size = memref.alloc() : memref<8xi32>
  %sum = memref.alloc() : memref<8xi32>
  %where_any = memref.cast %where : memref<8xi32> to memref<*xi32>
  %size_any = memref.cast %size : memref<8xi32> to memref<*xi32>
  %sum_any = memref.cast %sum : memref<8xi32> to memref<*xi32>
  gpu.host_register %where_any : memref<*xi32>
  gpu.host_register %size_any : memref<*xi32>
  gpu.host_register %sum_any : memref<*xi32>
  gpu.launch clusters(%kx, %ky, %kz) in (%nx = %c4, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c8, %gy = %c1, %gz = %c1)
             threads(%t, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %c10 = arith.constant 10 : index
    %c100 = arith.constant 100 : index
    %one = arith.constant 1 : i32
    %leads = arith.cmpi eq, %t, %c0 : index
    %mine = memref.get_global @mine : memref<1xi32, 3>
    scf.if %leads {
      %cluster = gpu.cluster_id x
      %block = gpu.cluster_block_id x
      %n = gpu.cluster_dim_blocks x
      %tens = arith.muli %cluster, %c10 : index
      %place = arith.addi %tens, %block : index
      %place32 = arith.index_cast %place : index to i32
      %n32 = arith.index_cast %n : index to i32
      memref.store %place32, %where[%bx] : memref<8xi32>
      memref.store %n32, %size[%bx] : memref<8xi32>
      %hundreds = arith.muli %bx, %c100 : index
      %hundreds32 = arith.index_cast %hundreds : index to i32
      %value = arith.addi %hundreds32, %one : i32
      memref.store %value, %mine[%c0] : memref<1xi32, 3>
    }
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %address = memref.extract_aligned_pointer_as_index %mine : memref<1xi32, 3> -> index
    %address64 = arith.index_cast %address : index to i64
    %here = llvm.inttoptr %address64 : i64 to !llvm.ptr<3>
    %rank = arith.index_cast %t : index to i32
    %there = nvvm.mapa %here, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
    %theirs = llvm.load %there : !llvm.ptr<7> -> i32
    // Nobody leaves while others read.
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %total = gpu.all_reduce add %theirs uniform {} : (i32) -> i32
    scf.if %leads {
      memref.store %total, %sum[%bx] : memref<8xi32>
    }
    gpu.terminator
  }
  call @printMemrefI32(%where_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%size_any) : (memref<*xi32>) -> ()
  call @printMemrefI32(%sum_any) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
