// SPDX-License-Identifier: Apache-2.0
//
// Names for messages.
#include "runtime/sim/program/Program.h"

namespace act::runtime::sim {

Site Program::site(uint32_t index) const {
  Site s;
  if (index >= sites.size())
    return s;
  const ptx::Location &l = sites[index];
  s.ptxLine = l.line;
  if (l.file < tree->files.size())
    s.sourceFile = tree->files[l.file];
  s.sourceLine = l.sourceLine;
  s.spelling = spellings[index];
  return s;
}

std::string Program::registerAt(const FunctionCode &function,
                                uint32_t slot) const {
  const ptx::Function &f =
      tree->functions[size_t(&function - functions.data())];
  for (size_t r = 0; r < function.registerSlots.size(); ++r)
    if (function.registerSlots[r] == slot)
      return f.registers[r].name;
  return "";
}

} // namespace act::runtime::sim
