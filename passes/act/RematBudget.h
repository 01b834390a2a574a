// SPDX-License-Identifier: Apache-2.0
//
// --remat=budget: the least time of recomputing such that a step's memory stays
// under a budget.
//
// 1. For each distinct layer, what may be worth keeping: the corners of its
//    crossing (act/Remat/Crossing.h), steps between two corners, the fixed
//    policies' choices, and segments of several layers. Each is measured
//    (RematMeasure.h); those that another is not above in cost, in what it
//    keeps and in what it needs while it runs are the layer's frontier. Of a
//    function without layers: the corners, what lies between equal parts of it,
//    in one level and in two, and sets from there on (RematDescent.h).
// 2. The frontiers are composed over the layers (act/Remat/Compose.h): how many
//    layers run in which way. That takes no longer for more layers than adding
//    numbers does.
// 3. The composition is written into a copy of the module and measured as the
//    memory report does. A budget that it would exceed is corrected by what
//    the prediction was off, and 2 repeated; so what is promised was measured.
//    With an allocator the step is replayed through it as well: choices for a
//    row of budgets, and others, from the cheapest on, until what it reserves
//    is within the bound.
// 4. The whole step, layers written out, gives a lower bound (RematBound.h).
#ifndef ACT_PASSES_ACT_REMATBUDGET_H
#define ACT_PASSES_ACT_REMATBUDGET_H
#include "passes/act/AllocatorReplay.h"
#include "passes/act/RematMeasure.h"
#include "passes/act/RematPolicy.h"

namespace act {

/// On a module: what a budget came to, as BudgetAnswer::text says it.
inline constexpr llvm::StringLiteral rematResultAttr = "act.remat_result";

/// The memory of the step, as the report counts it.
struct StepBytes {
  int64_t peak = 0, total = 0;
  /// What `allocator` reserves for it on a card of any size; 0 without one.
  int64_t reserved = 0;
};
/// Of a copy of `module` under `plan`, which may be empty.
llvm::FailureOr<StepBytes>
measureStep(mlir::ModuleOp module, const RematPlan &plan,
            const std::optional<AllocatorChoice> &allocator = std::nullopt);

struct BudgetOptions {
  RematPolicy policy;
  Rates rates;
  int64_t states = 4000; // remat::compose
  /// With one, policy.totalBytes bounds what it reserves.
  std::optional<AllocatorChoice> allocator;
  /// With an allocator these are tried, too.
  std::vector<RematPlan> plans;
};

struct BudgetAnswer {
  RematPlan plan;
  int64_t peakBytes = 0, totalPeakBytes = 0; // measured
  int64_t reservedBytes = 0;                 // with an allocator
  ProgramCost cost;
  /// Nothing in RematBound.h's space that stays under the budget costs less.
  int64_t boundCost = 0;
  bool complete = true; // the composition is the cheapest of its frontier
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

/// `module` has a @grad without recomputation and stays as it is. An error with
/// a message where no choice stays under the budget.
llvm::FailureOr<BudgetAnswer> planBudget(mlir::ModuleOp module,
                                         const BudgetOptions &options);

/// The choice that needs least memory of all that are considered, and what it
/// needs.
struct LeastMemory {
  RematPlan plan;
  StepBytes bytes;
};
llvm::FailureOr<LeastMemory> leastMemory(mlir::ModuleOp module,
                                         const BudgetOptions &options);

} // namespace act
#endif
