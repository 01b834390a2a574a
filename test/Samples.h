// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TEST_SAMPLES_H
#define ACT_TEST_SAMPLES_H
#include <algorithm>
#include <cstdlib>

/// How many of `all` random cases a test draws: all of them where the
/// environment has ACT_ALL_SAMPLES, which `test/run.sh --full` sets, and a
/// quarter otherwise.
inline int samples(int all) {
  return std::getenv("ACT_ALL_SAMPLES") ? all : std::max(1, all / 4);
}

#endif
