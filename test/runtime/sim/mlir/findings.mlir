// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.mlir -e three_warps 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.mlir -e half_a_warp 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.mlir -e beyond 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: env ACT_DEVICE=sim:sm_80 not %run-gpu %t.mlir -e one_is_missing 2>&1 | FileCheck %s --check-prefix=MISSING

// What a check notices is an error of the launch. The program goes on and its
// process exits with 1. The first two are mistakes of upstream's lowering that
// a card need not show.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // gpu.all_reduce over three warps: three lanes store the sum of the warps'
    // sums into one place, and the second has only added two of them.
    gpu.func @three_warps(%out: memref<8xi32>) kernel {
      %one = arith.constant 1 : i32
      %c0 = arith.constant 0 : index
      %sum = gpu.all_reduce add %one uniform {} : (i32) -> i32
      %t = gpu.thread_id x
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        memref.store %sum, %out[%c0] : memref<8xi32>
      }
      gpu.return
    }

    // gpu.shuffle with a width of 16 becomes a shfl.sync of lanes 0 to 15, which
    // lanes 16 to 31 execute too.
    gpu.func @half_a_warp(%out: memref<8xi32>) kernel {
      %t = gpu.thread_id x
      %v = arith.index_cast %t : index to i32
      %k3 = arith.constant 3 : i32
      %width = arith.constant 16 : i32
      %third, %in = gpu.shuffle idx %v, %k3, %width : i32
      %c0 = arith.constant 0 : index
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        memref.store %third, %out[%c0] : memref<8xi32>
      }
      gpu.return
    }

    // Nine threads write eight elements.
    gpu.func @beyond(%out: memref<8xi32>) kernel {
      %t = gpu.thread_id x
      %v = arith.index_cast %t : index to i32
      memref.store %v, %out[%t] : memref<8xi32>
      gpu.return
    }

    // The second warp reads what the first wrote, without a barrier between.
    gpu.func @one_is_missing(%out: memref<8xi32>)
        workgroup(%shared : memref<64xi32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      %c63 = arith.constant 63 : index
      %v = arith.index_cast %t : index to i32
      memref.store %v, %shared[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      %other = arith.subi %c63, %t : index
      %w = memref.load %shared[%other] : memref<64xi32, #gpu.address_space<workgroup>>
      %c8 = arith.constant 8 : index
      %few = arith.cmpi ult, %t, %c8 : index
      scf.if %few {
        memref.store %w, %out[%t] : memref<8xi32>
      }
      gpu.return
    }
  }

  // THREE: 'mgpuLaunchKernel' failed: race: three_warps:
  // THREE: st.shared
  // THREE: went on
  func.func @three_warps() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 96 : index
    %out = memref.alloc() : memref<8xi32>
    %any = memref.cast %out : memref<8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@three_warps blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
      args(%out : memref<8xi32>)
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %out : memref<8xi32>
    vector.print str "went on\n"
    return
  }

  // HALF: 'mgpuLaunchKernel' failed: invalid-operation: half_a_warp:
  // HALF: shfl.sync.idx.b32 {{.*}}thread (16,0,0)
  // HALF: went on
  func.func @half_a_warp() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 32 : index
    %out = memref.alloc() : memref<8xi32>
    %any = memref.cast %out : memref<8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@half_a_warp blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
      args(%out : memref<8xi32>)
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %out : memref<8xi32>
    vector.print str "went on\n"
    return
  }

  // BEYOND: 'mgpuLaunchKernel' failed: out-of-bounds: beyond: writes 4 bytes
  // BEYOND: thread (8,0,0)
  // BEYOND: went on
  func.func @beyond() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 9 : index
    %out = memref.alloc() : memref<8xi32>
    %any = memref.cast %out : memref<8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@beyond blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
      args(%out : memref<8xi32>)
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %out : memref<8xi32>
    vector.print str "went on\n"
    return
  }

  // MISSING: 'mgpuLaunchKernel' failed: race: one_is_missing:
  // MISSING: other side: {{st|ld}}.shared
  // MISSING: uninitialised: one_is_missing:
  // MISSING: went on
  func.func @one_is_missing() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 64 : index
    %out = memref.alloc() : memref<8xi32>
    %any = memref.cast %out : memref<8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@one_is_missing blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
      args(%out : memref<8xi32>)
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %out : memref<8xi32>
    vector.print str "went on\n"
    return
  }
}
