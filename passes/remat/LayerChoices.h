// SPDX-License-Identifier: Apache-2.0
//
// Measures the recomputation choices for a layer that are worth considering.
#ifndef ACT_PASSES_REMAT_LAYERCHOICES_H
#define ACT_PASSES_REMAT_LAYERCHOICES_H
#include "passes/remat/RematMeasure.h"

namespace act {

struct MeasuredRun {
  LayerRun run; // one layer, or a segment
  UnitFigures figures;
};

struct PairChoices {
  int64_t layers = 0;
  /// The Pareto frontier in cost, saved bytes and working bytes.
  std::vector<MeasuredRun> choices;
  OpSet all; // the ops of a layer
};

/// One entry for each pair of layer functions of @grad.
llvm::FailureOr<std::vector<PairChoices>>
findPairChoices(mlir::ModuleOp module, RematMeter &meter, const Rates &rates);

/// Sets of ops of @grad's own body that may run again; the first is empty.
struct BodyChoices {
  std::vector<OpSet> sets;
  /// Each set contains the one before and costs as much or more. Used for
  /// functions of many ops, where measuring many sets takes too long.
  bool way = false;
  unsigned apartBegin = 0; // LayerRuns.h
  /// Ops that may run again.
  std::vector<unsigned> places;
  /// With `way`: sets that keep only the values at evenly spaced narrow places,
  /// where little is alive (Chen et al. 2016 without layers); and the same in
  /// two levels, where the ops between narrow places run apart.
  std::vector<OpSet> parts;
  OpSet apart; // the bits of all ops that run apart in `parts`
  /// With `way`, if values may be moved to the host: sets that move some.
  std::vector<OpSet> moved;
};
/// `alone`: the function has no layers.
llvm::FailureOr<BodyChoices> findBodyChoices(mlir::ModuleOp module,
                                             RematMeter &meter, bool alone,
                                             const Rates &rates);

} // namespace act
#endif
