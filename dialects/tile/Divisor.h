// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_DIALECTS_TILE_DIVISOR_H
#define ACT_DIALECTS_TILE_DIVISOR_H

#include "mlir/IR/Value.h"

namespace act::tile {

/// The largest number known to divide an index, from its sums, products and
/// loops; 0, which every number divides, if the index is zero.
int64_t divisorOf(mlir::Value index);

} // namespace act::tile
#endif
