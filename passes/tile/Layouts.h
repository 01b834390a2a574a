// SPDX-License-Identifier: Apache-2.0
//
// Converts between tensor encodings and act::layout::Distributed.
#ifndef ACT_PASSES_TILE_LAYOUTS_H
#define ACT_PASSES_TILE_LAYOUTS_H

#include "act/Layout/Distributed.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

/// The type must have a layout (checkLayouts).
layout::Distributed distributed(mlir::RankedTensorType type);

/// A thread's code grows with the registers of its blocks; beyond this limit it
/// does not compile in reasonable time.
inline constexpr int64_t mostElementsOfThread = 4096;

/// Fails with a message at the first value of the kernel that is a block
/// without a layout.
mlir::LogicalResult checkLayouts(mlir::gpu::GPUFuncOp kernel);
/// Fails at the first block that no kernel can have: empty or too large, of an
/// unknown type, or without a layout for the kernel's threads.
mlir::LogicalResult checkBlocks(mlir::gpu::GPUFuncOp kernel);

LayoutAttr attribute(mlir::MLIRContext *context,
                     const layout::Distributed &layout);
/// `type` with the layout as its encoding.
mlir::RankedTensorType with(mlir::RankedTensorType type,
                            const layout::Distributed &layout);

/// The same threads with their registers in the order of memory, where the
/// block's dimensions have these strides: adjacent elements in adjacent
/// registers.
layout::Distributed inOrderOf(llvm::ArrayRef<int64_t> strides,
                              const layout::Distributed &layout);

/// Bytes of one element in memory (i1 takes one).
int64_t bytesOf(mlir::Type element);

/// The same registers as a block of lower rank: leading dimensions are merged
/// into the first that stays, in row-major order.
mlir::RankedTensorType collapsed(mlir::RankedTensorType type, unsigned rank);

} // namespace act::tile
#endif
