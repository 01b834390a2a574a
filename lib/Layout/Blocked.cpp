// SPDX-License-Identifier: Apache-2.0
//
// Deals a block to lanes, warps and registers in the order that Blocked.h
// gives.
#include "act/Layout/Blocked.h"
#include <algorithm>
#include <numeric>

namespace act::layout {

std::vector<unsigned> rowMajorOrder(unsigned rank) {
  std::vector<unsigned> order(rank);
  std::iota(order.rbegin(), order.rend(), 0u);
  return order;
}

static Status checkOrder(const std::vector<unsigned> &order, unsigned rank) {
  std::vector<unsigned> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == rank;
  for (unsigned d = 0; permutation && d < rank; ++d)
    permutation = sorted[d] == d;
  if (!permutation)
    return Error{"the order of dimensions is not a permutation of " +
                     std::to_string(rank),
                 ""};
  return ok();
}

Result<Distributed> blocked(std::vector<int64_t> shape, int64_t vector,
                            int64_t warps, std::vector<unsigned> order) {
  unsigned rank = shape.size();
  if (order.empty())
    order = rowMajorOrder(rank);
  if (Status s = checkOrder(order, rank); !s)
    return s.error();
  int64_t fastest = rank ? shape[order[0]] : 1;
  if (vector < 1 || fastest % vector)
    return Error{"vectors of " + std::to_string(vector) +
                     " elements do not divide the fastest dimension of " +
                     std::to_string(fastest),
                 ""};
  if (warps < 1 || warps > Distributed::mostWarps)
    return Error{"expected 1 to 32 warps, found " + std::to_string(warps), ""};
  for (int64_t extent : shape)
    if (extent < 1)
      return Error{"a block has extents of 1 or more, found " +
                       std::to_string(extent),
                   ""};

  Tower tower(shape);
  if (rank)
    tower.registers(order[0], vector);
  // A common divisor with 32 is a power of two, so lane digits always are.
  int64_t lanes = Distributed::laneCount;
  for (unsigned dim : order) {
    int64_t here = std::gcd(lanes, tower.rest(dim));
    tower.lanes(dim, here);
    lanes /= here;
  }
  tower.copiesInLanes(lanes);
  for (unsigned k = rank; k-- > 0;) {
    int64_t here = std::gcd(warps, tower.rest(order[k]));
    tower.warps(order[k], here);
    warps /= here;
  }
  tower.copiesInWarps(warps);
  for (unsigned dim : order)
    tower.registers(dim, tower.rest(dim));
  return tower.get();
}

int64_t vectorFor(const std::vector<int64_t> &shape, int64_t elementBytes,
                  int64_t warps, const std::vector<unsigned> &order) {
  if (shape.empty() || elementBytes < 1)
    return 1;
  int64_t fastest = shape[order.empty() ? shape.size() - 1 : order[0]];
  // Beyond a 16-byte vector for every thread the count does not matter;
  // stopping there prevents overflow for any shape.
  int64_t threads = warps * Distributed::laneCount, elements = 1;
  for (int64_t extent : shape)
    if (elements < 16 * threads)
      elements *= extent;
  int64_t vector = 1;
  while (vector * 2 * elementBytes <= 16 && fastest % (vector * 2) == 0 &&
         elements >= vector * 2 * threads)
    vector *= 2;
  return vector;
}

} // namespace act::layout
