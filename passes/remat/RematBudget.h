// SPDX-License-Identifier: Apache-2.0
//
// --remat=budget: minimises recomputation time under a bound on the step's
// memory.
//
// 1. Each distinct layer gets candidates: the corners of its crossing
//    (act/Remat/Crossing.h), steps between two corners, the fixed policies'
//    choices, and segments of several layers. Each is measured
//    (RematMeasure.h). The layer's frontier is Pareto-optimal in cost, saved
//    bytes and working bytes. A function without layers gets the corners, equal
//    parts in one level and in two, and sets found from those (RematDescent.h).
// 2. The frontiers are composed over the layers (act/Remat/Compose.h): how many
//    layers use which choice. The time hardly depends on the number of layers.
// 3. The composition is written into a copy of the module and measured as the
//    memory report does. If it exceeds the budget, the target is lowered by the
//    prediction error and step 2 repeats, so the result was measured. With an
//    allocator the step is also replayed through it: choices for a series of
//    budgets and others, cheapest first, until the reserved bytes are within
//    the bound.
// 4. The whole step, layers written out, gives a lower bound (RematBound.h).
#ifndef ACT_PASSES_REMAT_REMATBUDGET_H
#define ACT_PASSES_REMAT_REMATBUDGET_H
#include "passes/memory/AllocatorReplay.h"
#include "passes/remat/RematMeasure.h"
#include "passes/remat/RematPolicy.h"

namespace act {

/// The memory of the step, as the report counts it.
struct StepBytes {
  int64_t peak = 0, total = 0;
  /// What `allocator` reserves on a card of unlimited size; 0 without one.
  int64_t reserved = 0;
};
/// Measures a copy of `module` under `plan`, which may be empty.
llvm::FailureOr<StepBytes>
measureStep(mlir::ModuleOp module, const RematPlan &plan,
            const std::optional<AllocatorChoice> &allocator = std::nullopt);

struct BudgetOptions {
  RematPolicy policy;
  Rates rates;
  int64_t states = 4000; // remat::compose
  /// If set, policy.totalBytes bounds what it reserves.
  std::optional<AllocatorChoice> allocator;
  /// With an allocator: additional plans to try.
  std::vector<RematPlan> plans;
};

struct BudgetAnswer {
  RematPlan plan;
  int64_t peakBytes = 0, totalPeakBytes = 0; // measured
  int64_t reservedBytes = 0;                 // with an allocator
  ProgramCost cost;
  /// Lower bound on the cost under the budget, for RematBound.h's space.
  int64_t boundCost = 0;
  bool complete = true; // the cheapest composition of its frontier was found
  double percent() const {
    return 100 * double(cost.again - cost.copies) / double(base());
  }
  double copiesPercent() const {
    return 100 * double(cost.copies) / double(base());
  }
  double gapPercent() const {
    return 100 * double(cost.again - boundCost) / double(base());
  }
  int64_t base() const { return cost.total - cost.again; }
  /// "total peak 23.1 GB of 24 GB, recompute +2.1 %, optimal within 0.4 %",
  /// with "copies +1.3 %, " in between where values may move.
  std::string text(const RematPolicy &policy) const;
};

/// `module` has a @grad without recomputation and is not changed. Emits an
/// error if no choice stays under the budget.
llvm::FailureOr<BudgetAnswer> planBudget(mlir::ModuleOp module,
                                         const BudgetOptions &options);

/// Of all choices considered, the one with the lowest memory, and its bytes.
struct LeastMemory {
  RematPlan plan;
  StepBytes bytes;
};
llvm::FailureOr<LeastMemory> leastMemory(mlir::ModuleOp module,
                                         const BudgetOptions &options);

} // namespace act
#endif
