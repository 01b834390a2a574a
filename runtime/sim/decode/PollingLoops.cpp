// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/decode/PollingLoops.h"
#include "runtime/sim/program/ControlFlow.h"
#include "runtime/sim/program/Program.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

bool isOneOf(const std::vector<std::string> &words, const char *word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether it may change what other CTAs see. A compare-and-swap does not count:
// loops spin with it.
bool acts(const ptx::Instruction &i) {
  if (i.root == "st")
    return !isOneOf(i.modifiers, "shared") && !isOneOf(i.modifiers, "local") &&
           !isOneOf(i.modifiers, "param");
  if (i.root == "atom")
    return !isOneOf(i.modifiers, "cas");
  return i.root == "red" || i.root == "cp" || i.root == "call";
}

} // namespace

std::vector<uint32_t> looksOf(const ptx::Function &f) {
  std::vector<uint32_t> result;
  for (uint32_t end = 0; end < f.instructions.size(); ++end)
    for (uint32_t begin : successors(f, end).targets) {
      if (begin > end || end - begin > longestPollingLoop)
        continue;
      auto first = f.instructions.begin() + begin,
           last = f.instructions.begin() + end;
      if (std::any_of(first, last, acts))
        continue;
      for (uint32_t i = begin; i < end; ++i)
        if (f.instructions[i].root == "ld")
          result.push_back(i);
    }
  return result;
}

} // namespace act::runtime::sim
