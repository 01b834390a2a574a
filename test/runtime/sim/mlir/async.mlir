// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// Two streams: each copies in, launches, and one waits for the other by an event.

// CHECK: [3,  6,  9,  12,  15,  18,  21,  24]
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %x[%t] : memref<8xf32>
      gpu.return
    }
    gpu.func @add(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<8xf32>
      %w = memref.load %y[%t] : memref<8xf32>
      %s = arith.addf %v, %w : f32
      memref.store %s, %x[%t] : memref<8xf32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %host = memref.alloc() : memref<8xf32>
    scf.for %i = %c0 to %c8 step %c1 {
      %i1 = arith.addi %i, %c1 : index
      %n = arith.index_cast %i1 : index to i32
      %f = arith.sitofp %n : i32 to f32
      memref.store %f, %host[%i] : memref<8xf32>
    }
    %s0 = gpu.wait async
    %x, %s1 = gpu.alloc async [%s0] () : memref<8xf32>
    %s2 = gpu.memcpy async [%s1] %x, %host : memref<8xf32>, memref<8xf32>
    %s3 = gpu.launch_func async [%s2] @kernels::@double
      blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<8xf32>)
    %t0 = gpu.wait async
    %y, %t1 = gpu.alloc async [%t0] () : memref<8xf32>
    %t2 = gpu.memcpy async [%t1] %y, %host : memref<8xf32>, memref<8xf32>
    %both = gpu.wait async [%s3, %t2]
    %s4 = gpu.launch_func async [%both] @kernels::@add
      blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
    %s5 = gpu.memcpy async [%s4] %host, %x : memref<8xf32>, memref<8xf32>
    %s6 = gpu.dealloc async [%s5] %x : memref<8xf32>
    %s7 = gpu.dealloc async [%s6] %y : memref<8xf32>
    gpu.wait [%s7]
    %any = memref.cast %host : memref<8xf32> to memref<*xf32>
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<8xf32>
    return
  }
  func.func private @printMemrefF32(memref<*xf32>)
}
