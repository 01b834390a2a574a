// SPDX-License-Identifier: Apache-2.0
#include "lib/Plan/Greedy.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace act::plan {
namespace {

/// Range maximum, by doubling.
class Maximum {
public:
  explicit Maximum(std::vector<int64_t> values) {
    levels.push_back(std::move(values));
    for (size_t w = 1; 2 * w <= levels[0].size(); w *= 2) {
      const auto &below = levels.back();
      std::vector<int64_t> level(levels[0].size() - 2 * w + 1);
      for (size_t i = 0; i < level.size(); ++i)
        level[i] = std::max(below[i], below[i + w]);
      levels.push_back(std::move(level));
    }
  }
  int64_t in(size_t first, size_t last) const {
    size_t k = 0;
    while ((size_t(2) << k) <= last - first)
      ++k;
    return std::max(levels[k][first], levels[k][last - (size_t(1) << k)]);
  }

private:
  std::vector<std::vector<int64_t>> levels;
};

} // namespace

Greedy::Greedy(const Sections &sections, int64_t target, bool hints,
               uint64_t seed)
    : sections(sections), target(target), hints(hints), random{seed},
      occupancy(sections.count()), height(std::numeric_limits<int64_t>::max()) {
  std::vector<int64_t> live(sections.count() + 1);
  for (const Item &item : sections.items)
    for (const Part &p : item.parts) {
      live[p.first] += p.high - p.low;
      live[p.last] -= p.high - p.low;
    }
  std::partial_sum(live.begin(), live.end(), live.begin());
  Maximum maximum(std::move(live));
  for (const Item &item : sections.items) {
    double w = item.last() - item.first();
    width.push_back(w);
    area.push_back(w * double(item.size));
    crowd.push_back(double(maximum.in(item.first(), item.last())));
  }
  offset.resize(sections.items.size());
  if (sections.items.empty())
    height = 0;
}

/// The offsets low < o < high are closed to the item.
void Greedy::collect(const Item &item) {
  taken.clear();
  for (const Part &p : item.parts)
    for (const Range &r : occupancy.taken(p.first, p.last))
      taken.push_back({r.low - p.high, r.high - p.low});
  if (item.parts.size() > 1)
    std::sort(taken.begin(), taken.end(),
              [](const Range &x, const Range &y) { return x.low < y.low; });
}

int64_t Greedy::chooseOffset(const Item &item, Fit fit) {
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
    // The space below the target counts as a gap like the others; what lies
    // beyond it is the last resort.
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

int64_t Greedy::place(const Order &order, Fit fit, int64_t abandon,
                      const std::string &method) {
  occupancy.clear();
  int64_t arena = 0;
  for (uint32_t index : order) {
    const Item &item = sections.items[index];
    int64_t at = chooseOffset(item, fit);
    offset[index] = at;
    arena = std::max(arena, at + item.size);
    if (arena > abandon)
      return arena;
    for (const Part &p : item.parts)
      occupancy.insert(p.first, p.last, {at + p.low, at + p.high});
  }
  if (arena < height) {
    best = offset;
    height = arena;
    name = method;
    bestOrder = order;
    bestFit = fit;
  }
  return arena;
}

void Greedy::tryOrders() {
  struct Rule {
    const char *name;
    bool (*before)(const Greedy &, uint32_t, uint32_t);
  };
  static const Rule rules[] = {
      {"longest first", [](const Greedy &g, uint32_t x,
                           uint32_t y) { return g.width[x] > g.width[y]; }},
      {"largest area first", [](const Greedy &g, uint32_t x,
                                uint32_t y) { return g.area[x] > g.area[y]; }},
      {"largest first",
       [](const Greedy &g, uint32_t x, uint32_t y) {
         return g.sections.items[x].size > g.sections.items[y].size;
       }},
      {"most crowded first",
       [](const Greedy &g, uint32_t x, uint32_t y) {
         return g.crowd[x] != g.crowd[y] ? g.crowd[x] > g.crowd[y]
                                         : g.area[x] > g.area[y];
       }},
      {"by birth",
       [](const Greedy &g, uint32_t x, uint32_t y) {
         const Item &a = g.sections.items[x], &b = g.sections.items[y];
         return a.first() != b.first() ? a.first() < b.first()
                                       : a.last() > b.last();
       }},
  };
  for (const Rule &rule : rules) {
    Order order(sections.items.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      bool hintX = hints && sections.items[x].hint >= 0,
           hintY = hints && sections.items[y].hint >= 0;
      if (hintX != hintY)
        return hintX;
      if (rule.before(*this, x, y))
        return true;
      return !rule.before(*this, y, x) && x < y;
    });
    for (Fit fit : {Fit::Tightest, Fit::Lowest}) {
      if (done())
        return;
      place(order, fit, std::numeric_limits<int64_t>::max(),
            std::string(rule.name) +
                (fit == Fit::Tightest ? ", tightest gap" : ", lowest gap"));
    }
  }
}

void Greedy::repair(int64_t effort) {
  const size_t n = sections.items.size();
  const std::string method = name + ", repaired";
  Order order = bestOrder;
  std::vector<double> key(n);
  int64_t current = height;
  std::vector<int64_t> currentOffset = best;
  for (int64_t left = effort; left > 0 && !done(); left -= int64_t(n)) {
    Order trial = order;
    const double stir = 1.5 / double(n);
    const double forward = random.unit();
    // A buffer above the target moves forward by a random factor; so do a few
    // others, or the search would repeat itself.
    for (size_t i = 0; i < n; ++i) {
      uint32_t index = trial[i];
      bool sticksOut =
          currentOffset[index] + sections.items[index].size > target;
      key[index] = double(i);
      if (sticksOut && random.unit() < forward)
        key[index] *= random.unit();
      else if (random.unit() < stir)
        key[index] = random.unit() * double(n);
    }
    std::sort(trial.begin(), trial.end(), [&](uint32_t x, uint32_t y) {
      return key[x] != key[y] ? key[x] < key[y] : x < y;
    });
    Fit fit = random.unit() < 0.8
                  ? bestFit
                  : (bestFit == Fit::Tightest ? Fit::Lowest : Fit::Tightest);
    int64_t allowed = current + current / 64;
    int64_t arena = place(trial, fit, allowed, method);
    if (arena <= allowed && (arena <= current || random.unit() < 0.1)) {
      order = std::move(trial);
      current = arena;
      currentOffset = offset;
    } else if (random.unit() < 0.02) {
      order = bestOrder;
      current = height;
      currentOffset = best;
    }
  }
}

} // namespace act::plan
