// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels as files: NAME.ptx, optionally NAME.cubin, and index.json
// (KernelIndex.h), which comes last so that readers of the index find all
// files.
#ifndef ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#define ACT_PASSES_TILETONVVM_WRITEKERNELS_H
#include "act/File/NamedBytes.h"
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/PtxCache.h"

namespace act::tile {
/// Names and bytes. `assembleFor` is the target for cubins, or empty for none.
/// Cubins are kept in `cache`, and the PTX is the one that they were made from.
mlir::FailureOr<std::vector<NamedBytes>>
filesOf(llvm::MutableArrayRef<CompiledKernel> kernels,
        llvm::StringRef assembleFor, const PtxCache &cache, mlir::Location loc);

/// Writes them to a folder, in their order.
mlir::LogicalResult writeKernels(llvm::StringRef dir,
                                 llvm::ArrayRef<NamedBytes> files,
                                 mlir::Location loc);
} // namespace act::tile
#endif
