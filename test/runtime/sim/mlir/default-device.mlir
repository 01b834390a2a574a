// Which device runs a module: ACT_DEVICE names it; without it and without a
// driver, the lowest simulated architecture that the module's .target runs on.
// How much shared memory a block may have tells them apart: 163 KiB on sm_80, 99
// on sm_86 and sm_89, 227 on sm_90a.
//
// REQUIRES: no-driver
//
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_75 cubin-features=+ptx70 cubin-format=isa" -o %t.75.mlir
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx70 cubin-format=isa" -o %t.80.mlir
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_86 cubin-features=+ptx80 cubin-format=isa" -o %t.86.mlir
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_89 cubin-features=+ptx80 cubin-format=isa" -o %t.89.mlir
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.90.mlir
// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" -o %t.90a.mlir
//
// RUN: env ACT_DEVICE= %run-gpu %t.75.mlir -e kib150 | FileCheck %s
// RUN: env ACT_DEVICE= %run-gpu %t.80.mlir -e kib150 | FileCheck %s
// RUN: env ACT_DEVICE= not %run-gpu %t.75.mlir -e kib200 2>&1 | FileCheck %s --check-prefix=MOST163
// RUN: env ACT_DEVICE= not %run-gpu %t.80.mlir -e kib200 2>&1 | FileCheck %s --check-prefix=MOST163
// RUN: env ACT_DEVICE= %run-gpu %t.86.mlir -e kib90 | FileCheck %s
// RUN: env ACT_DEVICE= not %run-gpu %t.86.mlir -e kib150 2>&1 | FileCheck %s --check-prefix=MOST99
// RUN: env ACT_DEVICE= %run-gpu %t.89.mlir -e kib90 | FileCheck %s
// RUN: env ACT_DEVICE= not %run-gpu %t.89.mlir -e kib150 2>&1 | FileCheck %s --check-prefix=MOST99
// RUN: env ACT_DEVICE= %run-gpu %t.90.mlir -e kib200 | FileCheck %s
// RUN: env ACT_DEVICE= %run-gpu %t.90a.mlir -e kib200 | FileCheck %s
//
// RUN: env ACT_DEVICE=sim:sm_90a %run-gpu %t.75.mlir -e kib200 | FileCheck %s
// RUN: env ACT_DEVICE=sim:sm_86 %run-gpu %t.80.mlir -e kib90 | FileCheck %s
// RUN: env ACT_DEVICE=sim:sm_86 not %run-gpu %t.80.mlir -e kib150 2>&1 | FileCheck %s --check-prefix=MOST99
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.90a.mlir -e kib90 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: env ACT_DEVICE=sim:sm_42 not %run-gpu %t.80.mlir -e kib90 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: env ACT_DEVICE=cuda:0 not %run-gpu %t.80.mlir -e kib90 2>&1 | FileCheck %s --check-prefix=DRIVER

// CHECK: [42, 41]
// MOST163: 'mgpuLaunchKernel' failed: {{.*}}166912
// MOST99: 'mgpuLaunchKernel' failed: {{.*}}101376
// TARGET: 'mgpuModuleLoadJIT' failed: {{.*}}sm_90a{{.*}}sm_80
// NAME: failed: unknown simulated target 'sm_42'
// DRIVER: failed: {{.*}}libcuda.so.1

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // The first and the last word of shared memory.
    gpu.func @ends(%n: index, %out: memref<2xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c41 = arith.constant 41 : i32
      %t = gpu.thread_id x
      %t32 = arith.index_cast %t : index to i32
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %words = memref.view %bytes[%c0][%n] : memref<?xi8, #gpu.address_space<workgroup>>
        to memref<?xi32, #gpu.address_space<workgroup>>
      // Thread t writes one end, 41 + t, and reads the other.
      %last = arith.subi %n, %c1 : index
      %mine = arith.muli %t, %last : index
      %other = arith.subi %last, %mine : index
      %value = arith.addi %t32, %c41 : i32
      memref.store %value, %words[%mine] : memref<?xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %read = memref.load %words[%other] : memref<?xi32, #gpu.address_space<workgroup>>
      memref.store %read, %out[%t] : memref<2xi32>
      gpu.return
    }
  }

  func.func private @run(%kib: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %out = memref.alloc() : memref<2xi32>
    %any = memref.cast %out : memref<2xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    %words = arith.muli %kib, %c256 : index
    %bytes = arith.muli %kib, %c1024 : index
    %size = arith.index_cast %bytes : index to i32
    gpu.launch_func @kernels::@ends blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
      dynamic_shared_memory_size %size args(%words : index, %out : memref<2xi32>)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %out : memref<2xi32>
    return
  }
  func.func @kib90() {
    %kib = arith.constant 90 : index
    call @run(%kib) : (index) -> ()
    return
  }
  func.func @kib150() {
    %kib = arith.constant 150 : index
    call @run(%kib) : (index) -> ()
    return
  }
  func.func @kib200() {
    %kib = arith.constant 200 : index
    call @run(%kib) : (index) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
