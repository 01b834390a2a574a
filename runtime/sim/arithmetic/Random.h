// SPDX-License-Identifier: Apache-2.0
//
// Cheap repeatable random numbers (SplitMix64). By convention seed 0 draws
// nothing: isQuiet() tells users to take the default order, roundsPlainly() to
// take the default rounding.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_RANDOM_H
#define ACT_RUNTIME_SIM_ARITHMETIC_RANDOM_H
#include <cstdint>

namespace act::runtime::sim {

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
public:
  Random() = default;
  Random(uint64_t seed, uint64_t stream, uint64_t rounding = 0)
      : state(mix(seed ^ mix(stream))), from(seed), rounding(rounding) {}
  bool isQuiet() const { return from == 0; }
  bool roundsPlainly() const { return rounding == 0; }
  /// The seed for rounding, the same throughout a launch.
  uint64_t roundingSeed() const { return rounding; }
  uint64_t next() { return mix(state += 0x9e3779b97f4a7c15); }
  /// In [0, bound); bound > 0.
  uint32_t below(uint32_t bound) {
    return uint32_t((next() >> 32) * bound >> 32);
  }

private:
  uint64_t state = 0, from = 0, rounding = 0;
};

} // namespace act::runtime::sim
#endif
