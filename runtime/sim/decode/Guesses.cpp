// SPDX-License-Identifier: Apache-2.0
//
// Finds the loads whose value only a compare-and-swap compares (Guesses.h).
#include "runtime/sim/decode/Guesses.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Operand;

namespace {

bool has(const ptx::Instruction &i, const char *word) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), word) !=
         i.modifiers.end();
}

// The bytes of the type, which is the last modifier.
unsigned bytesOf(const ptx::Instruction &i) {
  return i.modifiers.empty() ? 0
                             : ptx::bytesOf(ptx::typeNamed(i.modifiers.back()));
}

// A scalar, weak ld from memory that other threads may access.
bool isPlainLoad(const ptx::Instruction &i) {
  static const char *const others[] = {
      "relaxed", "acquire", "volatile", "mmio",  "v2",
      "v4",      "v8",      "param",    "local", "const"};
  return i.root == "ld" &&
         std::none_of(std::begin(others), std::end(others),
                      [&](auto word) { return has(i, word); });
}

} // namespace

uint8_t atomicBytes(const ptx::Instruction &i) {
  return i.root == "atom" || i.root == "red" ? uint8_t(bytesOf(i)) : 0;
}

// Follows moves until nothing changes: a guess may be copied before it is
// compared.
std::vector<uint8_t> guessesOf(const ptx::Function &f) {
  std::vector<uint8_t> result(f.instructions.size());
  // By register: the widths, or-ed, of the atom.cas that compare its value or a
  // copy of it made by mov.
  std::vector<uint32_t> compared(f.registers.size());
  bool any = false;
  for (const ptx::Instruction &i : f.instructions)
    if (i.root == "atom" && has(i, "cas") && i.operands.size() > 2 &&
        i.operands[2].kind == Operand::Reg) {
      compared[i.operands[2].reg] |= bytesOf(i);
      any = true;
    }
  for (bool more = any; more;) {
    more = false;
    for (const ptx::Instruction &i : f.instructions)
      if (i.root == "mov" && i.operands.size() == 2 &&
          i.operands[0].kind == Operand::Reg &&
          i.operands[1].kind == Operand::Reg) {
        uint32_t &from = compared[i.operands[1].reg];
        const uint32_t to = compared[i.operands[0].reg];
        more |= (from | to) != from;
        from |= to;
      }
  }
  for (size_t k = 0; any && k < f.instructions.size(); ++k) {
    const ptx::Instruction &i = f.instructions[k];
    if (isPlainLoad(i) && !i.operands.empty() &&
        i.operands[0].kind == Operand::Reg)
      result[k] = uint8_t(compared[i.operands[0].reg] & bytesOf(i));
  }
  return result;
}

} // namespace act::runtime::sim
