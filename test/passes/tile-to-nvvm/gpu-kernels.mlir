// RUN: act-opt %s --prepare-gpu-kernels=registers=128 | FileCheck %s --check-prefix=PREPARED
// RUN: act-opt %s --prepare-gpu-kernels --convert-gpu-to-nvvm | FileCheck %s --check-prefix=ALLOWED
// RUN: act-opt %s --prepare-gpu-kernels --convert-gpu-to-nvvm --finish-gpu-kernels | FileCheck %s --check-prefix=REQUIRED

// The block is that of the schedule, buffers are aligned, numbers are not.
// PREPARED-LABEL: gpu.func @kernel
// PREPARED-SAME: %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}
// PREPARED-SAME: %{{.*}}: !llvm.ptr<1> {llvm.align = 4 : i64}
// PREPARED-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i32)
// PREPARED-SAME: known_block_size = array<i32: 128, 1, 1>
// PREPARED-SAME: nvvm.maxnreg = 128
// PREPARED-LABEL: gpu.func @helper
// PREPARED-NOT: known_block_size
// PREPARED: gpu.func @moving

// A block of another size than the kernel is for cannot be launched.
// ALLOWED: llvm.func @kernel{{.*}}nvvm.maxntid = array<i32: 128, 1, 1>
// REQUIRED: llvm.func @kernel
// REQUIRED-NOT: nvvm.maxntid
// REQUIRED: nvvm.reqntid = array<i32: 128, 1, 1>

// But a kernel that moves registers between its warps asks for the former.
// REQUIRED: llvm.func @moving{{.*}}nvvm.maxntid = array<i32: 256, 1, 1>
gpu.module @kernels {
  gpu.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1> {llvm.align = 4 : i64}, %g: !llvm.ptr, %n: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    gpu.return
  }
  gpu.func @helper(%p: !llvm.ptr<1>) {
    gpu.return
  }
  gpu.func @moving() kernel attributes {tile.schedule = #tile.schedule<warps = 8, stages = 2>} {
    nvvm.setmaxregister increase 240
    gpu.return
  }
}
