// SPDX-License-Identifier: Apache-2.0
//
// The loss of a step whose batch is cut into micro-batches.
//
// @grad sees one micro-batch. What it returns for all of them has to add up to
// what it would return for one batch, and so have the gradients:
//
//   labels   ####.......  ###########      4 + 11 of the step's 15
//   loss     (sum of the losses of tokens) / 15, in each micro-batch
//            not / 4 and / 11, whose mean weighs a token of the first by 11/4
//
// So a mean becomes a sum over the labels of the step, which are counted before
// the first micro-batch runs, and the parts are added up as they are: no value
// is larger than in one batch. A sum of tokens' losses adds up already. Any
// other loss is averaged over the micro-batches, which is the loss of one batch
// if it is itself an average over as many elements in each.
#ifndef ACT_PASSES_ACT_STEPLOSS_H
#define ACT_PASSES_ACT_STEPLOSS_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// A number of labels of the step that @grad divides by.
struct StepLabels {
  unsigned labels; // the argument of @grad that holds a micro-batch's
  int64_t ignore;  // the label that is not counted
  mlir::RankedTensorType type; // of the number
};

struct StepLoss {
  /// What a micro-batch's loss counts in the sum of all, and its gradient.
  double share = 1;
  /// The arguments that @grad has got, after those it had: for each the labels
  /// of the step, times `share`.
  llvm::SmallVector<StepLabels> counts;
};

/// Changes @grad, which sees one of `microBatches`, two or more, so that losses
/// and gradients add up to those of one batch of all of them. Emits an error
/// and fails where a mean is taken over labels that are no input of @grad.
mlir::FailureOr<StepLoss> writeStepLoss(mlir::func::FuncOp grad,
                                        int64_t microBatches);

} // namespace act
#endif
