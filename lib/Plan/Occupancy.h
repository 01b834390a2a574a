// SPDX-License-Identifier: Apache-2.0
//
// Which bytes are taken during an interval of time.
//
// A segment tree over time. A buffer's lifetime splits into O(log n) canonical
// nodes. Every node keeps two lists of taken ranges, sorted and with touching
// ranges merged:
//
//   cover  by buffers that are alive during the node's whole interval and were
//          split no finer
//   any    by buffers alive at some moment of the node's interval
//
// The bytes taken during [f, l) are the union of `any` over the canonical nodes
// of [f, l) and of `cover` over their ancestors. Good plans are dense, so the
// merged lists stay short (a stack of a thousand saved values is one range).
// Queries and insertions do not look at single buffers.
#ifndef ACT_LIB_PLAN_OCCUPANCY_H
#define ACT_LIB_PLAN_OCCUPANCY_H
#include <cstddef>
#include <cstdint>
#include <vector>

namespace act::plan {

struct Range {
  int64_t low, high; // half-open
};

/// Sorted, disjoint, not touching.
class RangeSet {
public:
  void insert(Range r);
  void clear() { ranges.clear(); }
  const std::vector<Range> &list() const { return ranges; }

private:
  std::vector<Range> ranges;
};

class Occupancy {
public:
  explicit Occupancy(size_t slots);
  void clear();
  void insert(size_t first, size_t last, Range bytes);
  /// Taken ranges during slots [first, last): sorted, merged. Valid until the
  /// next call.
  const std::vector<Range> &taken(size_t first, size_t last);

private:
  struct Node {
    RangeSet cover, any;
    bool touched = false;
  };
  void insert(size_t node, size_t l, size_t r, size_t first, size_t last,
              Range bytes);
  void collect(size_t node, size_t l, size_t r, size_t first, size_t last);
  Node &touch(size_t node);

  size_t width;
  std::vector<Node> nodes;
  std::vector<size_t> dirty;
  std::vector<Range> scratch;
};

} // namespace act::plan
#endif
