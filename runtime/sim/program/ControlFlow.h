// SPDX-License-Identifier: Apache-2.0
//
// The control flow graph of a function. Instructions are named by index, which
// is the same in the tree and in FunctionCode::code.
#ifndef ACT_RUNTIME_SIM_PROGRAM_CONTROLFLOW_H
#define ACT_RUNTIME_SIM_PROGRAM_CONTROLFLOW_H
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>
#include <vector>

namespace act::runtime::sim {

struct Successors {
  std::vector<uint32_t> targets; // of a branch
  bool goesOn = true;            // may fall through to the next instruction
};
Successors successors(const ptx::Function &function, uint32_t index);

/// Whether `to` may be executed after `from`.
bool reaches(const ptx::Function &function, uint32_t from, uint32_t to);

} // namespace act::runtime::sim
#endif
