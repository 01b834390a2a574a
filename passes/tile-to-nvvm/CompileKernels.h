// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of a module, compiled to PTX: each to a text of its own, which
// is looked for in a cache on disk first.
#ifndef ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#define ACT_PASSES_TILETONVVM_COMPILEKERNELS_H
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/PtxCache.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <vector>

namespace act::tile {

struct CompiledKernel {
  std::string name;                         ///< the entry in the PTX
  std::string ptx;                          ///< one kernel, with all it needs
  std::array<int64_t, 3> grid = {0, 0, 0};  ///< zeros: the launch decides
  std::array<int32_t, 3> block = {1, 1, 1}; ///< threads
  int64_t sharedBytes = 0;                  ///< dynamic, asked for at launch
  /// What the blocks of all programs have (BlockBytes.h); -1: memory decides.
  int64_t blockBytes = -1;
  mlir::gpu::GPUFuncOp source; ///< in the module that was given
  llvm::json::Object about;    ///< for the index: KernelIndex.h
  std::string key;             ///< its place in the cache; empty: none
};

/// Compiles copies of the kernels in all gpu.modules of `module`, or of the one
/// called `only`; in their order. Diagnostics say what is wrong. How much
/// shared memory they may need is not asked: see checkSharedMemory.
mlir::FailureOr<std::vector<CompiledKernel>>
compileKernels(mlir::ModuleOp module, const PtxOptions &options,
               const PtxCache &cache, llvm::StringRef only = "");

/// One launch: a kernel, or several of a module as one (JoinKernels.h).
struct LaunchedKernel {
  std::string name;
  struct Part {
    std::string kernel; ///< its name in the module
    int64_t times = 1;  ///< with as many sets of arguments
  };
  llvm::SmallVector<Part, 1> parts;
};

/// Compiles what `launched` are made of, each kernel's blocks once. One whose
/// parts cannot be one kernel has no PTX.
mlir::FailureOr<std::vector<CompiledKernel>>
compileLaunched(mlir::ModuleOp module, llvm::ArrayRef<LaunchedKernel> launched,
                const PtxOptions &options);

/// An error at the first kernel that needs more shared memory than `chip` has.
mlir::LogicalResult checkSharedMemory(llvm::ArrayRef<CompiledKernel> kernels,
                                      llvm::StringRef chip);

} // namespace act::tile
#endif
