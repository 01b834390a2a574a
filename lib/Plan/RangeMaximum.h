// SPDX-License-Identifier: Apache-2.0
//
// Range maximum by a sparse table: level k has, for each index, the maximum of
// the 2^k values from there on.
#ifndef ACT_LIB_PLAN_RANGEMAXIMUM_H
#define ACT_LIB_PLAN_RANGEMAXIMUM_H
#include <algorithm>
#include <cstdint>
#include <vector>

namespace act::plan {

class RangeMaximum {
public:
  explicit RangeMaximum(std::vector<int64_t> values) {
    levels.push_back(std::move(values));
    for (size_t w = 1; 2 * w <= levels[0].size(); w *= 2) {
      const auto &below = levels.back();
      std::vector<int64_t> level(levels[0].size() - 2 * w + 1);
      for (size_t i = 0; i < level.size(); ++i)
        level[i] = std::max(below[i], below[i + w]);
      levels.push_back(std::move(level));
    }
  }
  int64_t in(size_t first, size_t last) const {
    size_t k = 0;
    while ((size_t(2) << k) <= last - first)
      ++k;
    return std::max(levels[k][first], levels[k][last - (size_t(1) << k)]);
  }

private:
  std::vector<std::vector<int64_t>> levels;
};

} // namespace act::plan
#endif
