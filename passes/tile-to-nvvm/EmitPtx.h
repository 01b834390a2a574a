// SPDX-License-Identifier: Apache-2.0
//
// Compiles gpu.func kernels in upstream's dialects to PTX text, in this
// process.
//
//    gpu.module                    arith, math, scf, cf, index, gpu, nvvm, llvm
//        │ expand-gpu-math         removes all functions of libdevice
//        │ prepare-gpu-kernels     block size, alignment
//        │ upstream's conversions
//        │ check-ptx-target        errors where LLVM would abort
//        ▼
//    gpu.module of llvm and nvvm
//        │ translation, LLVM's O3 without unrolling and without vectorisation
//        ▼
//    PTX text
//
// Guarantees: a multiply and an add become an fma only where the source says
// so; f32 keeps denormals (but see exp2 in README.md); loops stay loops, so
// code size follows the source.
#ifndef ACT_PASSES_TILETONVVM_EMITPTX_H
#define ACT_PASSES_TILETONVVM_EMITPTX_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include <string>

namespace act::tile {

struct PtxOptions {
  std::string chip = "sm_80"; ///< a name in act/Target/Target.h
  unsigned registers = 0;     ///< limit per thread; 0: none
  /// Loops may keep every access's address in a register and step it, in
  /// functions without nested loops. Otherwise addresses are computed from the
  /// counter, with fewer registers.
  bool steppedAddresses = true;
};

/// The passes down to the llvm and nvvm dialects, on a gpu.module.
void buildGpuToLLVMPipeline(mlir::OpPassManager &pm, const PtxOptions &options);
/// Registers the pipeline as lower-gpu-to-llvm. Once per process.
void registerPtxPipeline();

/// Compiles a copy of `module`. Failures emit diagnostics.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp module,
                                     const PtxOptions &options);

/// Translates a gpu.module that the pipeline has lowered to the llvm dialect.
mlir::FailureOr<std::string> translateToPtx(mlir::gpu::GPUModuleOp module,
                                            const PtxOptions &options);

/// Registers the dialects and translations that emitPtx needs in the module's
/// context.
void registerPtxDialects(mlir::DialectRegistry &registry);

/// The gpu.module's symbol for dynamic shared memory: an external variable
/// without a size, created on first use. A kernel uses `tile.shared_bytes` of
/// it.
inline constexpr llvm::StringLiteral dynamicSharedName = "act_dynamic_shared";
mlir::Operation *dynamicSharedMemory(mlir::gpu::GPUModuleOp module);

} // namespace act::tile
#endif
