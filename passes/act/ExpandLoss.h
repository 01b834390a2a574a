// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_EXPANDLOSS_H
#define ACT_PASSES_ACT_EXPANDLOSS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Writes every fused linear + cross entropy, and its gradient, as an
/// `act.repeat` over chunks of tokens: the logits of one chunk exist at a time,
/// and the chunks are slices of the operands, not copies. Then writes the sum
/// or mean of every cross entropy as ops of its own.
llvm::LogicalResult expandFusedLoss(mlir::ModuleOp module);
} // namespace act
#endif
