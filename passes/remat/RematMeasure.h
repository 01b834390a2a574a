// SPDX-License-Identifier: Apache-2.0
//
// Measures what a recomputation choice does to memory: writes it into a copy of
// the module, forms kernels and flattens, as the memory report does.
//
// A model has many equal layers, so a choice is measured on three units. They
// give what a unit saves (s), what it needs while it runs (w) and what is
// needed around the layers (b):
//
//   live   unit 0   unit 1   unit 2   behind   unit 2  ...
//           w        s+w      2s+w     3s+b     2s+w
#ifndef ACT_PASSES_REMAT_REMATMEASURE_H
#define ACT_PASSES_REMAT_REMATMEASURE_H
#include "passes/memory/OpCost.h"
#include "passes/remat/LayerRuns.h"
#include "passes/remat/RematPredict.h"

namespace act {

/// What to recompute: the runs of each pair of layer functions
/// (findSavedPairs), empty to leave it unchanged; and ops of @grad's own body.
struct RematPlan {
  llvm::SmallVector<llvm::SmallVector<LayerRun>> pairs;
  OpSet body;
  /// If false, the step stays unchanged, including its dead ops.
  bool any() const { return body.any() || !pairs.empty(); }
};

/// Writes the plan. `module` has a @grad without recomputation.
llvm::LogicalResult applyPlan(mlir::ModuleOp module, const RematPlan &plan);

struct PlanFigures {
  std::vector<UnitFigures> pairs;
  std::vector<int64_t> behind; // by pair: peak between it and the next pair, or
                               // backward, without what layers save
  int64_t apart = 0;           // peak while no layer has saved values
  int64_t peak = 0;
  ProgramCost cost;
};

/// A choice for the layers of one pair: equal units of one or more layers.
using UnitRuns = llvm::SmallVector<LayerRun>;

class RematMeter {
public:
  /// Keeps a copy of the part of `module` that @grad needs.
  RematMeter(mlir::ModuleOp module, const Rates &rates);

  /// Measures up to three units of each pair, with `body` recomputed in @grad
  /// itself. At most one pair may recompute, or costs cannot be told apart.
  llvm::FailureOr<PlanFigures> units(llvm::ArrayRef<LayerRun> unitOfPair,
                                     const OpSet &body);

  /// The predictor for choices of pair `p`, or of @grad's own body if `p` is
  /// -1.
  llvm::FailureOr<Predictor> predictor(int p);

  /// The peak and the costs of the whole @grad under `plan`.
  llvm::FailureOr<PlanFigures> whole(const RematPlan &plan);

private:
  struct Written;
  llvm::FailureOr<Written> write(llvm::ArrayRef<LayerRun> unitOfPair,
                                 const OpSet &body);

  mlir::OwningOpRef<mlir::ModuleOp> base; // its ops have placeAttr
  Rates rates;
};

} // namespace act
#endif
