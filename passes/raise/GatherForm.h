// SPDX-License-Identifier: Apache-2.0
//
// Elements of a tensor at indices that are data: linalg.generic with one
// tensor.extract.
#ifndef ACT_PASSES_RAISE_GATHERFORM_H
#define ACT_PASSES_RAISE_GATHERFORM_H
#include "passes/raise/LinalgForm.h"

namespace act {

/// result[i0, i1, ...] = table[at(0), at(1), ...]
struct GatherForm {
  struct Index {
    std::optional<unsigned> loop; ///< a dimension of the result
    std::optional<Read> ids;      ///< integers, else `number`
    int64_t number = 0;
  };
  mlir::Value table;
  llvm::SmallVector<Index> at; ///< for each dimension of the table
};
std::optional<GatherForm> gatherOf(mlir::Operation *op);

struct Maker;
/// The gather as act.embedding of a table of rows: the last dimensions that are
/// read whole are the row.
mlir::Value embeddingFor(mlir::linalg::GenericOp op, const GatherForm &gather,
                         Maker &make);

} // namespace act
#endif
