// SPDX-License-Identifier: Apache-2.0
//
// Between the encoding of a tensor type and act::layout::Distributed.
#ifndef ACT_PASSES_TILE_LAYOUTS_H
#define ACT_PASSES_TILE_LAYOUTS_H

#include "act/Layout/Distributed.h"
#include "dialects/tile/Dialect.h"

namespace act::tile {

layout::Distributed distributed(mlir::RankedTensorType type);
LayoutAttr attribute(mlir::MLIRContext *context,
                     const layout::Distributed &layout);
/// `type` with the layout as its encoding.
mlir::RankedTensorType with(mlir::RankedTensorType type,
                            const layout::Distributed &layout);

/// The last two dimensions change places.
layout::Distributed swapped(const layout::Distributed &layout);

/// The same registers as a block of lower rank: dimensions in front are one
/// with the first that stays, in row-major order.
mlir::RankedTensorType collapsed(mlir::RankedTensorType type, unsigned rank);

} // namespace act::tile
#endif
