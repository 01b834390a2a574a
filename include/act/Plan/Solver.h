// SPDX-License-Identifier: Apache-2.0
//
// Finds offsets, in two ways.
//
// fit() places all buffers in a capacity, or says why it cannot be done:
//
//   auto plan = plan::fit(problem, 1 << 20);
//   if (!plan) ... // no plan fits in 1048576 bytes: 1310720 bytes are live at
//   7
//
// solve() looks for the lowest arena. The plan says how low any plan can be
// (provenBytes), and so whether it is the best there is.
//
// Both try a few orders of placing first (lib/Plan/Greedy.h), and then search
// completely (lib/Plan/SkylineSearch.h; lib/Plan/WindowSearch.h for buffers
// parts of which are free at times). Effort is counted in nodes of the search,
// never in seconds: the same problem gives the same plan on every machine.
#ifndef ACT_PLAN_SOLVER_H
#define ACT_PLAN_SOLVER_H
#include "act/Plan/Problem.h"

namespace act::plan {

struct SolverOptions {
  /// Nodes of the search, each some microseconds; one over thousands of buffers
  /// counts as several.
  uint64_t nodes = 100'000;
  uint64_t seed = 3;
};

/// Fails only if problem.check() does or fixed buffers share bytes.
Result<Plan> solve(const Problem &problem, const SolverOptions &options = {});

/// A plan of at most `capacity` bytes. Fails if solve() would, if there is no
/// such plan, and if none was found with the nodes allowed; the message
/// says which.
Result<Plan> fit(const Problem &problem, int64_t capacity,
                 const SolverOptions &options = {});

} // namespace act::plan
#endif
