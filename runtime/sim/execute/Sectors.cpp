// SPDX-License-Identifier: Apache-2.0
//
// Counts sectors and wavefronts. Kernels make millions of accesses, and nearly
// all are regular, so quick tests come before the count by words.
#include "runtime/sim/execute/Sectors.h"
#include "runtime/sim/arithmetic/Wide.h"
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

// Each lane's bit is its place in its group of lanes.
ACT_WIDE bool fillsBanks(const uint64_t *offsets, uint64_t unit, uint64_t shift,
                         uint64_t odd) {
  uint64_t banks = 0, bad = 0;
  const uint64_t units = 128 / unit;
  for (uint64_t l = 0; l < 32; ++l) {
    bad |= offsets[l] & odd;
    banks |= uint64_t(1) << ((l & ~(units - 1)) |
                             ((offsets[l] >> shift) & (units - 1)));
  }
  return banks == 0xffffffff && !bad;
}

} // namespace

bool fillsWavefronts(const uint64_t *offsets, unsigned bytes) {
  const uint64_t unit = std::max(4u, bytes);
  return bytes <= 16 && !(bytes & (bytes - 1)) &&
         fillsBanks(offsets, unit, uint64_t(__builtin_ctzll(unit)),
                    bytes > 4 ? unit - 1 : 0);
}

unsigned wavefronts(const uint64_t *offsets, unsigned count, unsigned bytes) {
  // The lanes that at best fill the 128 bytes of a wavefront.
  unsigned group = std::max(1u, bytes <= 4 ? 32 : 128 / bytes);
  unsigned words = std::max(1u, bytes / 4), total = 0;
  if (count == 32 && fillsWavefronts(offsets, bytes))
    return words;
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

// The sectors of ascending accesses, each within one sector; 0: they are not.
ACT_WIDE unsigned ascendingSectors(const uint64_t *offsets, unsigned lanes,
                                   uint64_t size, uint64_t base) {
  uint64_t bad = (base + offsets[0]) % 32 + size > 32, sectors = 1;
  for (unsigned k = 1; k < lanes; ++k) {
    const uint64_t at = base + offsets[k], before = base + offsets[k - 1];
    bad |= (at % 32 + size > 32) | (at < before);
    sectors += at / 32 != before / 32;
  }
  return bad ? 0 : unsigned(sectors);
}

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
  const uint64_t base =
      region.isShared ? 0 : reinterpret_cast<uint64_t>(region.data);
  if (mask == ~0u)
    return count(counters, offsets, 32, bytes, base, region.isShared, isStore);
  uint64_t some[32];
  unsigned lanes = 0;
  for (uint32_t left = mask; left; left &= left - 1)
    some[lanes++] = offsets[__builtin_ctz(left)];
  count(counters, some, lanes, bytes, base, region.isShared, isStore);
}

void Sectors::count(Counters &counters, bool isStore) {
  count(counters, at, lanes, size, 0, shared, isStore);
}

void Sectors::count(Counters &counters, const uint64_t *offsets, unsigned lanes,
                    unsigned size, uint64_t base, bool shared, bool isStore) {
  if (!lanes)
    return;
  if (shared) {
    unsigned least = (lanes * size + 127) / 128,
             needed = wavefronts(offsets, lanes, size);
    (isStore ? counters.sharedStoreWavefronts
             : counters.sharedLoadWavefronts) += needed;
    counters.sharedConflicts += needed > least ? needed - least : 0;
    return;
  }
  (isStore ? counters.globalStoreBytes : counters.globalLoadBytes) +=
      uint64_t(lanes) * size;
  uint64_t &sectorCount =
      isStore ? counters.globalStoreSectors : counters.globalLoadSectors;
  if (const unsigned count = ascendingSectors(offsets, lanes, size, base)) {
    sectorCount += count;
    return;
  }
  uint64_t sectors[32 * 3];
  unsigned n = 0;
  for (unsigned k = 0; k < lanes; ++k)
    for (uint64_t first = base + offsets[k], s = first / 32;
         s <= (first + size - 1) / 32; ++s)
      sectors[n++] = s;
  if (!std::is_sorted(sectors, sectors + n))
    std::sort(sectors, sectors + n);
  sectorCount += uint64_t(std::unique(sectors, sectors + n) - sectors);
}

} // namespace act::runtime::sim
