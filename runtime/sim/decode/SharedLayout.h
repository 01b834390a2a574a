// SPDX-License-Identifier: Apache-2.0
//
// Where .shared variables lie. As ptxas counts, a kernel has those that it, or
// what it calls, names; a variable of several kernels has one place in all:
//
//     kernel a   | common | a's own |
//     kernel b   | common | b's own      | .extern .shared, of dynamic size
#ifndef ACT_RUNTIME_SIM_DECODE_SHAREDLAYOUT_H
#define ACT_RUNTIME_SIM_DECODE_SHAREDLAYOUT_H
#include "act/Result.h"
#include "runtime/sim/Program.h"

namespace act::runtime::sim {

/// Fills in the placements of .shared variables, module-level ones and those of
/// functions, and what functions and kernels say of shared memory. Placements
/// exist, one per variable. An error: a kernel with more than 48 KiB.
Status layOutShared(Program &program);

} // namespace act::runtime::sim
#endif
