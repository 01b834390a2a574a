// SPDX-License-Identifier: Apache-2.0
//
// Greedy placement in several orders. Nothing is moved once it is placed, so an
// order is cheap and the best of several is kept.
#include "lib/Plan/Greedy.h"
#include "lib/Plan/RangeMaximum.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace act::plan {
/// Maximum free ranges examined once there is a plan: about a second of work.
static constexpr size_t mostWork = 5'000'000;

/// Computes each item's `crowd`. Items that live at the fullest moment have the
/// least freedom, and some orders place them first.
Greedy::Greedy(const Sections &sections, int64_t target, bool hints)
    : sections(sections), target(target), hints(hints),
      occupancy(sections.count()), height(std::numeric_limits<int64_t>::max()) {
  std::vector<int64_t> live(sections.count() + 1);
  for (const Item &item : sections.items)
    for (const Part &p : item.parts) {
      live[p.first] += p.high - p.low;
      live[p.last] -= p.high - p.low;
    }
  std::partial_sum(live.begin(), live.end(), live.begin());
  RangeMaximum maximum(std::move(live));
  for (const Item &item : sections.items)
    crowd.push_back(double(maximum.in(item.first(), item.last())));
  offset.resize(sections.items.size());
  if (sections.items.empty())
    height = 0;
}

/// Collects ranges (low, high) of offsets, both ends open, closed to the item.
/// At offset x, its part takes [x + p.low, x + p.high), which meets a taken
/// range r if r.low - p.high < x < r.high - p.low. For an item of one part the
/// ranges come out sorted.
void Greedy::collect(const Item &item) {
  taken.clear();
  for (const Part &p : item.parts)
    for (const Range &r : occupancy.taken(p.first, p.last))
      taken.push_back({r.low - p.high, r.high - p.low});
  if (item.parts.size() > 1)
    std::sort(taken.begin(), taken.end(),
              [](const Range &x, const Range &y) { return x.low < y.low; });
}

/// The lowest open offset, or the one with the least room left above it. Below
/// the target there may be none; then the item goes on top, and this order
/// misses the target.
int64_t Greedy::chooseOffset(const Item &item, Fit fit) {
  if (item.fixed >= 0)
    return item.fixed;
  collect(item);
  auto alignUp = [&](int64_t x) {
    return (x + item.alignment - 1) / item.alignment * item.alignment;
  };
  if (hints && item.hint >= 0 &&
      std::none_of(taken.begin(), taken.end(), [&](const Range &r) {
        return r.low < item.hint && item.hint < r.high;
      }))
    return item.hint;
  int64_t chosen = -1, tightest = std::numeric_limits<int64_t>::max();
  int64_t low = 0; // the first offset that is open, before it is aligned
  for (size_t i = 0; i <= taken.size(); ++i) {
    // The space below the target is a gap like the others; above the target is
    // the last resort.
    bool top = i == taken.size();
    int64_t high = top ? std::max(target - item.size, low) : taken[i].low;
    int64_t at = alignUp(low), spare = high - at;
    if (spare >= 0 && spare < tightest) {
      chosen = at;
      tightest = spare;
      if (fit == Fit::Lowest || spare == 0)
        break;
    }
    if (top && chosen < 0)
      chosen = at;
    if (!top)
      low = std::max(low, taken[i].high);
  }
  return chosen;
}

void Greedy::place(const Order &order, Fit fit, const std::string &method) {
  occupancy.clear();
  int64_t arena = 0;
  for (uint32_t index : order) {
    const Item &item = sections.items[index];
    int64_t at = chooseOffset(item, fit);
    offset[index] = at;
    arena = std::max(arena, at + item.size);
    work += taken.size() + 1;
    // An order that is already as high as the best plan cannot win. The limit
    // on work does not apply to the first order: some plan has to come out.
    if (arena >= height || (work > mostWork && !name.empty()))
      return;
    for (const Part &p : item.parts)
      occupancy.insert(p.first, p.last, {at + p.low, at + p.high});
  }
  best = offset;
  height = arena;
  name = method;
}

namespace {
struct Rule {
  const char *name;
  bool slow;
  /// The larger pair goes first.
  std::pair<double, double> (*key)(double width, double size, double crowd,
                                   double birth);
};
} // namespace

/// Orders by width leave few free ranges, and so are fast. `slow` orders are
/// tried only if the fast ones and the descent on the skyline miss the target.
static const Rule rules[] = {
    {"longest first", false,
     [](double w, double, double, double) { return std::make_pair(w, 0.0); }},
    {"most crowded first, then longest", false,
     [](double w, double, double c, double) { return std::make_pair(c, w); }},
    {"largest first", false,
     [](double, double s, double, double) { return std::make_pair(s, 0.0); }},
    {"largest area first", true,
     [](double w, double s, double, double) {
       return std::make_pair(w * s, 0.0);
     }},
    {"most crowded first, then largest area", true,
     [](double w, double s, double c, double) {
       return std::make_pair(c, w * s);
     }},
    {"by birth", true,
     [](double w, double, double, double b) { return std::make_pair(-b, w); }},
};

/// Fixed items go first in every order, so that nothing takes their place.
/// Items with hints are next. The number decides between equal keys, so that
/// the order does not depend on the sorting algorithm.
void Greedy::tryOrders(bool slow) {
  const size_t n = sections.items.size();
  for (const Rule &rule : rules) {
    if (rule.slow != slow)
      continue;
    std::vector<std::pair<double, double>> key(n);
    for (size_t i = 0; i < n; ++i) {
      const Item &item = sections.items[i];
      key[i] = rule.key(item.last() - item.first(), double(item.size), crowd[i],
                        item.first());
    }
    Order order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      bool fixedX = sections.items[x].fixed >= 0,
           fixedY = sections.items[y].fixed >= 0;
      if (fixedX != fixedY)
        return fixedX;
      bool hintX = hints && sections.items[x].hint >= 0,
           hintY = hints && sections.items[y].hint >= 0;
      if (hintX != hintY)
        return hintX;
      return key[x] != key[y] ? key[x] > key[y] : x < y;
    });
    for (Fit fit : {Fit::Tightest, Fit::Lowest}) {
      if (done())
        return;
      place(order, fit,
            std::string(rule.name) +
                (fit == Fit::Tightest ? ", tightest gap" : ", lowest gap"));
    }
  }
}

} // namespace act::plan
