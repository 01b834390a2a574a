// SPDX-License-Identifier: Apache-2.0
//
// The time of each kernel of a step.
#ifndef ACT_TOOLS_ACTRUN_LAUNCHTIMES_H
#define ACT_TOOLS_ACTRUN_LAUNCHTIMES_H
#include "tools/act-run/Model.h"

namespace act::run {

class LaunchTimes {
public:
  /// Call after each run of `function`. The first run, which loads code and
  /// touches memory for the first time, counts only if it is the only one.
  Status add(Model &model, const std::string &function);
  /// Prints a table to standard output, one line per kernel, the longest first.
  /// Also writes JSON to `jsonPath` if that is not empty.
  Status print(const std::string &jsonPath) const;

private:
  std::vector<Launch> launches; // milliseconds summed over the runs
  uint64_t runs = 0;
};

} // namespace act::run
#endif
