// SPDX-License-Identifier: Apache-2.0
//
// The bound that needs no search: what a single computation needs at once.
#include "act/Remat/LowerBound.h"
#include "lib/Remat/Instance.h"
#include <algorithm>

namespace act::remat {

int64_t leastPeak(const Graph &graph) {
  Instance in(graph);
  int64_t least = 0;
  for (int32_t i = 0; i < in.size; ++i) {
    int64_t sum = in.bytes[i] + in.workspace[i];
    for (int32_t a : in.inputs[i])
      sum += in.bytes[a];
    least = std::max(least, sum);
  }
  return least;
}

} // namespace act::remat
