// SPDX-License-Identifier: Apache-2.0
//
// Replaces named block sizes, `tile.block_sizes` of a kernel, by numbers: those
// in the kernel, or others.
#ifndef ACT_PASSES_TILE_SETBLOCKSIZES_H
#define ACT_PASSES_TILE_SETBLOCKSIZES_H
#include "act/Result.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <map>

namespace act::tile {

using BlockSizes = std::map<std::string, int64_t>;

/// Reads "M=64,K=32", in elements, into `sizes`; each name once.
Status parseBlockSizes(llvm::StringRef text, BlockSizes &sizes);

/// Gives blocks of `kernel` these sizes wherever their extents have such a
/// name, and adapts all that follows from them. `tile.block_size` and a
/// `#tile.grid` become numbers, and the names are dropped. Fails with a
/// diagnostic if the kernel lacks such a name or a dimension cannot have that
/// size.
mlir::LogicalResult setBlockSizes(mlir::gpu::GPUFuncOp kernel,
                                  const BlockSizes &sizes);

} // namespace act::tile
#endif
