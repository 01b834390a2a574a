// SPDX-License-Identifier: Apache-2.0
//
// Parses a budget: a fraction of the peak without recomputation (0.8), or bytes
// with a unit: 24GB = 24 * 10^9, 24GiB = 24 * 2^30, 1000B.
#ifndef ACT_TOOLS_ACTREMAT_BUDGET_H
#define ACT_TOOLS_ACTREMAT_BUDGET_H
#include "act/Result.h"
#include <cstdint>

namespace act::rematool {

/// Bytes, rounded down.
Result<int64_t> parseBudget(const std::string &text, int64_t peakBytes);

} // namespace act::rematool
#endif
