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
    each. The fastmath flag `afn` of an operation selects the fastest form.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelsToLlvmPass : Pass<"convert-kernels-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts kernels of threads to llvm and nvvm, all dialects at once";
  let description = [{
    Uses upstream's patterns for arith, cf, func, gpu, index, math, memref, nvvm and
    scf, and for dialects that register their own (vector, ub). An index has 64 bits,
    or 32 if all kernels of the module have `tile.index_bits = 32`. Operations that no
    pattern converts stay; a later error names them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def PrepareGpuKernelsPass : Pass<"prepare-gpu-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Records on kernels what a launch guarantees: block size, pointers";
  let description = [{
    A kernel with `tile.schedule` gets `known_block_size`, 32 threads a warp.
    Pointers to global memory are marked as aligned to 16 bytes, as every buffer
    is. Only an argument with `llvm.noalias` is marked as not overlapping others:
    results may be written in place.
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
    `nvvm.reqntid`. A kernel that moves registers between its warps keeps
    `nvvm.maxntid`, which `setmaxnreg` requires.
  }];
}

def CheckPtxTargetPass : Pass<"check-ptx-target", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Fails on operations that LLVM cannot compile for a GPU";
  let description = [{
    LLVM ends the process at an instruction that a GPU lacks. This pass runs on the
    LLVM dialect and reports the source operation first.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"",
           "sm_80, sm_86, sm_89 or sm_90a">
  ];
}
#endif
