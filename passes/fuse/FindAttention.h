// SPDX-License-Identifier: Apache-2.0
//
// Finds attention in any dialect. FuseAttention matches act ops only; this
// search lets it report attention in other ops, or in act ops that the matcher
// refuses, instead of skipping it silently.
//
//   product → ... → softmax → ... → product
//
// An op's kind comes from its name, so ops of unregistered dialects are found
// too; for linalg's generic ops it comes from the body. A softmax is an op of
// that name, or an exponential that a sum reads directly and that leads to the
// second product.
#ifndef ACT_PASSES_FUSE_FINDATTENTION_H
#define ACT_PASSES_FUSE_FINDATTENTION_H
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// Whether `op` depends on a matrix product and another matrix product depends
/// on `op`, directly or through other ops.
bool standsBetweenProducts(mlir::Operation *op);

/// Attention softmaxes other than `act.softmax`, and attention ops (by name) of
/// other dialects.
llvm::SmallVector<mlir::Operation *>
findForeignAttention(mlir::ModuleOp module);

} // namespace act
#endif
