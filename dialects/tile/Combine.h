// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of tile.reduce and tile.scan compute.
#ifndef ACT_DIALECTS_TILE_COMBINE_H
#define ACT_DIALECTS_TILE_COMBINE_H
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// `a` and `c` combined: two numbers of one type, in upstream's arith.
mlir::Value createCombine(mlir::OpBuilder &b, mlir::Location loc,
                          CombineKind kind, mlir::Value a, mlir::Value c);

} // namespace act::tile
#endif
