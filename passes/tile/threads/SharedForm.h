// SPDX-License-Identifier: Apache-2.0
//
// How blocks lie in shared memory.
#ifndef ACT_PASSES_TILE_THREADS_SHAREDFORM_H
#define ACT_PASSES_TILE_THREADS_SHAREDFORM_H
#include "act/Layout/Shared.h"
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// How the blocks of a shared type are laid out, one after the other; those of
/// a transposed one as they are stored.
layout::Shared sharedForm(SharedType type);

/// Whether some op reaches shared memory by the copy engine or warp groups.
/// They permute chunks by the address itself, not by the row of the block.
bool reachesByAddress(mlir::Operation *kernel);
/// The alignment of memory, and the bytes from one slot to the next. By
/// address, both are whole groups of eight rows of the widest panel.
int64_t alignmentOf(SharedType type, bool byAddress);
int64_t slotBytes(SharedType type, bool byAddress);
int64_t bytesOf(SharedType type, bool byAddress);

/// Which thread copies which 16-byte piece of a panel, a block of [rows,
/// columns of the panel].
Result<layout::Distributed> copyLayout(const layout::Shared &form,
                                       const layout::Shared::Panel &panel,
                                       int64_t warps);

/// Swizzled shared memory for `slots` two-dimensional blocks; for 0, one block
/// without a slot dimension.
SharedType swizzledMemory(mlir::RankedTensorType block, int64_t slots = 0);
/// Replaces a conversion by a read of `shared`, which holds the converted block
/// or, for a transposed conversion, the block before the transpose.
void readFrom(mlir::Value shared, mlir::ValueRange slot,
              ConvertLayoutOp conversion, mlir::OpBuilder &b);

} // namespace act::tile
#endif
