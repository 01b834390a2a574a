// SPDX-License-Identifier: Apache-2.0
//
// A bit per byte, and for undefined bytes that a kernel stored, the number of
// the store, a word per four bytes.
#include "runtime/sim/memory/DefinedBytes.h"

namespace act::runtime::sim {

uint32_t DefinedBytes::storeAt(uint64_t at) const {
  const auto &words = stores[at / chunk];
  uint32_t word = words ? words[at % chunk / 4] : 0;
  return word >> at % 4 & 1 ? word >> 4 : 0;
}

void DefinedBytes::undefine(uint64_t offset, uint64_t bytes, uint32_t store) {
  if (store)
    stored.store(true, std::memory_order_relaxed);
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    bits[at / 64] &= ~(uint64_t(1) << at % 64);
    auto &words = stores[at / chunk];
    if (!words) {
      if (!store)
        continue;
      words = std::make_unique<uint32_t[]>(chunk / 4);
    }
    uint32_t &word = words[at % chunk / 4];
    const uint32_t bit = 1u << at % 4;
    word = store ? store << 4 | (word & 15) | bit : word & ~bit;
  }
}

std::vector<DefinedBytes::Part> DefinedBytes::undefined(uint64_t offset,
                                                        uint64_t bytes) const {
  std::vector<Part> parts;
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    if (at % 64 == 0 && !~bits[at / 64]) {
      at += 63;
      continue;
    }
    if (isDefined(at))
      continue;
    const uint32_t store = storeAt(at);
    if (!parts.empty() && parts.back().store == store &&
        parts.back().offset + parts.back().bytes == at)
      ++parts.back().bytes;
    else
      parts.push_back({at, 1, store});
  }
  return parts;
}

void DefinedBytes::reset() {
  std::fill(bits.begin(), bits.end(), 0);
  for (auto &words : stores)
    words.reset();
  stored = false;
}

} // namespace act::runtime::sim
