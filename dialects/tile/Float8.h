// SPDX-License-Identifier: Apache-2.0
//
// Floats of 8 bits in upstream's arith. LLVM has no type for them, and targets
// before sm_89 no instruction.
#ifndef ACT_DIALECTS_TILE_FLOAT8_H
#define ACT_DIALECTS_TILE_FLOAT8_H
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// f8E4M3FN or f8E5M2.
bool isFloat8(mlir::Type type);

/// `v` as an f32; every such number is one.
mlir::Value createExtFloat8(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value v);

/// An f64, f32, f16 or bf16 as a float of 8 bits, as PTX's cvt.rn.satfinite has
/// it: to nearest, ties to even; what is too large, infinity too, is the
/// largest number; a NaN is the positive one with all bits set.
mlir::Value createTruncFloat8(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value v, mlir::Type to);

} // namespace act::tile
#endif
