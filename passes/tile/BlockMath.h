// SPDX-License-Identifier: Apache-2.0
//
// What the passes ask about arithmetic on blocks: rows that are repeated, and
// products with constants.
#ifndef ACT_PASSES_TILE_BLOCKMATH_H
#define ACT_PASSES_TILE_BLOCKMATH_H

#include "dialects/tile/Dialect.h"
#include "mlir/IR/Builders.h"

namespace act::tile {

/// Whether the op is in a loop over blocks. A loop of a single iteration is
/// none any more; there an op counts whose result becomes another dot's
/// operand.
bool isOfLoop(mlir::Operation *op);

/// The value that `v` repeats, and the repeating ops, outermost first.
mlir::Value behindRepeats(mlir::Value v,
                          llvm::SmallVectorImpl<mlir::Operation *> &ops);

/// `v` repeated as these ops did it.
mlir::Value repeated(mlir::Value v, llvm::ArrayRef<mlir::Operation *> repeats,
                     mlir::OpBuilder &b);

/// A constant block of this type, or a number.
mlir::Value splat(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type,
                  double number);

bool isF32(mlir::Value v);

/// The factors x and k of a product with an ordinary constant.
struct Scaled {
  mlir::Value x;
  double by = 1;
};
Scaled scaledOf(mlir::Value v);

} // namespace act::tile
#endif
