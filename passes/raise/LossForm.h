// SPDX-License-Identifier: Apache-2.0
//
// Cross entropy, in parts: log-probabilities, those of the labels, and what is
// summed of them.
#ifndef ACT_PASSES_RAISE_LOSSFORM_H
#define ACT_PASSES_RAISE_LOSSFORM_H
#include "dialects/act/Dialect.h"
#include "passes/raise/LinalgForm.h"

namespace act {

/// factor * the cross entropy of logits [..., classes] and labels [...].
struct LossMatch {
  mlir::Value logits, labels;
  std::optional<int64_t> ignore;
  Reduction reduction = Reduction::None;
  double factor = 1;
};
/// The loss that a value is, which its op is the last part of.
std::optional<LossMatch> lossOf(mlir::Value value);

} // namespace act
#endif
