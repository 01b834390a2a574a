// SPDX-License-Identifier: Apache-2.0
//
// The loss of a step whose batch is split into micro-batches.
//
// @grad sees one micro-batch. Its losses over all micro-batches have to add up
// to the loss of one batch, and so do the gradients:
//
//   labels   ####.......  ###########      4 + 11 of the step's 15
//   loss     (sum of the losses of tokens) / 15, in each micro-batch
//            not / 4 and / 11, whose mean weighs a token of the first by 11/4
//
// So a mean becomes a sum divided by the step's number of labels, counted
// before the first micro-batch runs, and the parts are simply added: no value
// is larger than in one batch. A sum of token losses adds up already. Any other
// loss is averaged over the micro-batches. That equals the loss of one batch if
// it is an average over the same number of elements in each.
#ifndef ACT_PASSES_STEP_STEPLOSS_H
#define ACT_PASSES_STEP_STEPLOSS_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// A label count of the whole step that @grad divides by.
struct StepLabels {
  unsigned labels; // the argument of @grad that holds a micro-batch's
  int64_t ignore;  // the label that is not counted
  mlir::RankedTensorType type; // of the number
};

struct StepLoss {
  /// The weight of a micro-batch's loss and gradient in the sum over all.
  double share = 1;
  /// The arguments appended to @grad: for each, the step's label count times
  /// `share`.
  llvm::SmallVector<StepLabels> counts;
};

/// Changes @grad so that losses and gradients of `microBatches`, at least two,
/// add up to those of one batch. Emits an error and fails if a mean is taken
/// over labels that are not an input of @grad.
mlir::FailureOr<StepLoss> writeStepLoss(mlir::func::FuncOp grad,
                                        int64_t microBatches);

} // namespace act
#endif
