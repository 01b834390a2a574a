// SPDX-License-Identifier: Apache-2.0
//
// Converts layouts without shared memory: lanes of a warp exchange values by
// shuffles.
#ifndef ACT_PASSES_TILE_THREADS_EXCHANGE_H
#define ACT_PASSES_TILE_THREADS_EXCHANGE_H

#include "act/Layout/Conversion.h"
#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

/// Converts the registers `in` of a block of `element`s to the target layout of
/// `c`, which must be a Shuffle.
Registers exchanged(const layout::Conversion &c, const Registers &in,
                    mlir::Type element, ThreadBuilder &t);

} // namespace act::tile
#endif
