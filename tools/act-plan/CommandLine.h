// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTPLAN_COMMANDLINE_H
#define ACT_TOOLS_ACTPLAN_COMMANDLINE_H
#include <cstdint>
#include <optional>
#include <string>

namespace act::plantool {

struct CommandLine {
  std::string file; // "-": standard input
  std::optional<int64_t> capacity;
  std::optional<uint64_t> nodes;
  uint64_t seed = 3;
  bool minimize = false, validate = false, json = false;
};

/// Returns 0 and prints a plan on standard output, or 1 and a message.
int run(const CommandLine &line);

} // namespace act::plantool
#endif
