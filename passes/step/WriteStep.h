// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_STEP_WRITESTEP_H
#define ACT_PASSES_STEP_WRITESTEP_H
#include "dialects/act/Dialect.h"
#include <optional>
#include <string>

namespace act {
/// On a module with a @step: the option `loss-average` it was written with.
inline constexpr llvm::StringLiteral lossAverageAttr = "act.loss_average";

/// The options of --write-step; see Passes.td.
struct StepOptions {
  std::string optimizer = "adamw", master = "f32", gradDtype, stateDtype;
  int64_t microBatches = 1;
  std::string lossAverage = "labels", decayOn = "all";
  bool lossScale = false, gradNorm = false;
  double clip = 0, beta1 = 0.9, eps = 1e-8, momentum = 0;
  std::optional<double> beta2, weightDecay; ///< else the optimizer's own
};
/// Writes @update and @step for a module that has a @grad.
llvm::LogicalResult writeStep(mlir::ModuleOp module,
                              const StepOptions &options);
} // namespace act
#endif
