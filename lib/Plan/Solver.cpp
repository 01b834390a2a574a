// SPDX-License-Identifier: Apache-2.0
#include "act/Plan/Solver.h"
#include "lib/Plan/Occupancy.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace act::plan {
namespace {

enum class Fit { Tightest, Lowest };
using Ordering = std::vector<uint32_t>;

/// A buffer with its lifetime in slots: the stretches between two consecutive
/// times at which anything is born or dies.
struct Item {
  uint32_t first, last;
  int64_t bytes, alignment;
  int64_t worstMoment; // most bytes alive at once during its lifetime
};

/// splitmix64: the standard's distributions differ between libraries, and the
/// plan must not.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return double(next() >> 11) * 0x1p-53; }
};

class Search {
public:
  Search(const Problem &problem, const SolverOptions &options);
  Plan run();

private:
  void tryOrderings();
  void repair();
  /// Places in this order; keeps the result if it is the best one. Gives up as
  /// soon as the arena exceeds `abandon`.
  int64_t place(const Ordering &order, Fit fit, int64_t abandon,
                const std::string &method);
  int64_t chooseOffset(const Item &item, Fit fit);
  bool done() const { return best.arenaBytes <= target; }

  const SolverOptions &options;
  std::vector<Item> items;
  Ordering sized; // the buffers that have bytes
  size_t slots = 0;
  int64_t bound = 0, target = 0;
  Occupancy occupancy;
  std::vector<int64_t> offsets;
  Plan best;
  Ordering bestOrder;
  Fit bestFit = Fit::Tightest;
};

