// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's programs have to read and write, by their blocks.
//
// A program needs each of its blocks once, however often it loads it: of two
// loads of one block the second is not counted, nor is one that a loop repeats.
// What lies outside of a view is not there. Programs share nothing.
//
// Where blocks lie follows from the program's number and the counters of loops,
// so it is computed, for each program of the grid; of a loop in whose blocks
// nothing but the place changes, the first and the last iterations say it all.
#ifndef ACT_PASSES_TILE_BLOCKBYTES_H
#define ACT_PASSES_TILE_BLOCKBYTES_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {
/// The kernel's attribute that --tile-count-block-bytes sets.
inline constexpr llvm::StringLiteral blockBytesName = "tile.block_bytes";

/// Of all programs together; nothing where numbers in memory decide which
/// blocks are read, or the launch how many programs there are. A gather is as
/// many elements as it has, and so is an atomic addition: where they are is
/// added. Before loads are staged: --tile-stage-loads reads ahead.
std::optional<int64_t> blockBytes(mlir::gpu::GPUFuncOp kernel);
} // namespace act::tile
#endif
