// SPDX-License-Identifier: Apache-2.0
//
// Functions that every CUDA program may call but does not define: vprintf,
// __assertfail, malloc, free.
#ifndef ACT_RUNTIME_SIM_EXECUTE_BUILTINS_H
#define ACT_RUNTIME_SIM_EXECUTE_BUILTINS_H
#include "runtime/sim/execute/Machine.h"
#include <string>
#include <vector>

namespace act::runtime::sim {

/// Arguments and results are offsets into each lane's local memory.
using Builtin = Step (*)(Context &, const Instruction &,
                         const std::vector<uint64_t> &arguments,
                         const std::vector<uint64_t> &results);
/// Null for unknown names.
Builtin builtinNamed(const std::string &name);

} // namespace act::runtime::sim
#endif
