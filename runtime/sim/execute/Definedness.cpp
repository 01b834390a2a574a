// SPDX-License-Identifier: Apache-2.0
//
// A bit per lane for whole registers, and a side table for those that are not
// wholly defined (Definedness.h).
#include "runtime/sim/execute/Definedness.h"
#include <algorithm>

namespace act::runtime::sim {

void Definedness::reset(uint32_t bytes, uint32_t undefinedBytes) {
  parts.clear();
  whole.assign(bytes / 64, ~0u);
  std::fill_n(whole.begin(), undefinedBytes / 64, 0);
}

Definedness::Some &Definedness::some(uint32_t slot) {
  auto [it, isNew] = parts.try_emplace(slot);
  if (isNew) {
    it->second.bits.fill(~uint64_t(0));
    it->second.origins.fill(slot);
  }
  return it->second;
}

void Definedness::undefine(uint32_t slot, uint32_t lanes, uint32_t origin) {
  for (; lanes; lanes &= lanes - 1)
    setUndefinedBits(slot, unsigned(__builtin_ctz(lanes)), ~uint64_t(0),
                     origin);
}

uint64_t Definedness::undefinedBits(uint32_t slot, unsigned lane) const {
  if (whole[slot / 64] >> lane & 1)
    return 0;
  auto it = parts.find(slot);
  return it == parts.end() ? ~uint64_t(0) : it->second.bits[lane];
}

void Definedness::setUndefinedBits(uint32_t slot, unsigned lane, uint64_t bits,
                                   uint32_t origin) {
  if (!bits)
    return define(slot, 1u << lane);
  Some &s = some(slot);
  whole[slot / 64] &= ~(1u << lane);
  s.bits[lane] = bits;
  s.origins[lane] = origin;
}

uint32_t Definedness::undefinedLanes(uint32_t slot, uint32_t lanes,
                                     uint64_t bits) const {
  lanes &= ~whole[slot / 64];
  uint32_t result = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    result |= uint32_t((undefinedBits(slot, lane) & bits) != 0) << lane;
  }
  return result;
}

uint32_t Definedness::origin(uint32_t slot, unsigned lane) const {
  auto it = parts.find(slot);
  return it == parts.end() ? slot : it->second.origins[lane];
}

void Definedness::copy(uint32_t slot, uint32_t lanes, const Definedness &from,
                       uint32_t fromSlot) {
  define(slot, lanes & from.lanes(fromSlot));
  for (uint32_t left = lanes & ~from.lanes(fromSlot); left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    uint32_t origin = from.origin(fromSlot, lane);
    setUndefinedBits(slot, lane, from.undefinedBits(fromSlot, lane),
                     origin == fromSlot ? slot : origin);
  }
}

} // namespace act::runtime::sim
