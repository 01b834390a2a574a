// SPDX-License-Identifier: Apache-2.0
//
// How long each kernel of a step takes.
#ifndef ACT_TOOLS_ACTRUN_LAUNCHTIMES_H
#define ACT_TOOLS_ACTRUN_LAUNCHTIMES_H
#include "tools/act-run/Model.h"

namespace act::run {

class LaunchTimes {
public:
  /// After each run of `function`. The first one, in which code is loaded and
  /// memory touched for the first time, counts only if it stays the only one.
  Status add(Model &model, const std::string &function);
  /// Prints a table to standard output, a line per kernel, the longest first,
  /// and as JSON to `jsonPath` when it is not empty.
  Status print(const std::string &jsonPath) const;

private:
  std::vector<Launch> launches; // with the sum of the runs' milliseconds
  uint64_t runs = 0;
};

} // namespace act::run
#endif
