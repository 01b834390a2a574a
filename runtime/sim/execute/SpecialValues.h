// SPDX-License-Identifier: Apache-2.0
//
// The values of special registers.
#ifndef ACT_RUNTIME_SIM_EXECUTE_SPECIALVALUES_H
#define ACT_RUNTIME_SIM_EXECUTE_SPECIALVALUES_H
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/program/Special.h"

namespace act::runtime::sim {

/// The value in `lane`.
uint64_t valueOf(Special special, const Warp &warp, const Frame &frame,
                 unsigned lane);

} // namespace act::runtime::sim
#endif
