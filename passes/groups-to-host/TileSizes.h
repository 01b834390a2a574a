// SPDX-License-Identifier: Apache-2.0
//
// Chooses a kernel's tile sizes, from shapes only.
//
//   rows          leading dimensions one by one, a long innermost one in runs
//   products      up to 256 x 256, at least 16 tiles where the shape has them
//   columns       of a reduction over rows: 32 or 64 at a time
//   across        a dimension that an operand is contiguous along and the
//                 result is not: long enough for squares
//
// A dimension is not tiled when that would repeat a reduction for every tile.
#ifndef ACT_PASSES_GROUPSTOHOST_TILESIZES_H
#define ACT_PASSES_GROUPSTOHOST_TILESIZES_H
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace act {

/// For a producer: which of its iteration dimensions each dimension of the
/// root is, when it is the same one along every path; -1 otherwise.
using DimMap = llvm::SmallVector<int64_t>;

struct Cone {
  llvm::MapVector<mlir::Operation *, DimMap> members; // in order of discovery
};

/// Everything that the root is computed from, with the root's dimensions
/// followed through indexing maps.
Cone collectCone(mlir::linalg::LinalgOp root);

/// A rough count of element operations, so that blocks are worth their call.
int64_t workOf(mlir::linalg::LinalgOp op);

/// A length for each iteration dimension of `root`; 0 leaves it whole.
llvm::SmallVector<int64_t> chooseTileSizes(mlir::linalg::LinalgOp root);

} // namespace act
#endif
