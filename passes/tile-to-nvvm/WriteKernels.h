// SPDX-License-Identifier: Apache-2.0
//
// Writes compiled kernels to a folder: NAME.ptx, optionally NAME.cubin, and
// index.json (KernelIndex.h), written last so that readers of the index find
// all files.
#ifndef ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#define ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/PtxCache.h"

namespace act::tile {
/// `assembleFor` is the target for cubins, or empty for none. Cubins are kept
/// in `cache`, and the PTX written is the one that they were made from. Nothing
/// is written until all are assembled.
mlir::LogicalResult writeKernels(llvm::StringRef dir,
                                 llvm::MutableArrayRef<CompiledKernel> kernels,
                                 llvm::StringRef assembleFor,
                                 const PtxCache &cache, mlir::Location loc);
} // namespace act::tile
#endif
