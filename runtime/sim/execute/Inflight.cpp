// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/execute/Inflight.h"

namespace act::runtime::sim {

using namespace inflight;

/// Called for other instructions that touch a register of some wgmma
/// (findNearWgmma). It reports an access while the product may still read or
/// write the register, and notes that a fence is needed before the next wgmma.
void Context::checkInflight(const Instruction &at) const {
  auto look = [&](const SlotUse &use) {
    uint64_t *w = wordOf(frame, use.slot);
    if (!w)
      return;
    if (*w & groupMask) {
      report(FindingKind::InvalidOperation, at, unsigned(__builtin_ctz(mask)),
             "uses a register that a pending wgmma still accesses; wait with "
             "wgmma.wait_group first");
      *w = 0; // report once
    }
    *w |= touched;
  };
  for (unsigned i = 0; i < at.readCount; ++i)
    look(at.reads[i]);
  for (unsigned i = 0; i < at.writeCount; ++i)
    look(at.writes[i]);
}

} // namespace act::runtime::sim
