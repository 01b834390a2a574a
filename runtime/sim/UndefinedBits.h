// SPDX-License-Identifier: Apache-2.0
//
// What instructions make of undefined registers (Definedness.h): most hand
// them on, some may not use them.
#ifndef ACT_RUNTIME_SIM_UNDEFINEDBITS_H
#define ACT_RUNTIME_SIM_UNDEFINEDBITS_H
#include "runtime/sim/Machine.h"

namespace act::runtime::sim {

/// Lanes, of those that execute, in which a source is not wholly defined.
inline uint32_t undefinedLanes(const Context &c, const Instruction &i) {
  uint32_t good = ~0u;
  for (unsigned k = 0; k < i.readCount; ++k)
    good &= c.definedLanes(i.reads[k].slot);
  return c.mask & ~good;
}

/// Reports sources that are used where they are undefined; what the instruction
/// hands on (SlotUse) is none of them, but sets Context::passes.
void reportUndefined(Context &c, const Instruction &i);

/// Results are undefined where sources are that they depend on. `some`: lanes
/// with an undefined source.
void propagateUndefined(Context &c, const Instruction &i, uint32_t some);

inline void propagate(Context &c, const Instruction &i) {
  if (uint32_t some = undefinedLanes(c, i))
    return propagateUndefined(c, i, some);
  for (unsigned k = 0; k < i.writeCount; ++k)
    c.define(i.writes[k].slot, c.mask);
}

} // namespace act::runtime::sim
#endif
