// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PLACEOF_H
#define ACT_PASSES_TILE_PLACEOF_H

#include "mlir/IR/Operation.h"

namespace act::tile {

/// Where a message about the op points: where it is, or, of one that stands for
/// several, like a folded constant, where its function is.
inline mlir::Location placeOf(mlir::Operation *op) {
  while (mlir::isa<mlir::UnknownLoc>(op->getLoc()) && op->getParentOp())
    op = op->getParentOp();
  return op->getLoc();
}

} // namespace act::tile

#endif
