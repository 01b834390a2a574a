// SPDX-License-Identifier: Apache-2.0
//
// A problem in the searches' form: time in sections, bytes in units.
//
// Sections. Only moments with a maximal set of live buffers matter: a section
// is kept if no neighbour has all its buffers. Every pair that is ever alive
// together still shares a section.
//
//   time     0 1 2 3 4 5        a lives in sections [0,2), b in [0,1),
//   a        ########           c in [1,2)
//   b        ######
//   c              ####         kept: times 2 (a b) and 3 (a c)
//
// Units. If all sizes (and alignments, windows, hints, fixed offsets) are
// multiples of g, some lowest plan has offsets that are multiples of g. If all
// alignments are multiples of r, sizes are rounded up to r, because no other
// buffer can start in between. Only the topmost buffer need not be rounded;
// highestOffset() accounts for that.
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

/// A buffer that uses at least one byte at some time.
struct Item {
  uint32_t buffer;
  std::vector<Part> parts; // in the order of time
  int64_t size;            // units, rounded up
  int64_t alignment;       // units; 1: any offset
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
  /// Whether some item uses only a part of its bytes at times.
  bool windowed() const { return hasWindows; }
  bool hinted() const { return hasHints; }
  /// All arena sizes are multiples of this, so sizes in between need no search.
  int64_t stepBytes() const { return exact ? unit : 1; }

  /// Lower bound on the arena from single buffers: each has to be in it with
  /// its whole size, used or not, a fixed one at its offset.
  int64_t largestBytes() const { return largest; }
  /// Most units in use in one section.
  int64_t mostLive() const { return live; }
  /// Most units in use that can be below `capacity` bytes.
  int64_t capacityUnits(int64_t capacity) const;
  /// Smallest and largest offset of an item in an arena of at least
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
