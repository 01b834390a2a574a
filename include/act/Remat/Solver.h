// SPDX-License-Identifier: Apache-2.0
//
// The cheapest schedule under a budget, with a proof of how cheap one can be.
//
// The space searched is the stage-wise one of Checkmate (Jain et al., MLSys
// 2020) and Moccasin (Bartan et al., ICML 2023): any node may be computed again
// any number of times, the order of first computations is the given one, and
// between two first computations a node is computed again at most once, in
// ascending order. `lowerBound` holds for every schedule of that space.
//
// 1. A greedy descent with random restarts finds a schedule (lib/Remat/Greedy.h).
//    Its cost is a limit: no node that costs more is computed again in a better
//    one, which takes most nodes out of the question.
// 2. A relaxation that looks at few moments only is solved as a mixed-integer
//    program (lib/Remat/Relaxation.h). Its optimum is a lower bound.
// 3. Its solution is made a schedule. If that is under the budget at every step,
//    it is optimal. Otherwise the steps that exceed it are added to the moments,
//    the schedule is repaired to get a better limit, and 2 is repeated.
//
// Effort is counted in branch-and-bound nodes and in rounds, not in seconds: the
// same graph gives the same schedule everywhere, unless `seconds` is set.
#ifndef ACT_REMAT_SOLVER_H
#define ACT_REMAT_SOLVER_H
#include "act/Remat/Graph.h"

namespace act::remat {

struct SolverOptions {
  int64_t nodes = 200'000; // of branch and bound, in all rounds together
  int64_t rounds = 200;
  double gap = 0;         // stop when extraCost <= bound + gap * bound
  double seconds = 0;     // of processor time; 0: no limit
};

enum class Outcome {
  Optimal,    // under the budget, and nothing under it costs less
  Feasible,   // under the budget
  NotFound,   // the schedule has the smallest peak found, above the budget
  Impossible, // the same, and nothing in the space is under the budget
};

struct Answer {
  Outcome outcome = Outcome::NotFound;
  std::vector<int32_t> schedule; // a node per step
  int64_t peakBytes = 0;
  int64_t extraCost = 0;
  /// Of the extra cost of every schedule under the budget.
  int64_t lowerBound = 0;
  double extraPercent = 0, boundPercent = 0; // of the graph's total cost
  int64_t nodes = 0, rounds = 0;             // what it took
};

/// Fails only if graph.check() does or the budget is negative.
Result<Answer> solve(const Graph &graph, int64_t budget,
                     const SolverOptions &options = {});

} // namespace act::remat
#endif
