// SPDX-License-Identifier: Apache-2.0
//
// Successors and reachability of instructions.
#include "runtime/sim/program/ControlFlow.h"

namespace act::runtime::sim {

/// A guarded jump may not be taken, so it also goes on to the next instruction.
Successors successors(const ptx::Function &f, uint32_t index) {
  const ptx::Instruction &i = f.instructions[index];
  Successors s;
  if (i.root == "bra" && !i.operands.empty()) {
    s.targets.push_back(i.operands[0].symbol.index);
    s.goesOn = i.guard >= 0;
  } else if (i.root == "brx" && i.operands.size() > 1) {
    s.targets = f.branchTargets[i.operands[1].symbol.index];
    s.goesOn = i.guard >= 0;
  } else if (i.root == "ret" || i.root == "exit" || i.root == "trap") {
    s.goesOn = i.guard >= 0;
  }
  return s;
}

bool reaches(const ptx::Function &f, uint32_t from, uint32_t to) {
  std::vector<bool> seen(f.instructions.size());
  std::vector<uint32_t> open{from};
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    if (at >= f.instructions.size())
      continue;
    Successors s = successors(f, at);
    if (s.goesOn)
      s.targets.push_back(at + 1);
    for (uint32_t next : s.targets) {
      if (next == to)
        return true;
      if (next < seen.size() && !seen[next]) {
        seen[next] = true;
        open.push_back(next);
      }
    }
  }
  return false;
}

} // namespace act::runtime::sim
