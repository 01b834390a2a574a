// SPDX-License-Identifier: Apache-2.0
//
// Says whether a schedule is right and what it needs, in so few lines that it
// obviously does. It shares no code with the solver.
#ifndef ACT_REMAT_EVALUATOR_H
#define ACT_REMAT_EVALUATOR_H
#include "act/Remat/Graph.h"

namespace act::remat {

struct Measured {
  int64_t peakBytes = 0;
  int64_t peakStep = 0;    // the first that needs as much
  int64_t extraCost = 0;   // of all computations but first ones
  double extraPercent = 0; // of the graph's total cost
};

/// The error names the step that breaks a rule of Graph.h.
Result<Measured> evaluate(const Graph &graph,
                          const std::vector<int32_t> &steps);

/// Every node once.
std::vector<int32_t> withoutRecomputation(const Graph &graph);

} // namespace act::remat
#endif
