// SPDX-License-Identifier: Apache-2.0
//
// From buffers to items: chooses the unit, cuts time into sections, and turns a
// search's offsets back into bytes.
#include "lib/Plan/Sections.h"
#include <algorithm>
#include <numeric>

namespace act::plan {
namespace {

/// An interval of time in which a buffer uses the same part of its bytes.
struct Use {
  int64_t first, last, low, high;
};

/// The buffer's life as a list of uses in the order of time. Times in which it
/// uses nothing are left out, and neighbours that use the same bytes are
/// joined. A gap that keeps the whole buffer in use thus costs the searches
/// nothing.
std::vector<Use> usesOf(const Buffer &b) {
  std::vector<Gap> gaps = b.gaps;
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap &x, const Gap &y) { return x.first < y.first; });
  std::vector<Use> uses;
  auto add = [&](int64_t first, int64_t last, int64_t low, int64_t high) {
    if (first >= last || low >= high)
      return;
    if (!uses.empty() && uses.back().last == first && uses.back().low == low &&
        uses.back().high == high)
      uses.back().last = last;
    else
      uses.push_back({first, last, low, high});
  };
  int64_t at = b.first;
  for (const Gap &g : gaps) {
    add(at, g.first, 0, b.bytes);
    add(g.first, g.last, g.low, g.high);
    at = g.last;
  }
  add(at, b.last, 0, b.bytes);
  return uses;
}

int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

} // namespace

Sections::Sections(const Problem &problem) {
  for (const Buffer &b : problem.buffers) {
    largest = std::max(largest, b.offset.value_or(0) + b.bytes);
    fixed.push_back(b.offset);
  }
  chooseUnit(problem);
  cut(problem);
}

/// The unit is a common divisor of everything that an offset can depend on. The
/// larger it is, the fewer heights the searches tell apart.
void Sections::chooseUnit(const Problem &problem) {
  int64_t r = 0;
  for (const Buffer &b : problem.buffers) {
    if (b.bytes > 0)
      r = std::gcd(r, b.alignment);
    // Rounding up a window would lose the room next to it.
    for (const Gap &gap : b.gaps)
      if (gap.low < gap.high)
        r = 1;
  }
  rounding = std::max<int64_t>(r, 1);
  int64_t g = 0;
  for (const Buffer &b : problem.buffers) {
    if (b.bytes == 0)
      continue;
    g = std::gcd(g, roundUp(b.bytes, rounding));
    for (const Gap &gap : b.gaps) {
      g = std::gcd(g, gap.low / rounding * rounding);
      g = std::gcd(g, roundUp(gap.high, rounding));
    }
    if (b.hint > 0 && b.hint % b.alignment == 0)
      g = std::gcd(g, b.hint);
    g = std::gcd(g, b.offset.value_or(0));
  }
  // Every offset in units meets an alignment that divides the unit.
  for (const Buffer &b : problem.buffers)
    if (b.bytes > 0 && g % b.alignment != 0)
      g = std::gcd(g, b.alignment);
  unit = std::max<int64_t>(g, 1);
}

/// Cuts time at births and deaths, keeps the sections with a maximal set of
/// live buffers, and places every use in them.
void Sections::cut(const Problem &problem) {
  std::vector<std::pair<size_t, Use>> uses;
  std::vector<int64_t> times;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    for (const Use &u : usesOf(problem.buffers[i])) {
      uses.push_back({i, u});
      times.push_back(u.first);
      times.push_back(u.last);
    }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto slot = [&](int64_t t) {
    return size_t(std::lower_bound(times.begin(), times.end(), t) -
                  times.begin());
  };
  std::vector<char> birth(times.size()), death(times.size());
  for (const auto &[i, u] : uses) {
    birth[slot(u.first)] = 1;
    death[slot(u.last)] = 1;
  }
  // A slot is kept only if neither neighbour has all its buffers: it has to
  // follow a birth and precede a death.
  std::vector<uint32_t> keptBefore(times.size() + 1);
  bool grown = false;
  for (size_t t = 0; t < times.size(); ++t) {
    keptBefore[t] = uint32_t(sections);
    grown |= birth[t] != 0;
    if (grown && t + 1 < times.size() && death[t + 1]) {
      ++sections;
      grown = false;
    }
  }
  std::vector<int64_t> inUse(sections + 1);
  for (const auto &[i, u] : uses) {
    const Buffer &b = problem.buffers[i];
    if (items.empty() || items.back().buffer != i) {
      Item item;
      item.buffer = uint32_t(i);
      item.bytes = b.bytes;
      item.size = roundUp(b.bytes, rounding) / unit;
      item.alignment = unit % b.alignment == 0 ? 1 : b.alignment / unit;
      item.hint = b.hint >= 0 && b.hint % b.alignment == 0 ? b.hint / unit : -1;
      item.fixed = b.offset ? *b.offset / unit : -1;
      hasHints |= item.hint >= 0;
      int64_t slack = item.size * unit - b.bytes;
      mostSlack = std::max(mostSlack, slack);
      exact &= slack == 0;
      items.push_back(item);
    }
    Part part{keptBefore[slot(u.first)], keptBefore[slot(u.last)],
              u.low / rounding * rounding / unit,
              roundUp(u.high, rounding) / unit};
    hasWindows |= part.low != 0 || part.high != items.back().size;
    inUse[part.first] += part.high - part.low;
    inUse[part.last] -= part.high - part.low;
    items.back().parts.push_back(part);
  }
  int64_t sum = 0;
  for (int64_t change : inUse)
    live = std::max(live, sum += change);
}

/// Sizes in units are rounded up, and the topmost item may reach above the
/// capacity by that much. highestOffset() then tests each item's own bytes.
int64_t Sections::capacityUnits(int64_t capacity) const {
  return (capacity + mostSlack) / unit;
}

int64_t Sections::highestOffset(const Item &item, int64_t capacity) const {
  return item.fixed >= 0 ? item.fixed : (capacity - item.bytes) / unit;
}

/// Buffers that are never in use have no item. They may lie anywhere, so they
/// get offset 0 or their fixed one.
void Sections::finish(const std::vector<int64_t> &units, Plan &plan) const {
  plan.offsets.clear();
  for (const std::optional<int64_t> &at : fixed)
    plan.offsets.push_back(at.value_or(0));
  plan.arenaBytes = largest; // there may be one that is never used
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t offset = units[i] * unit;
    plan.offsets[items[i].buffer] = offset;
    plan.arenaBytes = std::max(plan.arenaBytes, offset + items[i].bytes);
  }
}

} // namespace act::plan
