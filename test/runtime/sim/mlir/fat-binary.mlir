// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80" | %run-gpu | FileCheck %s
// REQUIRES: fatbinary

// Upstream's default is a fat binary: machine code, and the PTX that is run here.

// CHECK: [0,  2,  4]
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @twice(%x: memref<3xi32>) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %v = arith.addi %i, %i : i32
      memref.store %v, %x[%t] : memref<3xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %host = memref.alloc() : memref<3xi32>
    %any = memref.cast %host : memref<3xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@twice
      blocks in (%c1, %c1, %c1) threads in (%c3, %c1, %c1) args(%host : memref<3xi32>)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