std::vector<int64_t> moments(const Problem &problem) {
  std::vector<int64_t> times;
  for (const Buffer &b : problem.buffers) {
    times.push_back(b.first);
    times.push_back(b.last);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// Range maximum over the live bytes of each slot, by doubling.
class LiveMaximum {
public:
  explicit LiveMaximum(std::vector<int64_t> live) {
    levels.push_back(std::move(live));
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

Search::Search(const Problem &problem, const SolverOptions &options)
    : options(options), bound(problem.lowerBound()), occupancy(0) {
  std::vector<int64_t> times = moments(problem);
  auto slot = [&](int64_t t) {
    return uint32_t(std::lower_bound(times.begin(), times.end(), t) -
                    times.begin());
  };
  slots = times.empty() ? 0 : times.size() - 1;
  std::vector<int64_t> live(slots + 1);
  for (const Buffer &b : problem.buffers) {
    items.push_back(
        {slot(b.first), slot(b.last), b.footprint(), b.alignment, 0});
    live[items.back().first] += b.footprint();
    live[items.back().last] -= b.footprint();
    if (b.bytes > 0)
      sized.push_back(items.size() - 1);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  LiveMaximum maximum(std::move(live));
  for (Item &item : items)
    item.worstMoment = maximum.in(item.first, item.last);
  target = bound + int64_t(double(bound) * std::max(0.0, options.goodEnough));
  occupancy = Occupancy(slots);
  offsets.resize(items.size());
  best.offsets.resize(items.size());
  best.arenaBytes = std::numeric_limits<int64_t>::max();
}

int64_t Search::chooseOffset(const Item &item, Fit fit) {
  const std::vector<Range> &taken = occupancy.taken(item.first, item.last);
  int64_t chosen = -1, tightest = std::numeric_limits<int64_t>::max();
  int64_t low = 0;
  auto alignUp = [&](int64_t x) {
    return (x + item.alignment - 1) / item.alignment * item.alignment;
  };
  for (size_t i = 0; i <= taken.size(); ++i) {
    // The space below the bound counts as a gap like the others; what lies
    // beyond it is the last resort.
    bool top = i == taken.size();
    int64_t high = top ? std::max(bound, low) : taken[i].low;
    int64_t offset = alignUp(low), rest = high - offset - item.bytes;
    if (rest >= 0 && rest < tightest) {
      chosen = offset;
      tightest = rest;
      if (fit == Fit::Lowest || rest == 0)
        break;
    }
    if (top && chosen < 0)
      chosen = offset;
    if (!top)
      low = taken[i].high;
  }
  return chosen;
}

int64_t Search::place(const Ordering &order, Fit fit, int64_t abandon,
                      const std::string &method) {
  occupancy.clear();
  int64_t arena = 0;
  for (uint32_t index : order) {
    const Item &item = items[index];
    int64_t offset = chooseOffset(item, fit);
    offsets[index] = offset;
    arena = std::max(arena, offset + item.bytes);
    if (arena > abandon)
      return arena;
    occupancy.insert(item.first, item.last, {offset, offset + item.bytes});
  }
  if (arena < best.arenaBytes) {
    best.offsets = offsets;
    best.arenaBytes = arena;
    best.method = method;
    bestOrder = order;
    bestFit = fit;
  }
  return arena;
}

void Search::tryOrderings() {
  struct Rule {
    const char *name;
    bool (*before)(const Item &, const Item &);
  };
  static const Rule rules[] = {
      {"longest first",
       [](const Item &x, const Item &y) {
         return x.last - x.first > y.last - y.first;
       }},
      {"largest area first",
       [](const Item &x, const Item &y) {
         return double(x.bytes) * (x.last - x.first) >
                double(y.bytes) * (y.last - y.first);
       }},
      {"largest first",
       [](const Item &x, const Item &y) { return x.bytes > y.bytes; }},
      {"most crowded first",
       [](const Item &x, const Item &y) {
         if (x.worstMoment != y.worstMoment)
           return x.worstMoment > y.worstMoment;
         return double(x.bytes) * (x.last - x.first) >
                double(y.bytes) * (y.last - y.first);
       }},
      {"by birth",
       [](const Item &x, const Item &y) {
         return x.first != y.first ? x.first < y.first : x.last > y.last;
       }},
  };
  for (const Rule &rule : rules) {
    Ordering order = sized;
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      if (rule.before(items[x], items[y]))
        return true;
      return !rule.before(items[y], items[x]) && x < y;
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

void Search::repair() {
  Random random{options.seed};
  Ordering order = bestOrder;
  const std::string method = best.method + ", repaired";
  std::vector<double> key(items.size());
  int64_t current = best.arenaBytes;
  std::vector<int64_t> currentOffsets = best.offsets;
  // Ten times the effort where more than 1 % is at stake: measured, most of
  // what the usual effort leaves there goes soon after.
  auto worthwhile = [&](int64_t left) {
    return left > 0 || (left > -9 * options.effort &&
                        best.arenaBytes - bound > bound / 100);
  };
  for (int64_t left = options.effort; worthwhile(left) && !done();
       left -= int64_t(order.size())) {
    Ordering trial = order;
    const double stir = 1.5 / double(trial.size());
    const double forward = random.unit();
    // A buffer above the bound moves forward by a random factor; so do a few
    // others, or the search would repeat itself.
    for (size_t i = 0; i < trial.size(); ++i) {
      uint32_t index = trial[i];
      bool sticksOut = currentOffsets[index] + items[index].bytes > bound;
      key[index] = double(i);
      if (sticksOut && random.unit() < forward)
        key[index] *= random.unit();
      else if (random.unit() < stir)
        key[index] = random.unit() * double(trial.size());
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
      currentOffsets = offsets;
    } else if (random.unit() < 0.02) {
      order = bestOrder;
      current = best.arenaBytes;
      currentOffsets = best.offsets;
    }
  }
}

Plan Search::run() {
  if (sized.empty())
    best.arenaBytes = 0;
  tryOrderings();
  if (!done())
    repair();
  best.lowerBoundBytes = bound;
  return std::move(best);
}

} // namespace

Result<Plan> solve(const Problem &problem, const SolverOptions &options) {
  if (Status s = problem.check(); !s)
    return s.error();
  return Search(problem, options).run();
}

} // namespace act::plan
