// SPDX-License-Identifier: Apache-2.0
//
// Says whether a plan is right, in so few lines that it obviously is: every
// pair of buffers is compared. It shares no code with the solver and trusts
// nothing that the plan says about itself.
#ifndef ACT_PLAN_VALIDATOR_H
#define ACT_PLAN_VALIDATOR_H
#include "act/Plan/Problem.h"

namespace act::plan {

struct Verdict {
  int64_t lowerBoundBytes = 0;     // recomputed: most bytes in use at one time
  int64_t highestByte = 0;         // end of the buffer that reaches highest
  int64_t hints = 0, hintsMet = 0; // buffers with a hint, and those at it
};

/// Every buffer has an offset, aligned, inside the arena, its own if it is
/// fixed, and shares no byte with a buffer alive at the same time. The error
/// names the two buffers.
Result<Verdict> validate(const Problem &problem, const Plan &plan);

} // namespace act::plan
#endif
