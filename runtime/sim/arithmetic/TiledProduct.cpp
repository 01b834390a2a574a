// SPDX-License-Identifier: Apache-2.0
//
// Products of whole matrices (TensorCore.h) by those of tiles.
#include "runtime/sim/arithmetic/ProductTile.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

// Multiplies in tiles, padded with zeros.
void multiply(const Accumulation &how, Extent x, Element aType, Element bType,
              const uint32_t *a, const uint32_t *b, uint32_t *c) {
  thread_local LeftTile left;
  thread_local RightTile right;
  const unsigned per = 32 / bitsOf(aType),
                 slabs = (x.k + 4 * per - 1) / (4 * per);
  auto put = [&](uint32_t (*words)[32], unsigned reg, unsigned g, unsigned k,
                 uint32_t code) {
    words[reg][g * 4 + k / per % 4] |= code
                                       << (per == 1 ? 0 : k % per * (32 / per));
  };
  left.type = aType;
  right.type = bType;
  left.k = right.k = x.k;
  left.registers = 2 * slabs;
  right.registers = slabs;
  for (unsigned i0 = 0; i0 < x.m; i0 += 16) {
    std::memset(left.words, 0, sizeof left.words);
    for (unsigned i = 0; i < std::min(16u, x.m - i0); ++i)
      for (unsigned k = 0; k < x.k; ++k)
        put(left.words, k / (4 * per) * 2 + i / 8, i % 8, k,
            a[k * x.m + i0 + i]);
    takeApart(left);
    for (unsigned j0 = 0; j0 < x.n; j0 += 8) {
      std::memset(right.words, 0, sizeof right.words);
      for (unsigned j = 0; j < 8; ++j)
        for (unsigned k = 0; k < x.k; ++k)
          put(right.words, k / (4 * per), j, k, b[k * x.n + j0 + j]);
      takeApart(right);
      TileSums before = {}, after;
      auto each = [&](auto what) {
        for (unsigned i = 0; i < std::min(16u, x.m - i0); ++i)
          for (unsigned j = 0; j < 8; ++j)
            what(i / 8 * 2 + j % 2, i % 8 * 4 + j / 2,
                 c[(i0 + i) * x.n + j0 + j]);
      };
      each([&](unsigned v, unsigned lane, uint32_t &sum) {
        before.words[v][lane] = sum;
      });
      multiply(how, left, right, before, after);
      each([&](unsigned v, unsigned lane, uint32_t &sum) {
        sum = after.words[v][lane];
      });
    }
  }
}

} // namespace act::runtime::sim
