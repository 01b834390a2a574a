// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_DERIVEINFERENCE_H
#define ACT_PASSES_ACT_DERIVEINFERENCE_H
#include "dialects/act/Dialect.h"

namespace act {
/// Turns a model that returns its loss into one that returns its logits: the
/// loss, the labels and everything but @forward and what it calls go away, and
/// dropout with them. A model without a loss only loses its dropout.
llvm::LogicalResult deriveInference(mlir::ModuleOp module);

/// Removes dropout from @forward and the layers that only it calls, so that it
/// evaluates what @step trains.
void stripDropout(mlir::ModuleOp module);
} // namespace act
#endif
