// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/Sectors.h"
#include <algorithm>

namespace act::runtime::sim {

unsigned wavefronts(const uint64_t *offsets, unsigned count, unsigned bytes) {
  // So many lanes fill the 128 bytes of a wavefront at best.
  unsigned group = std::max(1u, bytes <= 4 ? 32 : 128 / bytes);
  unsigned words = std::max(1u, bytes / 4), total = 0;
  for (unsigned first = 0; first < count; first += group) {
    uint64_t seen[32][32];
    unsigned seenCount[32] = {}, most = 1;
    for (unsigned k = first; k < std::min(count, first + group); ++k)
      for (unsigned w = 0; w < words; ++w) {
        uint64_t word = offsets[k] / 4 + w;
        unsigned bank = word % 32;
        if (std::find(seen[bank], seen[bank] + seenCount[bank], word) !=
            seen[bank] + seenCount[bank])
          continue;
        seen[bank][seenCount[bank]++] = word;
        most = std::max(most, seenCount[bank]);
      }
    total += most;
  }
  return total;
}

void Sectors::count(Counters &counters, bool isStore) {
  if (!lanes)
    return;
  if (shared) {
    unsigned least = (lanes * size + 127) / 128,
             needed = wavefronts(at, lanes, size);
    (isStore ? counters.sharedStoreWavefronts
             : counters.sharedLoadWavefronts) += needed;
    counters.sharedConflicts += needed > least ? needed - least : 0;
    return;
  }
  uint64_t sectors[32 * 3];
  unsigned n = 0;
  for (unsigned k = 0; k < lanes; ++k)
    for (uint64_t s = at[k] / 32; s <= (at[k] + size - 1) / 32; ++s)
      sectors[n++] = s;
  std::sort(sectors, sectors + n);
  uint64_t distinct = std::unique(sectors, sectors + n) - sectors;
  (isStore ? counters.globalStoreSectors : counters.globalLoadSectors) +=
      distinct;
  (isStore ? counters.globalStoreBytes : counters.globalLoadBytes) +=
      uint64_t(lanes) * size;
}

} // namespace act::runtime::sim
