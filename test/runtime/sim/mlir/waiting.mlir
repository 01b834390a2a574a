// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: %run-gpu %t.mlir | FileCheck %s
// RUN: not %run-gpu %t.mlir -e alone 2>&1 | FileCheck %s --check-prefix=ALONE

// Kernels on two streams, each of which comes to a meeting place and waits there
// until both have come. One that stays alone is a deadlock.

// CHECK: [2,  2,  2]
// ALONE: 'mgpuStreamSynchronize' failed: deadlock: come: waits for a word of memory to change
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @come(%place: memref<3xi32>, %mine: index) kernel {
      %c0 = arith.constant 0 : index
      %none = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %both = arith.constant 2 : i32
      memref.atomic_rmw addi %one, %place[%c0] : (i32, memref<3xi32>) -> i32
      scf.while : () -> () {
        %n = memref.atomic_rmw addi %none, %place[%c0] : (i32, memref<3xi32>) -> i32
        %fewer = arith.cmpi slt, %n, %both : i32
        scf.condition(%fewer)
      } do {
        scf.yield
      }
      memref.store %both, %place[%mine] : memref<3xi32>
      gpu.return
    }
  }
  func.func @meet(%count: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %none = arith.constant 0 : i32
    %host = memref.alloc() : memref<3xi32>
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c3 step %c1 {
      memref.store %none, %host[%i] : memref<3xi32>
    }
    %any = memref.cast %host : memref<3xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    %a0 = gpu.wait async
    %a1 = gpu.launch_func async [%a0] @kernels::@come
      blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%host : memref<3xi32>, %c1 : index)
    %two = arith.cmpi eq, %count, %c2 : index
    scf.if %two {
      %b0 = gpu.wait async
      %b1 = gpu.launch_func async [%b0] @kernels::@come
        blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%host : memref<3xi32>, %c2 : index)
      gpu.wait [%b1]
    }
    gpu.wait [%a1]
    gpu.host_unregister %any : memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    return
  }
  func.func @main() {
    %c2 = arith.constant 2 : index
    call @meet(%c2) : (index) -> ()
    return
  }
  func.func @alone() {
    %c1 = arith.constant 1 : index
    call @meet(%c1) : (index) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
