// SPDX-License-Identifier: Apache-2.0
//
// Between the encoding of a tensor type and act::layout::Distributed.
#ifndef ACT_PASSES_TILE_LAYOUTS_H
#define ACT_PASSES_TILE_LAYOUTS_H

#include "act/Layout/Distributed.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

/// Of a type that has a layout (checkLayouts).
layout::Distributed distributed(mlir::RankedTensorType type);

/// A thread's code is as long as its blocks have registers; with more of them
/// than this, compiling it does not end in a reasonable time.
inline constexpr int64_t mostElementsOfThread = 4096;

/// Fails with a message at the first value of the kernel that is a block
/// without a layout.
mlir::LogicalResult checkLayouts(mlir::gpu::GPUFuncOp kernel);
/// Fails at the first block that no kernel has: of no element or too many, of
/// an unknown type, or one that no layout spreads over the kernel's threads.
mlir::LogicalResult checkBlocks(mlir::gpu::GPUFuncOp kernel);

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
