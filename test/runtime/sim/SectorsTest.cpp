// SPDX-License-Identifier: Apache-2.0
//
// Wavefronts and sectors of drawn accesses against a count by the definition.
#include "runtime/sim/execute/Sectors.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace act::runtime::sim;

namespace {

// Lanes go in groups that could fill 128 bytes; a group takes as many
// wavefronts as its busiest bank has words.
unsigned wavefrontsByDefinition(const uint64_t *offsets, unsigned bytes) {
  const unsigned group = bytes <= 4 ? 32 : 128 / bytes;
  unsigned total = 0;
  for (unsigned first = 0; first < 32; first += group) {
    std::map<uint64_t, std::set<uint64_t>> words; // by bank
    for (unsigned lane = first; lane < first + group; ++lane)
      for (uint64_t w = offsets[lane] / 4; w <= (offsets[lane] + bytes - 1) / 4;
           ++w)
        words[w % 32].insert(w);
    size_t most = 0;
    for (const auto &[bank, of] : words)
      most = std::max(most, of.size());
    total += unsigned(most);
  }
  return total;
}

unsigned sectorsByDefinition(uint64_t base, const uint64_t *offsets,
                             uint32_t mask, unsigned bytes) {
  std::set<uint64_t> sectors;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned byte = 0; byte < bytes && mask >> lane & 1; ++byte)
      sectors.insert((base + offsets[lane] + byte) / 32);
  return unsigned(sectors.size());
}

// Offsets as kernels have them: a row, a permuted row, rows of a tile with or
// without a swizzle, anything.
void draw(std::mt19937 &random, unsigned bytes, uint64_t (&offsets)[32]) {
  const unsigned kind = random() % 5, pitch = 128 << random() % 3;
  const uint64_t start = random() % 64 * bytes;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned perRow = std::max(1u, 64 / bytes), row = lane / perRow,
                   column = lane % perRow;
    offsets[lane] =
        start + (kind == 0   ? lane * bytes
                 : kind == 1 ? (lane ^ 5) * bytes
                 : kind == 2 ? row * pitch + column * bytes
                 : kind == 3 ? row * pitch + (column ^ row % perRow) * bytes
                             : random() % 256 * bytes);
  }
}

TEST(Sectors, WavefrontsAsByDefinition) {
  std::mt19937 random(1);
  unsigned filled = 0, others = 0;
  for (unsigned round = 0; round < 4000; ++round) {
    const unsigned bytes = 1u << random() % 5;
    uint64_t offsets[32];
    draw(random, bytes, offsets);
    const unsigned needed = wavefrontsByDefinition(offsets, bytes);
    ASSERT_EQ(wavefronts(offsets, 32, bytes), needed) << bytes;
    if (fillsWavefronts(offsets, bytes)) {
      ++filled;
      ASSERT_EQ(needed, std::max(1u, bytes / 4));
    } else {
      ++others;
    }
  }
  EXPECT_GT(filled, 400u);
  EXPECT_GT(others, 400u);
}

TEST(Sectors, OfGlobalMemoryAsByDefinition) {
  std::mt19937 random(2);
  alignas(64) static std::byte memory[64];
  for (unsigned round = 0; round < 4000; ++round) {
    const unsigned bytes = 1u << random() % 6;
    uint64_t offsets[32];
    draw(random, bytes, offsets);
    if (round % 4 == 0)
      offsets[random() % 32] += 1 + random() % 31; // across sectors
    Region region;
    region.data = memory;
    const uint32_t mask = random() % 2 ? ~0u : uint32_t(random()) | 1;
    Counters c;
    Sectors::count(c, region, offsets, mask, bytes, false);
    ASSERT_EQ(c.globalLoadSectors,
              sectorsByDefinition(reinterpret_cast<uint64_t>(memory), offsets,
                                  mask, bytes));
    ASSERT_EQ(c.globalLoadBytes, uint64_t(__builtin_popcount(mask)) * bytes);
  }
}

} // namespace
