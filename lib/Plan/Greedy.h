// SPDX-License-Identifier: Apache-2.0
//
// Fast plans: buffers are placed one at a time, each into a gap that is free
// during its whole lifetime. The result depends on the order.
//
// Several orders are tried: long-lived first (best for buffers that nest), by
// the units in use at their most crowded moment, large first, large area first,
// by birth; each with the tightest and with the lowest gap. That is enough for
// most training steps, in milliseconds for thousands of buffers.
//
// Fixed buffers go first. With `hints`, buffers with a hint are next, at their
// hints.
#ifndef ACT_LIB_PLAN_GREEDY_H
#define ACT_LIB_PLAN_GREEDY_H
#include "lib/Plan/Occupancy.h"
#include "lib/Plan/Sections.h"

namespace act::plan {

class Greedy {
public:
  /// Looks for a plan of at most `target` units; how far below does not matter.
  Greedy(const Sections &sections, int64_t target, bool hints);
  /// The fast orders or the slow ones.
  void tryOrders(bool slow);

  bool done() const { return height <= target; }
  const std::vector<int64_t> &offsets() const { return best; } // units
  const std::string &method() const { return name; }

private:
  enum class Fit { Tightest, Lowest };
  using Order = std::vector<uint32_t>;

  /// Places in this order; keeps the result if it is the best one.
  void place(const Order &order, Fit fit, const std::string &method);
  int64_t chooseOffset(const Item &item, Fit fit);
  void collect(const Item &item);

  const Sections &sections;
  int64_t target;
  bool hints;
  std::vector<double> crowd; // of each item: most units in use meanwhile
  Occupancy occupancy;
  std::vector<Range> taken; // offsets closed to an item
  std::vector<int64_t> offset, best;
  int64_t height;
  size_t work = 0;
  std::string name;
};

} // namespace act::plan
#endif
