// SPDX-License-Identifier: Apache-2.0
//
// A schedule in the solver's form. Stage t is the time from the first
// computation of t - 1 to that of t. Its recomputations are in ascending order,
// and t comes last.
#ifndef ACT_LIB_REMAT_TIMELINE_H
#define ACT_LIB_REMAT_TIMELINE_H
#include "lib/Remat/Instance.h"

namespace act::remat {

/// again[t]: the nodes computed again in stage t, ascending.
using Recomputations = std::vector<std::vector<int32_t>>;

struct Timeline {
  Timeline(const Instance &in, const Recomputations &again);

  std::vector<int32_t> steps, stage; // per step
  std::vector<int64_t> bytes;        // per step, workspace included
  std::vector<int32_t> lastUse;      // last step that uses the step's result
  int64_t peak = 0, extraCost = 0;

  /// Sum over the steps of the bytes above the budget.
  double excess(int64_t budget) const;
};

} // namespace act::remat
#endif
