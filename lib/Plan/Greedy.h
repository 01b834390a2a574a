// SPDX-License-Identifier: Apache-2.0
//
// Fast plans: buffers are placed one at a time, each into a gap that is free
// during its whole lifetime; all the art is in the order.
//
// 1. Several orders are tried: long-lived first (right for what nests), large
//    first, large area first, by birth, and by how crowded their worst moment
//    is; each with the tightest and with the lowest gap.
// 2. The best order is repaired: buffers that stick out of the bound, and some
//    that stand in their way, move forward in the order, and the placement is
//    repeated (squeaky wheel optimisation, Joslin and Clements 1999).
//
// Buffers with a hint go first, to their hints, unless told otherwise.
#ifndef ACT_LIB_PLAN_GREEDY_H
#define ACT_LIB_PLAN_GREEDY_H
#include "lib/Plan/Occupancy.h"
#include "lib/Plan/Random.h"
#include "lib/Plan/Sections.h"

namespace act::plan {

class Greedy {
public:
  /// Units up to `target` are all the same: the search is for a plan below it.
  Greedy(const Sections &sections, int64_t target, bool hints, uint64_t seed);
  void tryOrders();
  /// Places so many items again, at most.
  void repair(int64_t effort);

  bool done() const { return height <= target; }
  const std::vector<int64_t> &offsets() const { return best; } // units
  int64_t heightUnits() const { return height; }
  const std::string &method() const { return name; }

private:
  enum class Fit { Tightest, Lowest };
  using Order = std::vector<uint32_t>;

  /// Places in this order; keeps the result if it is the best one. Gives up as
  /// soon as the arena exceeds `abandon`.
  int64_t place(const Order &order, Fit fit, int64_t abandon,
                const std::string &method);
  int64_t chooseOffset(const Item &item, Fit fit);
  void collect(const Item &item);

  const Sections &sections;
  int64_t target;
  bool hints;
  Random random;
  std::vector<double> width, area, crowd;
  Occupancy occupancy;
  std::vector<Range> taken; // offsets that an item cannot have
  std::vector<int64_t> offset, best;
  int64_t height;
  Order bestOrder;
  Fit bestFit = Fit::Tightest;
  std::string name;
};

} // namespace act::plan
#endif
