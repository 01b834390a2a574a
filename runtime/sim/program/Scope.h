// SPDX-License-Identifier: Apache-2.0
//
// What both an instruction and the record of its access say.
#ifndef ACT_RUNTIME_SIM_PROGRAM_SCOPE_H
#define ACT_RUNTIME_SIM_PROGRAM_SCOPE_H
#include <cstdint>

namespace act::runtime::sim {

enum class Scope : uint8_t { Cta, Cluster, Gpu, System };

/// Bits of the instruction index that is stored with an access, so the number
/// of instructions of a module is limited.
constexpr unsigned siteBits = 23;

} // namespace act::runtime::sim
#endif
