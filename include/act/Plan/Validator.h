// SPDX-License-Identifier: Apache-2.0
//
// Checks a plan. The check is short enough to be obviously right: it compares
// every pair of buffers. It shares no code with the solver and trusts nothing
// that the plan says about itself.
#ifndef ACT_PLAN_VALIDATOR_H
#define ACT_PLAN_VALIDATOR_H
#include "act/Plan/Problem.h"

namespace act::plan {

struct Verdict {
  int64_t lowerBoundBytes = 0;     // recomputed: most bytes in use at one time
  int64_t highestByte = 0;         // end of the buffer that reaches highest
  int64_t hints = 0, hintsMet = 0; // buffers with a hint, and those at theirs
};

/// Checks that every buffer has an offset that is aligned, inside the arena and
/// the given one if it is fixed, and that no two buffers alive at the same time
/// share a byte. The error names the two buffers.
Result<Verdict> validate(const Problem &problem, const Plan &plan);

} // namespace act::plan
#endif
