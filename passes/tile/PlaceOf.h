// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PLACEOF_H
#define ACT_PASSES_TILE_PLACEOF_H

#include "mlir/IR/Operation.h"

namespace act::tile {

/// The location for a message about the op: its own or, for an op without one
/// (such as a folded constant), that of its function.
inline mlir::Location placeOf(mlir::Operation *op) {
  while (mlir::isa<mlir::UnknownLoc>(op->getLoc()) && op->getParentOp())
    op = op->getParentOp();
  return op->getLoc();
}

} // namespace act::tile

#endif
