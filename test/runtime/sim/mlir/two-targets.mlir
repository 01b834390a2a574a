// Two modules for different architectures in one program: without ACT_DEVICE and
// without a driver each runs on its own, on the same memory. With ACT_DEVICE both
// run on the device that it names, or the younger one is refused.
//
// REQUIRES: no-driver
//
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env ACT_DEVICE= %run-gpu %t.mlir | FileCheck %s
// RUN: env ACT_DEVICE=sim:sm_90a %run-gpu %t.mlir | FileCheck %s
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.mlir 2>&1 | FileCheck %s --check-prefix=OLD

// (i + 1) · 10 by the old, then + the number of blocks in a cluster by the new,
// then · 10 by the old again.
// CHECK: [120, 220, 320, 420]
// OLD: 'mgpuModuleLoadJIT' failed: {{.*}}sm_90a{{.*}}sm_80
module attributes {gpu.container_module} {
  // The first target of a module is the one that is used.
  gpu.module @old [#nvvm.target<chip = "sm_80", features = "+ptx70">] {
    gpu.func @tenfold(%x: memref<4xi32>) kernel {
      %t = gpu.thread_id x
      %ten = arith.constant 10 : i32
      %v = memref.load %x[%t] : memref<4xi32>
      %w = arith.muli %v, %ten : i32
      memref.store %w, %x[%t] : memref<4xi32>
      gpu.return
    }
  }
  gpu.module @new [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
    gpu.func @plus_blocks(%x: memref<4xi32>) kernel {
      %b = gpu.block_id x
      %n = gpu.cluster_dim_blocks x
      %n32 = arith.index_cast %n : index to i32
      %v = memref.load %x[%b] : memref<4xi32>
      %w = arith.addi %v, %n32 : i32
      memref.store %w, %x[%b] : memref<4xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %host = memref.alloc() : memref<4xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      %i1 = arith.addi %i, %c1 : index
      %n = arith.index_cast %i1 : index to i32
      memref.store %n, %host[%i] : memref<4xi32>
    }
    %s0 = gpu.wait async
    %x, %s1 = gpu.alloc async [%s0] () : memref<4xi32>
    %s2 = gpu.memcpy async [%s1] %x, %host : memref<4xi32>, memref<4xi32>
    %s3 = gpu.launch_func async [%s2] @old::@tenfold
      blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>)
    %s4 = gpu.launch_func async [%s3] @new::@plus_blocks clusters in (%c2, %c1, %c1)
      blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xi32>)
    %s5 = gpu.launch_func async [%s4] @old::@tenfold
      blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>)
    %s6 = gpu.memcpy async [%s5] %host, %x : memref<4xi32>, memref<4xi32>
    %s7 = gpu.dealloc async [%s6] %x : memref<4xi32>
    gpu.wait [%s7]
    %any = memref.cast %host : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<4xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
