// SPDX-License-Identifier: Apache-2.0
//
// Places .shared variables. As in ptxas, a kernel holds those that it or its
// callees name. A variable of several kernels has the same offset in all:
//
//     kernel a   | common | a's own |
//     kernel b   | common | b's own      | .extern .shared, of dynamic size
#ifndef ACT_RUNTIME_SIM_DECODE_SHAREDLAYOUT_H
#define ACT_RUNTIME_SIM_DECODE_SHAREDLAYOUT_H
#include "act/Result.h"
#include "runtime/sim/program/Program.h"

namespace act::runtime::sim {

/// Fills in the offsets of all .shared variables, module-level and in
/// functions, and the shared memory fields of functions and kernels. Each
/// variable must have a placement already. A kernel above 48 KiB is an error.
Status layOutShared(Program &program);

} // namespace act::runtime::sim
#endif
