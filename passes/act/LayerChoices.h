// SPDX-License-Identifier: Apache-2.0
//
// The ways to run a layer that are worth considering, measured.
#ifndef ACT_PASSES_ACT_LAYERCHOICES_H
#define ACT_PASSES_ACT_LAYERCHOICES_H
#include "passes/act/RematMeasure.h"

namespace act {

struct MeasuredRun {
  LayerRun run; // of one layer, or a segment
  UnitFigures figures;
};

struct PairChoices {
  int64_t layers = 0;
  /// None is above another in cost, saved and working bytes together.
  std::vector<MeasuredRun> choices;
  OpSet all; // ops of a layer
};

/// One entry for each pair of layer functions of @grad.
llvm::FailureOr<std::vector<PairChoices>>
findPairChoices(mlir::ModuleOp module, RematMeter &meter, const Rates &rates);

/// Sets of ops of @grad's own body that may run again; the first is none.
struct BodyChoices {
  std::vector<OpSet> sets;
  /// Each has the one before in it, and costs as much or more; for functions
  /// of many ops, which are too large for measuring much.
  bool way = false;
  unsigned apartBegin = 0; // LayerRuns.h
  /// Ops that may run again.
  std::vector<unsigned> places;
  /// Beside a way: all but the values at a number of narrow places, where
  /// little is alive, in equal distances (Chen et al. 2016 without layers); and
  /// the same in two levels, what lies between narrow places running apart.
  std::vector<OpSet> parts;
  OpSet apart; // the bits of all that does
  /// Beside a way, where values may be moved: some in which they are.
  std::vector<OpSet> moved;
};
/// `alone`: there are no layers.
llvm::FailureOr<BodyChoices> findBodyChoices(mlir::ModuleOp module,
                                             RematMeter &meter, bool alone,
                                             const Rates &rates);

} // namespace act
#endif
