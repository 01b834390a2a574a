// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETONVVM_PASSES_TD
#define ACT_PASSES_TILETONVVM_PASSES_TD
include "mlir/Pass/PassBase.td"

def ExpandGpuMathPass : Pass<"expand-gpu-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Expands arith and math to PTX instructions, without libdevice";
  let description = [{
    Arithmetic on bf16 and f16 is done in f32, and each value is rounded to its
    type, as on the host. Functions become PTX's approximations, or polynomials
    where those are not accurate enough. The folder's README states the error of
    each. The fastmath flag `afn` of an operation selects the fastest form. The pass
    works on the code of one thread (`tile-lower-to-threads`) while it has loops.
    What is one instruction already stays.

    Before:
    ```mlir
    %0 = arith.addf %arg0, %arg1 : bf16
    ```
    After `--expand-gpu-math`:
    ```mlir
    %0 = arith.extf %arg0 : bf16 to f32
    %1 = arith.extf %arg1 : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelsToLlvmPass : Pass<"convert-kernels-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts kernels of threads to llvm and nvvm, all dialects at once";
  let description = [{
    Every kernel becomes an `llvm.func` in one conversion. `expand-gpu-math` comes
    first, because libdevice is not linked. Uses upstream's patterns for arith, cf,
    func, gpu, index, math, memref, nvvm and scf, and for dialects that register
    their own (vector, ub). An index has 64 bits, or 32 if all kernels of the module
    have `tile.index_bits = 32`. Operations that no pattern converts stay; a later
    error names them.

    Before:
    ```mlir
    %thread_id_x = gpu.thread_id  x
    %0 = arith.index_cast %thread_id_x : index to i32
    %1 = arith.addf %arg1, %arg1 : f32
    %2 = llvm.getelementptr %arg0[%0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %1, %2 : f32, !llvm.ptr<1>
    ```
    After `--convert-kernels-to-llvm`:
    ```mlir
    llvm.func @double(%arg0: !llvm.ptr<1>, %arg1: f32) attributes ...
      %0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 32> : i32
      %1 = llvm.sext %0 : i32 to i64
      %2 = llvm.trunc %1 : i64 to i32
      %3 = llvm.fadd %arg1, %arg1 : f32
      %4 = llvm.getelementptr %arg0[%2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %3, %4 : f32, !llvm.ptr<1>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def PrepareGpuKernelsPass : Pass<"prepare-gpu-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Records on kernels what a launch guarantees: block size, pointers";
  let description = [{
    A kernel with `tile.schedule` gets `known_block_size`, 32 threads a warp.
    Pointers to global memory are marked as aligned to 16 bytes, as every buffer is.
    Only an argument with `llvm.noalias` is marked as not overlapping others:
    results may be written in place. Functions that are not kernels, and an
    alignment that an argument already has, stay.

    Before:
    ```mlir
    gpu.func @kernel(%arg0: !llvm.ptr<1>, %arg1: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    ```
    After `--prepare-gpu-kernels`:
    ```mlir
    gpu.func @kernel(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64}, %arg1: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>, ...
    ```
  }];
  let options = [
    Option<"registers", "registers", "unsigned", "0",
           "maximum registers per thread; 0 means no limit">
  ];
}

def FinishGpuKernelsPass : Pass<"finish-gpu-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turns the maximum block size of kernels into the required one";
  let description = [{
    Upstream's conversion writes `nvvm.maxntid`. But a launch with any block size
    other than the one the kernel was compiled for is an error, so this becomes
    `nvvm.reqntid`. `nvvm.minctasm = 1` lets ptxas use all registers. A kernel that
    moves registers between its warps keeps `nvvm.maxntid`, which `setmaxnreg`
    requires.

    Before:
    ```mlir
    llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>} {
    ```
    After `--finish-gpu-kernels`:
    ```mlir
    llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>} {
    ```
  }];
}

def CheckPtxTargetPass : Pass<"check-ptx-target", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Fails on operations that LLVM cannot compile for a GPU";
  let description = [{
    LLVM ends the process at an instruction that a GPU lacks. This pass runs on the
    LLVM dialect, last in the pipeline, and reports the source operation first. It
    changes nothing.

    Before:
    ```mlir
    llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel} {
      nvvm.setmaxregister  increase 240
    ```
    After `--check-ptx-target`, on standard error:
    ```text
    ...: error: 'nvvm.setmaxregister' op needs sm_90a, but the target is sm_80
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"",
           "sm_80, sm_86, sm_89 or sm_90a">
  ];
}
#endif
