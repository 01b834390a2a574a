// SPDX-License-Identifier: Apache-2.0
//
// Prints a Module as PTX text that parses to the same module.
//
// "Same" means the same instructions, operands, indices, sizes, bytes and
// source locations. The text lacks what a tree does not keep: comments, nested
// braces, pragmas, attributes, debug sections (and the target option `debug`
// that promises them). Names that were unique only within braces get a number
// ($1), and a register vector is printed as its parts, so printing is
// idempotent.
//
//     { .reg .b32 %r<2>; ... }              .reg .b32 %r0, %r1, %r0$2;
//     { .reg .b32 %r<2>; ... }
//
// A modified tree can be printed too if its indices are in range; a label that
// is used but has no name gets one.
#ifndef ACT_RUNTIME_SIM_PTX_PRINT_H
#define ACT_RUNTIME_SIM_PTX_PRINT_H
#include "runtime/sim/ptx/Ast.h"

namespace act::runtime::ptx {

std::string print(const Module &module);
/// One instruction of `function`, without the semicolon.
std::string print(const Module &module, const Function &function,
                  const Instruction &instruction);

} // namespace act::runtime::ptx
#endif
