// SPDX-License-Identifier: Apache-2.0
//
// A matrix product is an operation with one result, whose body is
//
//   acc + f(a...) * g(b...)        or  acc + g(b...) * f(a...)
//
// where f reads only operands without the N dimensions and g only operands
// without the M dimensions (casts, scales and so on are allowed in f and g).
// Every iteration dimension is of one kind:
//
//   batch  in f, in g and in the result        M  in f and the result
//   N      in g and the result                 K  in f and g only
#ifndef ACT_PASSES_GROUPSTOHOST_CONTRACTIONMATCH_H
#define ACT_PASSES_GROUPSTOHOST_CONTRACTIONMATCH_H
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace act {

struct Contraction {
  llvm::SmallVector<unsigned> batch, m, n, k;
  mlir::Value lhs, rhs; // the factors, values of the body
  mlir::Operation *multiply, *add;
};

/// Depends only on the operation's own maps and body, so that the order of
/// additions does not change with fusion.
std::optional<Contraction> matchContraction(mlir::linalg::LinalgOp op);

} // namespace act
#endif
