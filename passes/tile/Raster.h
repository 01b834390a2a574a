// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_RASTER_H
#define ACT_PASSES_TILE_RASTER_H
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

/// The program that a kernel with a raster starts as its `number`-th one,
/// counted along x first: of `rows` that start together, the order runs along
/// the columns. With raster = 2x4:
///
///     program  0 1 2 3      starts as  0 2 4 6
///              4 5 6 7                 1 3 5 7
///
/// So programs that run at the same time share columns as well as rows. The
/// last group may have fewer rows. Without a raster, `number`.
mlir::Value rasterNumber(mlir::Value number, mlir::gpu::GPUFuncOp kernel,
                         mlir::OpBuilder &b);

/// The position along an axis of the program with that number.
mlir::Value positionOf(mlir::Value number, GridAxis axis,
                       llvm::ArrayRef<int64_t> grid, mlir::OpBuilder &b);

} // namespace act::tile
#endif
