// SPDX-License-Identifier: Apache-2.0
//
// How instructions treat undefined registers (Definedness.h): most propagate
// them, some must not use them.
#ifndef ACT_RUNTIME_SIM_EXECUTE_UNDEFINEDBITS_H
#define ACT_RUNTIME_SIM_EXECUTE_UNDEFINEDBITS_H
#include "runtime/sim/execute/Machine.h"

namespace act::runtime::sim {

/// The active lanes in which a source is not wholly defined.
inline uint32_t undefinedLanes(const Context &c, const Instruction &i) {
  uint32_t good = ~0u;
  for (unsigned k = 0; k < i.readCount; ++k)
    good &= c.definedLanes(i.reads[k].slot);
  return c.mask & ~good;
}

/// Reports undefined sources. Those that the instruction propagates
/// (SlotUse::passes) only set Context::passes.
void reportUndefined(Context &c, const Instruction &i);

/// Marks results undefined that depend on undefined sources. `some`: lanes with
/// an undefined source.
void propagateUndefined(Context &c, const Instruction &i, uint32_t some);

inline void propagate(Context &c, const Instruction &i) {
  if (uint32_t some = undefinedLanes(c, i))
    return propagateUndefined(c, i, some);
  for (unsigned k = 0; k < i.writeCount; ++k)
    c.define(i.writes[k].slot, c.mask);
}

} // namespace act::runtime::sim
#endif
