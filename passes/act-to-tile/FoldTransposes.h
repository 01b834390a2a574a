// SPDX-License-Identifier: Apache-2.0
//
// Folds transposes of arguments into the reads.
//
// Heads that were in front of tokens become columns again before a projection:
//
//   x: [b, a, s, d] ─transpose─► [b, s, a, d] ─collapse─► [b s, a d] ─► x wᵀ
//
// A block of rows of the collapsed tensor could begin in one sequence and end
// in another. So the product, and what follows it, is rewritten to have [b, s]
// rows and [a, d] columns. It then reads x by the transposed map, from memory
// like any other argument.
//
// A prologue, computed element by element for a product, is computed in the
// product's shape: its arguments are reshaped instead of its result.
#ifndef ACT_PASSES_ACTTOTILE_FOLDTRANSPOSES_H
#define ACT_PASSES_ACTTOTILE_FOLDTRANSPOSES_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act::tile {
mlir::LogicalResult foldTransposes(mlir::func::FuncOp function);
} // namespace act::tile
#endif
