// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/Sectors.h"
#include "runtime/sim/Wide.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

// A quick test that no bank serves two different words. Units of max(4, bytes)
// bytes stand for the banks they cover, so offsets must be multiples of that;
// false when they are not.
bool isOnce(const uint64_t *offsets, unsigned count, unsigned bytes) {
  const unsigned unit = std::max(4u, bytes), units = 128 / unit;
  uint64_t wanted[32], odd = 0;
  uint32_t banks = 0;
  bool once = true;
  for (unsigned k = 0; k < count; ++k) {
    odd |= bytes > 4 ? offsets[k] % unit : 0;
    uint64_t place = offsets[k] / unit;
    uint32_t bank = 1u << place % units;
    once &= !(banks & bank) || wanted[place % units] == place;
    wanted[place % units] = place;
    banks |= bank;
  }
  return once && !odd;
}

} // namespace

unsigned wavefronts(const uint64_t *offsets, unsigned count, unsigned bytes) {
  // The lanes that at best fill the 128 bytes of a wavefront.
  unsigned group = std::max(1u, bytes <= 4 ? 32 : 128 / bytes);
  unsigned words = std::max(1u, bytes / 4), total = 0;
  for (unsigned first = 0; first < count; first += group) {
    if (bytes <= 32 &&
        isOnce(offsets + first, std::min(count - first, group), bytes)) {
      ++total;
      continue;
    }
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

namespace {

// Whether all lanes' offsets are `step` apart.
ACT_WIDE bool isRow(const uint64_t (&offsets)[32], uint64_t step) {
  uint64_t bad = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    bad |= offsets[lane] ^ (offsets[0] + lane * step);
  return !bad;
}

} // namespace

void Sectors::count(Counters &counters, const Region &region,
                    const uint64_t (&offsets)[32], uint32_t mask,
                    unsigned bytes, bool isStore) {
  // The common cases: one address for all lanes, or consecutive ones.
  if (mask == ~0u && (offsets[31] == offsets[0] ||
                      offsets[31] == offsets[0] + uint64_t(31) * bytes)) {
    uint64_t step = offsets[31] == offsets[0] ? 0 : bytes;
    if (isRow(offsets, step)) {
      if (region.isShared) {
        (isStore ? counters.sharedStoreWavefronts
                 : counters.sharedLoadWavefronts) += bytes <= 4 ? 1 : bytes / 4;
        return;
      }
      uint64_t first = reinterpret_cast<uint64_t>(region.data) + offsets[0];
      (isStore ? counters.globalStoreSectors : counters.globalLoadSectors) +=
          (first + 31 * step + bytes - 1) / 32 - first / 32 + 1;
      (isStore ? counters.globalStoreBytes : counters.globalLoadBytes) +=
          uint64_t(32) * bytes;
      return;
    }
  }
  Sectors some;
  some.shared = region.isShared;
  some.size = bytes;
  uint64_t base = region.isShared ? 0 : reinterpret_cast<uint64_t>(region.data);
  for (uint32_t left = mask; left; left &= left - 1)
    some.at[some.lanes++] = base + offsets[__builtin_ctz(left)];
  some.count(counters, isStore);
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
  if (!std::is_sorted(sectors, sectors + n))
    std::sort(sectors, sectors + n);
  uint64_t distinct = std::unique(sectors, sectors + n) - sectors;
  (isStore ? counters.globalStoreSectors : counters.globalLoadSectors) +=
      distinct;
  (isStore ? counters.globalStoreBytes : counters.globalLoadBytes) +=
      uint64_t(lanes) * size;
}

} // namespace act::runtime::sim
