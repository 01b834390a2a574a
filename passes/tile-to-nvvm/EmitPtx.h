// SPDX-License-Identifier: Apache-2.0
//
// From gpu.func kernels in upstream's dialects to PTX text, in this process.
//
//   gpu.module                    arith, math, scf, cf, index, gpu, nvvm, llvm
//       │ expand-gpu-math         no function of libdevice is left
//       │ prepare-gpu-kernels     block size, alignment
//       │ upstream's conversions
//       │ check-ptx-target        what LLVM would die of is an error with a
//       place ▼
//   gpu.module of llvm and nvvm
//       │ translation, LLVM's O3 without unrolling and without vectorisation
//       ▼
//   PTX text
//
// What holds for the code: a product and a sum are one fma only where the
// source says so; f32 keeps denormals (but see exp2 in README.md); loops stay
// loops, so its size is that of the source.
#ifndef ACT_PASSES_TILETONVVM_EMITPTX_H
#define ACT_PASSES_TILETONVVM_EMITPTX_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include <string>

namespace act::tile {

struct PtxOptions {
  std::string chip = "sm_80"; ///< one of ptxChips()
  unsigned registers = 0;     ///< the most a thread may have; 0: no cap
  /// Loops may keep the address of every access and step it, in functions where
  /// none is in another. Otherwise they compute addresses from the counter,
  /// with fewer registers.
  bool steppedAddresses = true;
};

/// sm_80, sm_86, sm_89, sm_90a.
llvm::ArrayRef<llvm::StringLiteral> ptxChips();
/// Bytes of shared memory that a block may have on one of them (CUDA C++
/// Programming Guide, technical specifications per compute capability).
int64_t sharedMemoryOf(llvm::StringRef chip);
/// An error when `chip` is none of them. It has no place: an option is wrong,
/// and nothing in a file.
mlir::LogicalResult checkChip(llvm::StringRef chip, mlir::MLIRContext *context);

/// The passes down to the llvm and nvvm dialects, on a gpu.module.
void buildGpuToLLVMPipeline(mlir::OpPassManager &pm, const PtxOptions &options);
/// Makes it known by the name lower-gpu-to-llvm. Once per process.
void registerPtxPipeline();

/// Compiles a copy of `module`. What is wrong is said through diagnostics.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp module,
                                     const PtxOptions &options);

/// Translates a gpu.module that the pipeline has brought to the llvm dialect.
mlir::FailureOr<std::string> translateToPtx(mlir::gpu::GPUModuleOp module,
                                            const PtxOptions &options);

/// The dialects and translations that emitPtx needs, for the registry of the
/// context that holds the module.
void registerPtxDialects(mlir::DialectRegistry &registry);

/// The gpu.module's handle on dynamic shared memory: an external variable of
/// no size, made on first use. A kernel's bytes of it are its
/// `tile.shared_bytes`.
inline constexpr llvm::StringLiteral dynamicSharedName = "act_dynamic_shared";
mlir::Operation *dynamicSharedMemory(mlir::gpu::GPUModuleOp module);

} // namespace act::tile
#endif
