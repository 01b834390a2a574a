// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_DOTWARPS_H
#define ACT_PASSES_TILE_DOTWARPS_H
#include "act/Layout/Distributed.h"
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// How warps share a dot's accumulator. The parts are as square as possible,
/// which minimises operand reads, unless one warp should hold whole rows. A
/// block that is also taken transposed is dealt by columns. None where the
/// warps cannot share it.
std::optional<act::Result<act::layout::Distributed>>
accumulatorOf(DotOp dot, int64_t warps);

/// Groups of warps along the rows and columns of a sum of this shape: as many
/// along the rows as have 64 of them each. 0 and 0 where groups cannot share
/// it.
std::pair<int64_t, int64_t> groupsOf(llvm::ArrayRef<int64_t> shape,
                                     int64_t groups);

/// Whether a warp group's instruction was chosen for the product.
bool isWgmma(DotOp dot);

/// Whether products of warp groups have begun to run asynchronously.
bool hasGroupProducts(mlir::Operation *kernel);

/// Whether a program may wait for others: it draws a ticket or waits for a
/// turn.
bool waitsForOthers(mlir::Operation *kernel);

/// Whether someone chose the kernel's schedule by hand. What it asks for in
/// vain gets a warning then; plans of generated kernels try things.
bool isByHand(mlir::Operation *kernel);

} // namespace act::tile
#endif
