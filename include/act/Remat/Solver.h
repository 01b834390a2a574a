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
// 1. A greedy descent with random restarts finds a schedule
// (lib/Remat/Greedy.h).
//    Its cost is a limit: no node that costs more is computed again in a better
//    one, which takes most nodes out of the question.
// 2. A relaxation that looks at few moments only is solved as a mixed-integer
//    program (lib/Remat/Relaxation.h). Its optimum is a lower bound.
// 3. Its solution is made a schedule. If that is under the budget at every
// step,
//    it is optimal. Otherwise the steps that exceed it are added to the
//    moments, the schedule is repaired to get a better limit, and 2 is
//    repeated.
//
// Effort is counted in iterations of the simplex method times rows, not
// in seconds: the same graph gives the same schedule everywhere, unless
// `seconds` is set. What is not finished then is the best found, and its bound.
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
  /// Of processor time; 0: no limit.
  double seconds = 0;
  /// Told of every program solved, one line.
  std::function<void(const std::string &)> log;
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
  /// No schedule under the budget has a smaller extra cost.
  int64_t lowerBound = 0;
  /// No schedule at all has a smaller peak.
  int64_t leastPeak = 0;
  double extraPercent = 0, boundPercent = 0; // of the graph's total cost
  double effort = 0;                         // what it took,
  int64_t nodes = 0, rounds = 0; // in programs solved, and in their nodes
};

/// Fails only if graph.check() does or the budget is negative.
Result<Answer> solve(const Graph &graph, int64_t budget,
                     const SolverOptions &options = {});

} // namespace act::remat
#endif
