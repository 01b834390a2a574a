// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETONVVM_PASSES_TD
#define ACT_PASSES_TILETONVVM_PASSES_TD
include "mlir/Pass/PassBase.td"

def ExpandGpuMathPass : Pass<"expand-gpu-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Brings arith and math operations to what PTX has, without libdevice";
  let description = [{
    Arithmetic on bf16 and f16 is done in f32 and each value rounded to its
    type, as the host does. Functions become PTX's approximations, or
    polynomials where those are not good enough; the folder's README states the
    error of each. The flag `afn` of an operation's fastmath asks for the
    fastest form.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelsToLlvmPass : Pass<"convert-kernels-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts kernels of threads to llvm and nvvm, all dialects at once";
  let description = [{
    Upstream's patterns for arith, cf, func, gpu, index, math, memref, nvvm and scf, and
    for dialects that say theirs (vector, ub). An index has 64 bits,
    or 32 where all kernels of the module have `tile.index_bits = 32`. What none of them
    converts stays, and is named later.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def PrepareGpuKernelsPass : Pass<"prepare-gpu-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Writes what a launch promises onto kernels: block size, pointers";
  let description = [{
    A kernel with `tile.schedule` gets `known_block_size`, 32 threads a warp.
    Pointers to global memory are aligned to 16 bytes, which every buffer is.
    That two pointers do not overlap is only said where the argument has
    `llvm.noalias`: results may be written in place.
  }];
  let options = [
    Option<"registers", "registers", "unsigned", "0",
           "the most registers that a thread may have; 0: as many as there are">
  ];
}

def FinishGpuKernelsPass : Pass<"finish-gpu-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turns the block size that kernels allow into the one they require";
  let description = [{
    Upstream's conversion writes `nvvm.maxntid`; a launch with another block
    size than the kernel was compiled for is an error all the same, so it
    becomes `nvvm.reqntid`, which says so. A kernel that moves registers between
    its warps keeps the former, which `setmaxnreg` asks for.
  }];
}

def CheckPtxTargetPass : Pass<"check-ptx-target", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Fails on operations that LLVM cannot compile for a GPU";
  let description = [{
    LLVM ends the process at an instruction that a GPU lacks. This pass, which
    runs on the LLVM dialect, says first which operation of the source it is.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"",
           "sm_80, sm_86, sm_89 or sm_90a">
  ];
}
#endif
