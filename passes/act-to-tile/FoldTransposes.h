// SPDX-License-Identifier: Apache-2.0
//
// Transposed arguments, read where they lie.
//
// Heads that were in front of tokens become columns again before a projection:
//
//   x: [b, a, s, d] ─transpose─► [b, s, a, d] ─collapse─► [b s, a d] ─► x wᵀ
//
// A block of rows of that would begin in one sequence and end in another. The
// product is made one of [b, s] rows and [a, d] columns instead, and what
// follows it as well, and then reads x by the transposed map: memory like any
// other argument's.
//
// What is computed element by element for a product, a prologue, is computed in
// the product's shape: its arguments are collapsed or expanded, and not what is
// made of them.
#ifndef ACT_PASSES_ACTTOTILE_FOLDTRANSPOSES_H
#define ACT_PASSES_ACTTOTILE_FOLDTRANSPOSES_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act::tile {
mlir::LogicalResult foldTransposes(mlir::func::FuncOp function);
} // namespace act::tile
#endif
