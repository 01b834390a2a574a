// SPDX-License-Identifier: Apache-2.0
//
// The complete search for buffers with windows (WindowSearch.h has the idea).
// It works on pairs of items and ignores how offsets came about.
#include "lib/Plan/WindowSearch.h"
#include <algorithm>

namespace act::plan {

/// The search keeps every pair, and with more items it would not end anyway.
static constexpr size_t mostItems = 1000;

/// Computes for each pair the distances that are closed. Pairs that are never
/// in use at one time have none and are dropped.
WindowSearch::WindowSearch(const Sections &sections) : problem(sections) {
  const auto &items = sections.items;
  if (items.size() > mostItems)
    return;
  for (uint32_t x = 0; x < items.size(); ++x)
    for (uint32_t y = x + 1; y < items.size(); ++y) {
      Pair pair{x, y, {}};
      for (const Part &a : items[x].parts)
        for (const Part &b : items[y].parts)
          if (a.first < b.last && b.first < a.last)
            pair.closed.push_back({a.low - b.high, a.high - b.low});
      auto &closed = pair.closed;
      std::sort(closed.begin(), closed.end(),
                [](Interval i, Interval j) { return i.low < j.low; });
      size_t kept = 0;
      for (Interval i : closed) {
        // The intervals are open: those that only touch are not merged.
        if (kept > 0 && i.low < closed[kept - 1].high)
          closed[kept - 1].high = std::max(closed[kept - 1].high, i.high);
        else
          closed[kept++] = i;
      }
      closed.resize(kept);
      if (kept > 0)
        pairs.push_back(std::move(pair));
    }
  for (const Item &item : items)
    offset.push_back(Sections::leastOffset(item));
  highest.resize(items.size());
  queued.resize(items.size());
  demands.resize(items.size());
}

/// Offsets only grow on the way down the tree, so the first state without a
/// clash is a plan. If a demand was given up by count, the exhausted search
/// proves nothing.
Outcome WindowSearch::run(int64_t capacity, uint64_t maxNodes) {
  if (capacity < problem.largestBytes())
    return Outcome::Impossible;
  if (problem.items.size() > mostItems)
    return Outcome::GaveUp;
  undo(0);
  frames.clear();
  for (auto &d : demands)
    d.clear();
  doubtful = false;
  for (size_t i = 0; i < highest.size(); ++i)
    highest[i] = problem.highestOffset(problem.items[i], capacity);
  for (const uint64_t end = visited + maxNodes; visited < end;) {
    ++visited;
    Frame frame{};
    if (!findClash(frame))
      return Outcome::Found;
    frame.trail = trail.size();
    frame.taken = -1;
    frames.push_back(frame);
    while (!advance()) {
      frames.pop_back();
      if (frames.empty())
        return doubtful ? Outcome::GaveUp : Outcome::Impossible;
    }
  }
  return Outcome::GaveUp;
}

/// Takes the clash that needs the largest move to resolve. Both its demands
/// push far, so a dead end shows early.
bool WindowSearch::findClash(Frame &f) const {
  int64_t worst = 0;
  for (const Pair &p : pairs) {
    int64_t d = offset[p.y] - offset[p.x];
    for (Interval i : p.closed) {
      int64_t clash = std::min(d - i.low, i.high - d);
      if (clash <= worst)
        continue;
      worst = clash;
      // Try the demand with the smaller move first.
      int up = i.high - d <= d - i.low ? 0 : 1;
      f.lower[up] = p.x;
      f.upper[up] = p.y;
      f.distance[up] = i.high;
      f.lower[1 - up] = p.y;
      f.upper[1 - up] = p.x;
      f.distance[1 - up] = -i.low;
    }
  }
  return worst > 0;
}

bool WindowSearch::advance() {
  Frame &f = frames.back();
  for (;;) {
    undo(f.trail);
    if (f.taken >= 0)
      demands[f.lower[f.taken]].pop_back();
    f.taken = -1;
    if (f.next == 2)
      return false;
    int k = f.next++;
    f.taken = k;
    if (demand(f.lower[k], f.upper[k], f.distance[k]))
      return true;
  }
}

/// Pushes items up until all demands hold: longest paths by label correction
/// (Bellman and Ford, with a queue). Items that push each other in a cycle
/// would rise for ever (or unit by unit to the end of the arena), so the demand
/// is then given up. That is wrong only if alignments would let them settle.
bool WindowSearch::demand(uint32_t lower, uint32_t upper, int64_t distance) {
  demands[lower].push_back({upper, distance});
  queue.assign(1, lower);
  std::fill(queued.begin(), queued.end(), 0);
  bool fits = true;
  size_t patience = 16 * (offset.size() + 4) * (offset.size() + 4);
  for (size_t at = 0; at < queue.size() && fits; ++at) {
    const uint32_t from = queue[at];
    queued[from] = 0;
    for (const Demand &d : demands[from]) {
      const int64_t a = problem.items[d.upper].alignment;
      int64_t least = offset[from] + d.distance;
      if (least <= offset[d.upper])
        continue;
      least = (least + a - 1) / a * a;
      if (least > highest[d.upper]) {
        fits = false;
        break;
      }
      trail.push_back({d.upper, offset[d.upper]});
      offset[d.upper] = least;
      if (!queued[d.upper]) {
        queued[d.upper] = 1;
        queue.push_back(d.upper);
      }
    }
    if (at > patience) {
      doubtful = true;
      fits = false;
    }
  }
  return fits;
}

void WindowSearch::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back())
    offset[trail.back().item] = trail.back().offset;
}

} // namespace act::plan
