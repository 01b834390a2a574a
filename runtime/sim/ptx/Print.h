// SPDX-License-Identifier: Apache-2.0
//
// Module → PTX text that parses to the same module.
//
// Same means: the same instructions, operands, indices, sizes, bytes and source
// locations. What a tree does not keep is gone from the text too: comments,
// nested braces, pragmas, attributes, debug sections (and
// the target option `debug` that promises them). Names that were only
// unique in their braces get a number ($1), and a vector of registers is its
// parts, so printing what was printed gives the same text.
//
//     { .reg .b32 %r<2>; ... }              .reg .b32 %r0, %r1, %r0$2;
//     { .reg .b32 %r<2>; ... }
//
// A tree that was changed can be printed too, as long as its indices are in
// range; a label that is referred to but has no name gets one.
#ifndef ACT_RUNTIME_SIM_PTX_PRINT_H
#define ACT_RUNTIME_SIM_PTX_PRINT_H
#include "runtime/sim/ptx/Ast.h"

namespace act::runtime::ptx {

std::string print(const Module &module);
/// One instruction as it stands in `function`, without the semicolon.
std::string print(const Module &module, const Function &function,
                  const Instruction &instruction);

} // namespace act::runtime::ptx
#endif
