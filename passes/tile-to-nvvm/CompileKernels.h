// SPDX-License-Identifier: Apache-2.0
//
// Compiles every kernel of a module to a PTX text of its own, looking in the
// disk cache first.
#ifndef ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#define ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/PtxCache.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <vector>

namespace act::tile {

struct CompiledKernel {
  std::string name; ///< the entry in the PTX
  std::string ptx;  ///< one kernel and all its dependences
  std::array<int64_t, 3> grid = {0, 0, 0};  ///< zeros: chosen at launch
  std::array<int32_t, 3> block = {1, 1, 1}; ///< threads
  int64_t sharedBytes = 0;                  ///< dynamic, requested at launch
  /// Bytes moved by the blocks of all programs (BlockBytes.h); -1: unknown.
  int64_t blockBytes = -1;
  mlir::gpu::GPUFuncOp source; ///< in the original module
  llvm::json::Object about;    ///< for the index: KernelIndex.h
  std::string key;             ///< its key in the cache; empty: none
};

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
