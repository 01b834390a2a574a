// SPDX-License-Identifier: Apache-2.0
//
// Copies between registers and tiles, as vector code.
#include "runtime/sim/instructions/TileRegisters.h"
#include "runtime/sim/arithmetic/Wide.h"
#include <cstring>

namespace act::runtime::sim {

/// False if the words are those that the tile has already: then it need not be
/// taken apart again.
ACT_WIDE bool takeWords(const Frame &f, const uint32_t *slots, unsigned count,
                        unsigned step, uint32_t (*words)[32]) {
  typedef uint64_t Eight __attribute__((vector_size(64)));
  Eight apart = {};
  for (unsigned r = 0; r < count; ++r) {
    Eight mine[2], other[2];
    std::memcpy(mine, words[r * step], sizeof mine);
    std::memcpy(other, f.registers + slots[r], sizeof other);
    apart |= (mine[0] ^ other[0]) | (mine[1] ^ other[1]);
  }
  uint64_t some = 0;
  for (unsigned i = 0; i < 8; ++i)
    some |= apart[i];
  if (!some)
    return false;
  for (unsigned r = 0; r < count; ++r)
    std::memcpy(words[r * step], f.registers + slots[r], sizeof *words);
  return true;
}

ACT_WIDE void takeSums(const Frame &f, const uint32_t *slots, unsigned count,
                       bool half, TileSums &sums) {
  for (unsigned r = 0; r < count; ++r) {
    if (!half) {
      std::memcpy(sums.words[r], f.registers + slots[r], sizeof *sums.words);
      continue;
    }
    uint32_t both[32];
    std::memcpy(both, f.registers + slots[r], sizeof both);
    for (unsigned lane = 0; lane < 32; ++lane) {
      sums.words[2 * r][lane] = both[lane] & 0xffff;
      sums.words[2 * r + 1][lane] = both[lane] >> 16;
    }
  }
}

ACT_WIDE void putSums(const TileSums &sums, const uint32_t *slots,
                      unsigned count, bool half, uint32_t lanes, Frame &f) {
  for (unsigned r = 0; r < count; ++r) {
    uint32_t words[32];
    if (half)
      for (unsigned lane = 0; lane < 32; ++lane)
        words[lane] = sums.words[2 * r][lane] | sums.words[2 * r + 1][lane]
                                                    << 16;
    else
      std::memcpy(words, sums.words[r], sizeof words);
    std::byte *to = f.registers + slots[r];
    if (lanes == ~0u) {
      std::memcpy(to, words, sizeof words);
      continue;
    }
    for (unsigned lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1)
        std::memcpy(to + 4 * lane, &words[lane], 4);
  }
}

} // namespace act::runtime::sim
