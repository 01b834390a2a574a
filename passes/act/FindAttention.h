// SPDX-License-Identifier: Apache-2.0
//
// Where an attention stands, in whatever dialect it is written. FuseAttention
// reads act ops; this only looks, so that a module of other ops, or of act ops
// that the matcher refuses, is not passed over without a word.
//
//   product → ... → softmax → ... → product
//
// An op's kind is read off its name, so that ops of dialects which nobody has
// registered are seen too; of linalg's generic ops it is read off the body. A
// softmax is an op of that name, or an exponential that a sum reads at once and
// that goes on to the second product.
#ifndef ACT_PASSES_ACT_FINDATTENTION_H
#define ACT_PASSES_ACT_FINDATTENTION_H
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// Whether `op` reads, through other ops, a product of matrices, and is read so
/// by another one.
bool standsBetweenProducts(mlir::Operation *op);

/// The softmaxes of attentions that are not `act.softmax`, and ops that are an
/// attention by name and not act's.
llvm::SmallVector<mlir::Operation *>
findForeignAttention(mlir::ModuleOp module);

} // namespace act
#endif
