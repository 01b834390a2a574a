// SPDX-License-Identifier: Apache-2.0
//
// The cheapest schedule under a budget, with a proven lower bound on the cost.
//
// The search space is the stage-wise one of Checkmate (Jain et al., MLSys 2020)
// and Moccasin (Bartan et al., ICML 2023). A node may be computed again any
// number of times. First computations keep the given order. Between two of them
// a node is computed again at most once, in ascending order. `lowerBound` holds
// for every schedule of that space.
//
// 1. A greedy descent with random restarts (lib/Remat/Greedy.h) finds a
//    schedule. Its cost is an upper bound: a better schedule recomputes no node
//    that costs more, which excludes most nodes.
// 2. A relaxation that checks the budget at few moments only is solved as a
//    mixed-integer program (lib/Remat/Relaxation.h). Its optimum is a lower
//    bound.
// 3. Its solution becomes a schedule. If that is under the budget in every
//    step, it is optimal. Otherwise the steps above the budget are added to the
//    moments, the schedule is repaired for a better upper bound, and 2 repeats.
//
// Effort is counted in simplex iterations times rows, not in seconds: the same
// graph gives the same schedule everywhere, unless `seconds` is set. When
// either runs out, the result is the best schedule found, with its bound.
#ifndef ACT_REMAT_SOLVER_H
#define ACT_REMAT_SOLVER_H
#include "act/Remat/Graph.h"
#include <functional>

namespace act::remat {

struct SolverOptions {
  /// A unit takes about a second.
  double effort = 10;
  /// Stop when extraCost <= (1 + gap) * bound.
  double gap = 0;
  /// Limit on processor time; 0: none.
  double seconds = 0;
  /// Called with one line for every program solved.
  std::function<void(const std::string &)> log;
};

enum class Outcome {
  Optimal,    // under the budget, and nothing under it costs less
  Feasible,   // under the budget
  NotFound,   // above the budget: the schedule with the smallest peak found
  Impossible, // as NotFound, and nothing in the space is under the budget
};

struct Answer {
  Outcome outcome = Outcome::NotFound;
  std::vector<int32_t> schedule; // a node per step
  int64_t peakBytes = 0;
  int64_t extraCost = 0;
  /// No schedule under the budget has a smaller extra cost.
  int64_t lowerBound = 0;
  /// No schedule at all has a smaller peak.
  int64_t leastPeak = 0;
  double extraPercent = 0, boundPercent = 0; // of the graph's total cost
  double effort = 0;                         // spent, as in SolverOptions
  int64_t nodes = 0, rounds = 0; // of branch and bound; programs solved
};

/// Fails only if graph.check() does or the budget is negative.
Result<Answer> solve(const Graph &graph, int64_t budget,
                     const SolverOptions &options = {});

} // namespace act::remat
#endif
