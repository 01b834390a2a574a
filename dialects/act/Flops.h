// SPDX-License-Identifier: Apache-2.0
//
// FLOP counts that saturate instead of overflowing: the shapes in a file, and
// so their product, can be anything.
#ifndef ACT_DIALECTS_ACT_FLOPS_H
#define ACT_DIALECTS_ACT_FLOPS_H
#include "llvm/Support/MathExtras.h"
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace act {

/// Stands for this many or more.
inline constexpr int64_t mostFlops = std::numeric_limits<int64_t>::max();

/// Product of non-negative numbers, at most `mostFlops`. 0 if one is negative:
/// the size of a dynamic dimension.
inline int64_t flopsProduct(std::initializer_list<int64_t> factors) {
  for (int64_t f : factors)
    if (f <= 0)
      return 0;
  int64_t product = 1;
  for (int64_t f : factors)
    if (llvm::MulOverflow(product, f, product))
      return mostFlops;
  return product;
}

/// Sum of non-negative numbers, at most `mostFlops`.
inline int64_t flopsSum(std::initializer_list<int64_t> terms) {
  int64_t sum = 0;
  for (int64_t t : terms)
    if (llvm::AddOverflow(sum, t, sum))
      return mostFlops;
  return sum;
}

} // namespace act
#endif
