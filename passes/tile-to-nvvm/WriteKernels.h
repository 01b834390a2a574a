// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels as a folder of files: NAME.ptx, NAME.cubin if wanted, and
// index.json (KernelIndex.h), which is written last: who reads the index finds
// its files.
#ifndef ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#define ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/PtxCache.h"

namespace act::tile {
/// `assembleFor`: the target to make cubins for, or empty, which are kept in
/// `cache`; their PTX then is what is made into them. Nothing is written before
/// all of them are made.
mlir::LogicalResult writeKernels(llvm::StringRef dir,
                                 llvm::MutableArrayRef<CompiledKernel> kernels,
                                 llvm::StringRef assembleFor,
                                 const PtxCache &cache, mlir::Location loc);
} // namespace act::tile
#endif
