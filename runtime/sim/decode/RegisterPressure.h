// SPDX-License-Identifier: Apache-2.0
//
// How many 32-bit registers are live at once, at most: an estimate of what a
// thread needs. An assembler schedules anew and rounds up, so its count
// differs.
#ifndef ACT_RUNTIME_SIM_DECODE_REGISTERPRESSURE_H
#define ACT_RUNTIME_SIM_DECODE_REGISTERPRESSURE_H
#include "runtime/sim/Program.h"

namespace act::runtime::sim {

uint32_t registerPressure(const ptx::Function &tree, const FunctionCode &code);

} // namespace act::runtime::sim
#endif
