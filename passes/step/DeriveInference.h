// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_STEP_DERIVEINFERENCE_H
#define ACT_PASSES_STEP_DERIVEINFERENCE_H
#include "dialects/act/Dialect.h"

namespace act {
/// Turns a model that returns its loss into one that returns its logits.
/// Removes the loss, the labels, dropout, and every function except @forward
/// and its callees. From a model without a loss it removes only dropout.
llvm::LogicalResult deriveInference(mlir::ModuleOp module);

/// Removes dropout from @forward and from the layers that only @forward calls,
/// so that it evaluates the model that @step trains.
void stripDropout(mlir::ModuleOp module);
} // namespace act
#endif
