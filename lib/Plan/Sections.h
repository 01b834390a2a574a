// SPDX-License-Identifier: Apache-2.0
//
// A problem as the searches see it: time cut into sections, bytes counted in
// units.
//
// Sections. Only moments matter at which as many buffers as possible meet: a
// section is kept if no neighbour has all its buffers. Every pair that is ever
// alive together still meets in one.
//
//   time     0 1 2 3 4 5        a lives in sections [0,2), b in [0,1),
//   a        ########           c in [1,2)
//   b        ######
//   c              ####         kept: times 2 (a b) and 3 (a c)
//
// Units. If all sizes (and alignments, windows, hints, fixed offsets) are
// multiples of g, so are the offsets of some lowest plan. Where all alignments
// are multiples of r, sizes count rounded up to r: nobody else can start in
// between. Only the topmost buffer need not be rounded, which highestOffset()
// knows.
#ifndef ACT_LIB_PLAN_SECTIONS_H
#define ACT_LIB_PLAN_SECTIONS_H
#include "act/Plan/Problem.h"
#include <algorithm>

namespace act::plan {

/// Sections [first, last) in which an item uses its units [low, high).
struct Part {
  uint32_t first, last;
  int64_t low, high;
};

/// A buffer that ever uses a byte.
struct Item {
  uint32_t buffer;
  std::vector<Part> parts; // in the order of time
  int64_t size;            // units, rounded up
  int64_t alignment;       // units; 1: any offset will do
  int64_t bytes;
  int64_t hint;  // units, or negative
  int64_t fixed; // units: the only offset it can have; or negative

  uint32_t first() const { return parts.front().first; }
  uint32_t last() const { return parts.back().last; }
};

class Sections {
public:
  explicit Sections(const Problem &problem);

  size_t count() const { return sections; }
  int64_t unitBytes() const { return unit; }
  /// Some item uses only a part of itself at times.
  bool windowed() const { return hasWindows; }
  bool hinted() const { return hasHints; }
  /// What all arenas' sizes are multiples of: searching between is idle.
  int64_t stepBytes() const { return exact ? unit : 1; }

  /// A buffer's whole size has to be inside of the arena, used or not; a fixed
  /// one's where it is.
  int64_t largestBytes() const { return largest; }
  /// Most units in use in one section.
  int64_t mostLive() const { return live; }
  /// Most units in use that can be below `capacity` bytes.
  int64_t capacityUnits(int64_t capacity) const;
  /// Least and largest offset of an item in an arena of at least
  /// largestBytes().
  static int64_t leastOffset(const Item &item) {
    return std::max<int64_t>(item.fixed, 0);
  }
  int64_t highestOffset(const Item &item, int64_t capacity) const;
  /// Offsets of the problem's buffers, in bytes, and the arena that they need.
  void finish(const std::vector<int64_t> &units, Plan &plan) const;

  std::vector<Item> items;

private:
  void chooseUnit(const Problem &problem);
  void cut(const Problem &problem);

  size_t sections = 0;
  std::vector<std::optional<int64_t>> fixed; // of each buffer, bytes
  int64_t unit = 1, rounding = 1, mostSlack = 0, live = 0, largest = 0;
  bool hasWindows = false, hasHints = false, exact = true;
};

} // namespace act::plan
#endif
