// SPDX-License-Identifier: Apache-2.0
//
// Counts the bytes that a kernel's programs must read and write.
//
// A program needs each of its blocks once, however often it loads it: a second
// load of the same block is not counted, nor is one that a loop repeats.
// Elements outside of a view are not counted. Programs share nothing.
//
// Block positions follow from the program's number and loop counters, so they
// are computed for each program of the grid. If only positions change in a
// loop, its first and last iterations determine the rest.
#ifndef ACT_PASSES_TILE_BLOCKBYTES_H
#define ACT_PASSES_TILE_BLOCKBYTES_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {
/// The kernel's attribute that --tile-count-block-bytes sets.
inline constexpr llvm::StringLiteral blockBytesName = "tile.block_bytes";
/// Set as well if the last program has half as many again as the first, or
/// more, for --tile-longest-first.
inline constexpr llvm::StringLiteral growingBytesName = "tile.growing_bytes";

struct BlockBytes {
  int64_t all = 0, first = 0, last = 0; // of programs
};

/// The sum over all programs, and those of two; nothing if values in memory decide which blocks
/// are read, or the launch how many programs there are. A gather, like an
/// atomic addition, counts as many elements as it has, plus its indices. Must
/// run before --tile-stage-loads, which reads ahead.
std::optional<BlockBytes> blockBytes(mlir::gpu::GPUFuncOp kernel);
} // namespace act::tile
#endif
