// SPDX-License-Identifier: Apache-2.0
//
// splitmix64 (Steele, Lea, Flood 2014). The distributions of the C++ standard
// differ between libraries, and the plan must not.
#ifndef ACT_LIB_PLAN_RANDOM_H
#define ACT_LIB_PLAN_RANDOM_H
#include <cstdint>

namespace act::plan {

inline uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct Random {
  uint64_t state;
  uint64_t next() { return mixed(state += 0x9e3779b97f4a7c15); }
  double unit() { return double(next() >> 11) * 0x1p-53; }
};

} // namespace act::plan
#endif
