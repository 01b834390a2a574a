// SPDX-License-Identifier: Apache-2.0
//
// The maximum number of live 32-bit registers: an estimate of what a thread
// needs. An assembler reschedules and rounds up, so its count differs.
#ifndef ACT_RUNTIME_SIM_DECODE_REGISTERPRESSURE_H
#define ACT_RUNTIME_SIM_DECODE_REGISTERPRESSURE_H
#include "runtime/sim/program/Program.h"

namespace act::runtime::sim {

uint32_t registerPressure(const ptx::Function &tree, const FunctionCode &code);

} // namespace act::runtime::sim
#endif
