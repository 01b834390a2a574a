// SPDX-License-Identifier: Apache-2.0
//
// What a launch would have cost, as a table and as JSON.
#ifndef ACT_TOOLS_ACTRTSIM_PROFILE_H
#define ACT_TOOLS_ACTRTSIM_PROFILE_H
#include "runtime/sim/Simulator.h"

namespace act::simtool {

struct Profile {
  const runtime::sim::Target &target;
  const runtime::sim::KernelInfo &kernel;
  const runtime::sim::LaunchRequest &request;
  const runtime::sim::LaunchReport &report;
};
std::string table(const Profile &profile);
std::string json(const Profile &profile);

/// Blocks that fit on one multiprocessor, and what keeps more away.
struct Occupancy {
  uint32_t blocks = 0, warps = 0;
  const char *limit = "";
};
Occupancy occupancy(const Profile &profile);

} // namespace act::simtool
#endif
