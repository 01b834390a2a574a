// SPDX-License-Identifier: Apache-2.0
//
// Block sizes with names, `tile.block_sizes` of a kernel, become numbers: those
// that the kernel was written with, or others.
#ifndef ACT_PASSES_TILE_SETBLOCKSIZES_H
#define ACT_PASSES_TILE_SETBLOCKSIZES_H
#include "act/Result.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <map>

namespace act::tile {

using BlockSizes = std::map<std::string, int64_t>;

/// Reads "M=64,K=32", in elements; adds to `sizes`, each name once.
Status parseBlockSizes(llvm::StringRef text, BlockSizes &sizes);

/// Blocks of `kernel` have extents of these sizes, and all that follows from
/// them, wherever they have those of such a name now; `tile.block_size` and a
/// `#tile.grid` are numbers, and names are gone. Fails, with a diagnostic,
/// where the kernel has no such name, and where a dimension cannot have that
/// size.
mlir::LogicalResult setBlockSizes(mlir::gpu::GPUFuncOp kernel,
                                  const BlockSizes &sizes);

} // namespace act::tile
#endif
