// SPDX-License-Identifier: Apache-2.0
//
// The estimated cost of a launch, as a table and as JSON.
#ifndef ACT_TOOLS_ACTRTSIM_PROFILE_H
#define ACT_TOOLS_ACTRTSIM_PROFILE_H
#include "runtime/sim/Simulator.h"
#include <vector>

namespace act::simtool {

struct Profile {
  const runtime::sim::Target &target;
  const runtime::sim::KernelInfo &kernel;
  const runtime::sim::LaunchRequest &request;
  const runtime::sim::LaunchReport &report;
};
std::string table(const Profile &profile);
std::string json(const Profile &profile);

/// Blocks that fit on one multiprocessor, and the resource that limits them.
struct Occupancy {
  uint32_t blocks = 0, warps = 0;
  const char *limit = "";
};
Occupancy occupancy(const Profile &profile);

/// The minimum time that one unit of the target's common card needs for the
/// counted work, if it never waits. Not a prediction: counts do not tell which
/// units overlap.
struct Bound {
  const char *unit;
  double microseconds;
};
std::vector<Bound> bounds(const Profile &profile);

} // namespace act::simtool
#endif
