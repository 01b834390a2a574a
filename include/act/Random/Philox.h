// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
// as 1, 2, 3, SC 2011): four 32-bit random words as a pure function of a
// 128-bit counter and a 64-bit key. There is no state, so any thread can draw
// any element of any tensor in any order with the same result.
//
//   auto w = act::philox({0, 0, 0, 0}, {0, 0});  // w[0] == 0x6627e8d5
#ifndef ACT_RANDOM_PHILOX_H
#define ACT_RANDOM_PHILOX_H
#include <array>
#include <cstdint>
#include <string_view>

namespace act {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c,
                                      std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0],
         static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
         static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

/// The key of a separate stream for every (seed, name): FNV-1a of the name,
/// mixed with the seed by the finaliser of SplitMix64.
inline std::array<uint32_t, 2> philoxKey(uint64_t seed, std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    h = (h ^ c) * 0x100000001b3ull;
  uint64_t z = h ^ (seed + 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return {static_cast<uint32_t>(z), static_cast<uint32_t>(z >> 32)};
}

} // namespace act
#endif
