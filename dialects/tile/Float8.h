// SPDX-License-Identifier: Apache-2.0
//
// 8-bit floats in upstream's arith. LLVM has no type for them, and targets
// before sm_89 no instruction.
#ifndef ACT_DIALECTS_TILE_FLOAT8_H
#define ACT_DIALECTS_TILE_FLOAT8_H
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// f8E4M3FN or f8E5M2.
bool isFloat8(mlir::Type type);

/// `v` as an f32, exactly.
mlir::Value createExtFloat8(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value v);

/// Rounds an f64, f32, f16 or bf16 to an 8-bit float like PTX's
/// cvt.rn.satfinite: to nearest, ties to even; values that are too large,
/// infinity included, become the largest number; NaN becomes the positive NaN
/// with all bits set.
mlir::Value createTruncFloat8(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value v, mlir::Type to);

} // namespace act::tile
#endif
