// SPDX-License-Identifier: Apache-2.0
//
// A complete search for problems with windows. There a buffer may fit under
// another that starts below it, so no skyline describes what is settled.
//
// Two items that meet constrain their distance: d = offset(y) - offset(x) may
// not lie in certain open intervals, which are unions of
// (x.low - y.high, x.high - y.low) over sections. The search starts with all
// items at 0, or at their fixed offsets, and only adds demands of the form "y
// at least c above x". Pushing items up finds the smallest offsets that meet
// all demands. While two items clash, at distance d in (low, high), one of two
// demands is needed:
//
//   y at least high above x     or     x at least -low above y
//
// and the search tries both. Every plan meets one of the two, so the search is
// complete. A demand that pushes an item out of the arena is refuted.
#ifndef ACT_LIB_PLAN_WINDOWSEARCH_H
#define ACT_LIB_PLAN_WINDOWSEARCH_H
#include "lib/Plan/Outcome.h"
#include "lib/Plan/Sections.h"

namespace act::plan {

class WindowSearch {
public:
  explicit WindowSearch(const Sections &sections);
  Outcome run(int64_t capacity, uint64_t maxNodes);

  const std::vector<int64_t> &offsets() const { return offset; } // when Found
  uint64_t nodes() const { return visited; }

private:
  struct Interval {
    int64_t low, high; // open
  };
  struct Pair {
    uint32_t x, y;
    std::vector<Interval> closed;
  };
  struct Demand {
    uint32_t upper;
    int64_t distance;
  };
  struct Frame {
    uint32_t lower[2]; // the two demands: `upper` above `lower` by `distance`
    uint32_t upper[2];
    int64_t distance[2];
    int next;
    int taken; // the demand in force, or -1
    size_t trail;
  };
  struct Change {
    uint32_t item;
    int64_t offset;
  };

  /// Two items that clash, by the largest number of bytes; false if none do.
  bool findClash(Frame &frame) const;
  bool demand(uint32_t lower, uint32_t upper, int64_t distance);
  bool advance();
  void undo(size_t mark);

  const Sections &problem;
  std::vector<Pair> pairs;
  std::vector<std::vector<Demand>> demands; // of each lower item
  std::vector<int64_t> offset, highest;
  std::vector<Change> trail;
  std::vector<Frame> frames;
  std::vector<uint32_t> queue;
  std::vector<char> queued;
  bool doubtful = false; // a demand was given up by count: no proof
  uint64_t visited = 0;
};

} // namespace act::plan
#endif
