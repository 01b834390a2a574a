// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_KERNELS_EXPANDLOSS_H
#define ACT_PASSES_KERNELS_EXPANDLOSS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Expands every fused linear + cross entropy, and its gradient, into an
/// `act.repeat` over chunks of tokens. Only one chunk's logits exist at a time,
/// and chunks are slices of the operands, not copies. Then expands the sum or
/// mean of every cross entropy into separate ops.
llvm::LogicalResult expandFusedLoss(mlir::ModuleOp module);
} // namespace act
#endif
