// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_DIALECTS_TILE_DIVISOR_H
#define ACT_DIALECTS_TILE_DIVISOR_H

#include "mlir/IR/Value.h"

namespace act::tile {

/// The largest number that surely divides an index, as its sums, products and
/// loops say; 0, which every number divides, where it is zero.
int64_t divisorOf(mlir::Value index);

} // namespace act::tile
#endif
