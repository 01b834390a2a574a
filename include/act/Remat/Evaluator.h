// SPDX-License-Identifier: Apache-2.0
//
// Checks a schedule and measures what it needs. The code is short enough to be
// obviously right and shares nothing with the solver.
#ifndef ACT_REMAT_EVALUATOR_H
#define ACT_REMAT_EVALUATOR_H
#include "act/Remat/Graph.h"

namespace act::remat {

struct Measured {
  int64_t peakBytes = 0;
  int64_t peakStep = 0;    // the first step at the peak
  int64_t extraCost = 0;   // of all recomputations
  double extraPercent = 0; // of the graph's total cost
};

/// The error names the step that breaks a rule of Graph.h.
Result<Measured> evaluate(const Graph &graph,
                          const std::vector<int32_t> &steps);

/// The schedule that computes every node once.
std::vector<int32_t> withoutRecomputation(const Graph &graph);

} // namespace act::remat
#endif
