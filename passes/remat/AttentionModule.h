// SPDX-License-Identifier: Apache-2.0
//
// Finds the attention ops in a layer's body, fused or in primitives.
//
//   x -- linear -- [rope, transpose, ..] --\
//   x -- linear -- ..                    ---- core -- [transpose, ..] -- linear
//   x -- linear ---------------------------/
//        '---------- the module ----------------------'
#ifndef ACT_PASSES_REMAT_ATTENTIONMODULE_H
#define ACT_PASSES_REMAT_ATTENTIONMODULE_H
#include "dialects/act/Dialect.h"

namespace act {

/// The ops of attention in `body`: the core (scores, softmax, their product
/// with V, or the fused op), or the whole module: the core, everything between
/// it and the products that make Q, K and V, those products, and what follows
/// up to the operand of the output projection.
llvm::DenseSet<mlir::Operation *> attentionModule(mlir::Block &body,
                                                  bool coreOnly);

} // namespace act
#endif
