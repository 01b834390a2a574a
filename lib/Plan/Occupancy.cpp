// SPDX-License-Identifier: Apache-2.0
//
// The segment tree over time of Occupancy.h. Node 1 is the root, and the
// children of node n are 2n and 2n + 1.
#include "lib/Plan/Occupancy.h"
#include <algorithm>

namespace act::plan {

/// Merges with every range that it overlaps or touches. `x.high < low` and not
/// `<=`: ranges that touch become one, which keeps the lists short.
void RangeSet::insert(Range r) {
  auto from = std::lower_bound(
      ranges.begin(), ranges.end(), r.low,
      [](const Range &x, int64_t low) { return x.high < low; });
  auto to = from;
  for (; to != ranges.end() && to->low <= r.high; ++to) {
    r.low = std::min(r.low, to->low);
    r.high = std::max(r.high, to->high);
  }
  if (from == to) {
    ranges.insert(from, r);
    return;
  }
  *from = r;
  ranges.erase(from + 1, to);
}

Occupancy::Occupancy(size_t slots) : width(1) {
  while (width < slots)
    width *= 2;
  nodes.resize(2 * width);
}

/// Remembers the node, so that clear() visits only nodes in use: it is called
/// for every greedy order.
Occupancy::Node &Occupancy::touch(size_t node) {
  Node &n = nodes[node];
  if (!n.touched) {
    n.touched = true;
    dirty.push_back(node);
  }
  return n;
}

void Occupancy::clear() {
  for (size_t i : dirty) {
    nodes[i].cover.clear();
    nodes[i].any.clear();
    nodes[i].touched = false;
  }
  dirty.clear();
}

void Occupancy::insert(size_t first, size_t last, Range bytes) {
  insert(1, 0, width, first, last, bytes);
}

/// Every node on the way gets the bytes in `any`, also the canonical ones,
/// which alone get them in `cover` as well.
void Occupancy::insert(size_t node, size_t l, size_t r, size_t first,
                       size_t last, Range bytes) {
  Node &n = touch(node);
  n.any.insert(bytes);
  if (first <= l && r <= last) {
    n.cover.insert(bytes);
    return;
  }
  size_t middle = (l + r) / 2;
  if (first < middle)
    insert(2 * node, l, middle, first, last, bytes);
  if (last > middle)
    insert(2 * node + 1, middle, r, first, last, bytes);
}

void Occupancy::collect(size_t node, size_t l, size_t r, size_t first,
                        size_t last) {
  const Node &n = nodes[node];
  if (!n.touched)
    return; // nothing here or below
  bool whole = first <= l && r <= last;
  const auto &list = whole ? n.any.list() : n.cover.list();
  scratch.insert(scratch.end(), list.begin(), list.end());
  if (whole)
    return;
  size_t middle = (l + r) / 2;
  if (first < middle)
    collect(2 * node, l, middle, first, last);
  if (last > middle)
    collect(2 * node + 1, middle, r, first, last);
}

/// The lists of different nodes overlap, so they are sorted and merged once
/// more.
const std::vector<Range> &Occupancy::taken(size_t first, size_t last) {
  scratch.clear();
  collect(1, 0, width, first, last);
  std::sort(scratch.begin(), scratch.end(),
            [](const Range &x, const Range &y) { return x.low < y.low; });
  size_t kept = 0;
  for (const Range &r : scratch) {
    if (kept > 0 && r.low <= scratch[kept - 1].high)
      scratch[kept - 1].high = std::max(scratch[kept - 1].high, r.high);
    else
      scratch[kept++] = r;
  }
  scratch.resize(kept);
  return scratch;
}

} // namespace act::plan
