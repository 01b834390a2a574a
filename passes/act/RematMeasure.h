// SPDX-License-Identifier: Apache-2.0
//
// What a choice of recomputation does to memory, measured: it is written into a
// copy of the module, kernels are formed, and the launches written out, as the
// memory report does.
//
// The layers of a model are many and equal, so a choice is measured on three
// units of it, from which follows what a unit saves, what it needs while it
// runs and what is needed around the layers:
//
//   live   unit 0   unit 1   unit 2   behind   unit 2  ...
//           w        s+w      2s+w     3s+b     2s+w
#ifndef ACT_PASSES_ACT_REMATMEASURE_H
#define ACT_PASSES_ACT_REMATMEASURE_H
#include "passes/act/LayerRuns.h"
#include "passes/act/RematCost.h"
#include "passes/act/RematPredict.h"

namespace act {

/// What to recompute: for each pair of layers (findSavedPairs) its runs, none
/// if it is to stay as it is; and ops of @grad's own body.
struct RematPlan {
  llvm::SmallVector<llvm::SmallVector<LayerRun>> pairs;
  OpSet body;
  /// Without it the step stays as it is, ops that nobody needs included.
  bool any() const { return body.any() || !pairs.empty(); }
};

/// Writes the plan. `module` has a @grad without recomputation.
llvm::LogicalResult applyPlan(mlir::ModuleOp module, const RematPlan &plan);

struct PlanFigures {
  std::vector<UnitFigures> pairs;
  std::vector<int64_t> behind; // by pair: between it and the next, or backward
  int64_t apart = 0;           // where nothing of the layers is saved
  int64_t peak = 0;
  ProgramCost cost;
};

/// A choice for the layers of one pair: units of one or more layers, all alike.
using UnitRuns = llvm::SmallVector<LayerRun>;

class RematMeter {
public:
  /// Keeps a copy of what @grad needs of `module`.
  RematMeter(mlir::ModuleOp module, const Rates &rates);

  /// Measures up to three units of each pair in turn, beside `body`.
  llvm::FailureOr<PlanFigures> units(llvm::ArrayRef<LayerRun> unitOfPair,
                                     const OpSet &body);

  /// What predicts the choices of pair `p`, or of @grad's own body if it is -1.
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
