// SPDX-License-Identifier: Apache-2.0
//
// Finds a schedule under the budget quickly: at the worst moment it drops the
// idle tensor that removes most excess for its price, until there is no excess.
#ifndef ACT_LIB_REMAT_GREEDY_H
#define ACT_LIB_REMAT_GREEDY_H
#include "lib/Remat/Timeline.h"
#include <random>

namespace act::remat {

class Greedy {
public:
  Greedy(const Instance &in, int64_t budget) : in(in), budget(budget) {}

  /// Limits the schedule steps examined from now on; about 10^8 take a second.
  /// At the limit, functions fail or leave the schedule as it is.
  void allow(int64_t steps) { left = steps; }

  /// Adds recomputations until the peak is at most the budget; false if no drop
  /// helps any more. With `noise`, prices are off by up to that factor.
  bool descend(Recomputations &again, double noise = 0);
  /// Moves recomputations to other stages, at the same cost, until the peak is
  /// at most the budget; false if no move helps any more.
  bool shift(Recomputations &again);
  /// Removes recomputations that the budget does not need, expensive ones
  /// first.
  void prune(Recomputations &again);
  /// Removes some at random, descends and prunes, and keeps the result if
  /// better.
  void improve(Recomputations &again, int rounds);

private:
  struct Drop {
    int32_t node, stage; // computed again in that stage
    double estimate = 0; // of its price: cost by excess
  };
  std::vector<Drop> drops(const Timeline &now, int32_t step) const;
  bool add(Recomputations &again, const Timeline &now, Drop drop) const;

  Timeline look(const Recomputations &again) {
    Timeline line(in, again);
    left -= static_cast<int64_t>(line.steps.size());
    return line;
  }

  const Instance &in;
  int64_t budget;
  int64_t left = 0;
  std::minstd_rand random{1};
};

} // namespace act::remat
#endif
