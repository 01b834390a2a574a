// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTREMAT_PRINT_H
#define ACT_TOOLS_ACTREMAT_PRINT_H
#include "act/Remat/Solver.h"
#include <string>

namespace act::rematool {

struct Found {
  int64_t budget = 0;
  int64_t basePeak = 0; // without recomputation
  remat::Answer answer;
};

std::string text(const Found &found);
/// If there is no schedule, says why and which budget would do.
std::string json(const Found &found);
bool hasSchedule(const Found &found);
/// Why there is none, and which budget would do.
Error noSchedule(const Found &found);

} // namespace act::rematool
#endif
