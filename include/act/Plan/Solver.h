// SPDX-License-Identifier: Apache-2.0
//
// Finds offsets, in two ways.
//
// fit() places all buffers in a capacity, or says why it cannot be done:
//
//   auto plan = plan::fit(problem, 1 << 20);
//   if (!plan)
//     ... // no plan fits in 1048576 bytes: 1310720 bytes are live at 7
//
// solve() looks for the lowest arena. The plan has a lower bound for all plans
// (provenBytes), which shows whether it is optimal.
//
// Both first place greedily in several orders (lib/Plan/Greedy.h), then run a
// complete search (lib/Plan/SkylineSearch.h; lib/Plan/WindowSearch.h for
// buffers with gaps). Effort is counted in search nodes, never in seconds: the
// same problem gives the same plan on every machine.
#ifndef ACT_PLAN_SOLVER_H
#define ACT_PLAN_SOLVER_H
#include "act/Plan/Problem.h"

namespace act::plan {

struct SolverOptions {
  /// Search nodes of some microseconds each; a node over thousands of buffers
  /// counts as several.
  uint64_t nodes = 100'000;
  uint64_t seed = 3;
};

/// Fails only if problem.check() does or fixed buffers share bytes.
Result<Plan> solve(const Problem &problem, const SolverOptions &options = {});

/// A plan of at most `capacity` bytes. Fails if solve() would, if no such plan
/// exists, or if none was found within the nodes allowed; the message says
/// which.
Result<Plan> fit(const Problem &problem, int64_t capacity,
                 const SolverOptions &options = {});

} // namespace act::plan
#endif
