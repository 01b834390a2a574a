// SPDX-License-Identifier: Apache-2.0
//
// Loops that read memory until it changes, and do nothing else that other CTAs
// may see.
#ifndef ACT_RUNTIME_SIM_DECODE_POLLINGLOOPS_H
#define ACT_RUNTIME_SIM_DECODE_POLLINGLOOPS_H
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>
#include <vector>

namespace act::runtime::sim {

/// The indices of the loads in such loops.
std::vector<uint32_t> looksOf(const ptx::Function &function);

} // namespace act::runtime::sim
#endif
