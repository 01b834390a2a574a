// SPDX-License-Identifier: Apache-2.0
//
// Measures a schedule of recomputations by the conventions of Graph.h. The
// searches call it for every trial, so it is linear in the steps. Evaluator.cpp
// does the same independently.
#include "lib/Remat/Timeline.h"
#include <algorithm>

namespace act::remat {

Timeline::Timeline(const Instance &in, const Recomputations &again) {
  for (int32_t t = 0; t < in.size; ++t) {
    for (int32_t i : again[t]) {
      steps.push_back(i);
      extraCost += in.cost[i];
    }
    steps.push_back(t);
    stage.resize(steps.size(), t);
  }
  const auto count = static_cast<int32_t>(steps.size());
  lastUse.resize(count);
  std::vector<int32_t> madeAt(in.size);
  for (int32_t s = 0; s < count; ++s) {
    for (int32_t a : in.inputs[steps[s]])
      lastUse[madeAt[a]] = s;
    madeAt[steps[s]] = lastUse[s] = s;
  }
  // Differences first, sums afterwards. A workspace belongs to its own step
  // only, so it is added last.
  bytes.assign(count + 1, 0);
  for (int32_t s = 0; s < count; ++s) {
    bytes[s] += in.bytes[steps[s]];
    bytes[lastUse[s] + 1] -= in.bytes[steps[s]];
  }
  bytes.pop_back();
  for (int32_t s = 1; s < count; ++s)
    bytes[s] += bytes[s - 1];
  for (int32_t s = 0; s < count; ++s)
    peak = std::max(peak, bytes[s] += in.workspace[steps[s]]);
}

double Timeline::excess(int64_t budget) const {
  double sum = 0;
  for (int64_t b : bytes)
    sum += b > budget ? static_cast<double>(b - budget) : 0;
  return sum;
}

} // namespace act::remat
