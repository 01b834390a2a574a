// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// Two modules with kernels of one name, and printf from both.

// CHECK-DAG: first thread 2 of block 1 sees 1.500000
// CHECK-DAG: second thread 0
// CHECK: [10,  20,  30]
module attributes {gpu.container_module} {
  gpu.module @first {
    gpu.func @kernel(%x: memref<3xi32>) kernel {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %t2 = arith.cmpi eq, %t, %c2 : index
      %b1 = arith.cmpi eq, %b, %c1 : index
      %here = arith.andi %t2, %b1 : i1
      %half = arith.constant 1.5 : f64
      scf.if %here {
        gpu.printf "first thread %lld of block %lld sees %f\n", %t, %b, %half : index, index, f64
      }
      scf.if %b1 {
        %n = arith.index_cast %t : index to i32
        %one = arith.constant 1 : i32
        %m = arith.addi %n, %one : i32
        memref.store %m, %x[%t] : memref<3xi32>
      }
      gpu.return
    }
  }
  gpu.module @second {
    gpu.func @kernel(%x: memref<3xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %here = arith.cmpi eq, %t, %c0 : index
      scf.if %here {
        gpu.printf "second thread %lld\n", %t : index
      }
      %v = memref.load %x[%t] : memref<3xi32>
      %ten = arith.constant 10 : i32
      %w = arith.muli %v, %ten : i32
      memref.store %w, %x[%t] : memref<3xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %host = memref.alloc() : memref<3xi32>
    %any = memref.cast %host : memref<3xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @first::@kernel blocks in (%c2, %c1, %c1) threads in (%c3, %c1, %c1)
      args(%host : memref<3xi32>)
    gpu.launch_func @second::@kernel blocks in (%c1, %c1, %c1) threads in (%c3, %c1, %c1)
      args(%host : memref<3xi32>)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
