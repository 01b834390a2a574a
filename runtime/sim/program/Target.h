// SPDX-License-Identifier: Apache-2.0
//
// The architectures that can be simulated, and the targets that run on them.
#ifndef ACT_RUNTIME_SIM_PROGRAM_TARGET_H
#define ACT_RUNTIME_SIM_PROGRAM_TARGET_H
#include "act/Result.h"
#include <cstdint>
#include <string>

namespace act::runtime::sim {

struct Target {
  std::string name;    // "sm_90a"
  uint32_t sm = 90;    // 80, 86, 89, 90
  char suffix = 0;     // 'a' has the architecture-specific instructions
  uint32_t processors; // SMs of the common card
  uint32_t sharedBytesPerBlock, sharedBytesPerSm; // opt-in maximum
  uint32_t registersPerSm = 65536, warpsPerSm, blocksPerSm;
  // for the performance bound: per SM and clock
  double clockGHz, memoryBytesPerClock, sharedBytesPerClock = 128;
  double tensorFlops; // bf16, f32 accumulate
  double f32Flops, exp2PerClock = 16;
};

/// Whether code for `sm` and `suffix` runs there: plain code on its own
/// architecture and later ones, code with a suffix only on its own.
inline bool runs(const Target &on, uint32_t sm, char suffix) {
  return suffix ? sm == on.sm && on.suffix == suffix : sm <= on.sm;
}
/// "sm_80", "sm_86", "sm_89", "sm_90a" (and "sm_90").
Result<Target> targetNamed(const std::string &name);
/// The lowest simulated target that runs code made for `sm` and `suffix`
/// (sm_50 ... sm_80 → sm_80; sm_90, sm_90a → sm_90a).
Result<Target> targetFor(uint32_t sm, char suffix);

} // namespace act::runtime::sim
#endif
