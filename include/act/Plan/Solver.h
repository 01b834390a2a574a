// SPDX-License-Identifier: Apache-2.0
//
// Finds offsets. Buffers are placed one at a time, each into a gap that is free
// during its whole lifetime; all the art is in the order.
//
// 1. Several orders are tried: long-lived first (right for what nests), large
//    first, large area first, by birth, and by how crowded their worst moment
//    is; each with the tightest and with the lowest gap.
// 2. If none meets the lower bound, the best order is repaired: buffers that
//    stick out of the bound, and some that stand in their way, move forward in
//    the order, and the placement is repeated (squeaky wheel optimisation).
//
// Effort is counted in placed buffers, never in seconds: the same problem gives
// the same plan on every machine. A placement costs O(log n) lists of free
// ranges (lib/Plan/Occupancy.h), about a microsecond for training steps.
#ifndef ACT_PLAN_SOLVER_H
#define ACT_PLAN_SOLVER_H
#include "act/Plan/Problem.h"

namespace act::plan {

struct SolverOptions {
  /// Buffers placed during repair, after all orders have been tried; ten times as
  /// many while the arena is over 1 % above the bound.
  int64_t effort = 200'000;
  /// Stop as soon as the arena is at most (1 + goodEnough) * lower bound.
  double goodEnough = 0.001;
  uint64_t seed = 1;
};

/// Fails only if problem.check() does.
Result<Plan> solve(const Problem &problem, const SolverOptions &options = {});

} // namespace act::plan
#endif
