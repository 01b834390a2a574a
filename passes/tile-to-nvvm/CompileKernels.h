// SPDX-License-Identifier: Apache-2.0
//
// Compiles every kernel of a module to a PTX text of its own, looking in the
// disk cache first.
#ifndef ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#define ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#include "passes/tile-to-nvvm/CompiledKernel.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/PtxCache.h"
#include <vector>

namespace act::tile {

/// Compiles copies of the kernels in all gpu.modules of `module`, or of the one
/// called `only`, in order. Failures emit diagnostics. The shared memory limit
/// is not checked: see checkSharedMemory.
mlir::FailureOr<std::vector<CompiledKernel>>
compileKernels(mlir::ModuleOp module, const PtxOptions &options,
               const PtxCache &cache, llvm::StringRef only = "");

/// One launch: a kernel, or several of a module as one (JoinKernels.h).
struct LaunchedKernel {
  std::string name;
  struct Part {
    std::string kernel; ///< its name in the module
    int64_t times = 1;  ///< number of argument sets
  };
  llvm::SmallVector<Part, 1> parts;
};

/// Compiles the launches, lowering each kernel's blocks once. A launch whose
/// parts cannot be joined has no PTX.
mlir::FailureOr<std::vector<CompiledKernel>>
compileLaunched(mlir::ModuleOp module, llvm::ArrayRef<LaunchedKernel> launched,
                const PtxOptions &options);

/// An error at the first kernel that needs more shared memory than `chip` has.
mlir::LogicalResult checkSharedMemory(llvm::ArrayRef<CompiledKernel> kernels,
                                      llvm::StringRef chip);

} // namespace act::tile
#endif
