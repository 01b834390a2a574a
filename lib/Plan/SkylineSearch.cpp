// SPDX-License-Identifier: Apache-2.0
//
// The complete search that SkylineSearch.h describes, and its greedy descent
// (dive). The state is undone by a trail, not copied: a node of the search
// changes few floors, and a problem may have thousands of sections.
#include "lib/Plan/SkylineSearch.h"
#include "lib/Plan/Random.h"
#include "lib/Plan/RangeMaximum.h"
#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <numeric>

namespace act::plan {

static constexpr uint32_t placedItem = UINT32_MAX; // in Change::section
/// Nodes over more items than this count as several: they take longer.
static constexpr uint32_t largeComponent = 1024;
/// Maximum items examined in one dive: about a second of work.
static constexpr size_t longestDive = 100'000'000;
static constexpr int64_t none = std::numeric_limits<int64_t>::max();

static int64_t alignUp(int64_t x, int64_t to) {
  return to == 1 ? x : (x + to - 1) / to * to;
}

/// The largest k with 2^k <= n.
static unsigned log2Of(uint32_t n) { return 31 - unsigned(__builtin_clz(n)); }

/// Flattens the items into arrays and derives what no choice changes: the units
/// each section has to hold, the items that cross from a section to the next,
/// and twins. Two items that agree in size, alignment and sections are twins.
/// Any plan with them swapped is a plan too, so only the one with the first
/// twin placed first is searched. A fixed item is nobody's twin: its offset
/// makes it different.
SkylineSearch::SkylineSearch(const Sections &sections, uint64_t seed)
    : problem(sections), seed(seed) {
  const size_t n = sections.items.size(), s = sections.count();
  std::vector<int64_t> total(s + 1), crossings(s + 1); // differences, first
  std::map<std::vector<int64_t>, int32_t> equals;
  for (size_t i = 0; i < n; ++i) {
    const Item &item = sections.items[i];
    Block b{};
    b.first = item.first();
    b.last = item.last();
    b.parts = uint32_t(ranges.size());
    b.size = item.size;
    b.alignment = item.alignment;
    b.least = Sections::leastOffset(item);
    b.hash = mixed(i + 1);
    std::vector<int64_t> shape = {item.bytes, item.alignment};
    double sections = 0;
    for (const Part &p : item.parts) {
      ranges.push_back({p.first, p.last});
      shape.insert(shape.end(), {p.first, p.last});
      sections += p.last - p.first;
      total[p.first] += b.size;
      total[p.last] -= b.size;
    }
    b.partsEnd = uint32_t(ranges.size());
    ++crossings[b.first];
    --crossings[b.last - 1];
    b.twin = -1;
    if (item.fixed < 0) {
      auto [twin, isNew] = equals.try_emplace(shape, int32_t(i));
      b.twin = isNew ? -1 : twin->second;
      twin->second = int32_t(i);
    }
    blocks.push_back(b);
    width.push_back(sections);
    area.push_back(sections * double(b.size));
  }
  std::partial_sum(total.begin(), total.end(), total.begin());
  std::partial_sum(crossings.begin(), crossings.end(), crossings.begin());
  crossing.assign(crossings.begin(), crossings.end() - 1);
  total.pop_back();
  RangeMaximum maximum(total);
  for (const Block &b : blocks) {
    int64_t most = 0;
    eachPart(b, [&](Range r) {
      most = std::max(most, maximum.in(r.first, r.last));
    });
    crowd.push_back(double(most));
  }
  rest = total;
  hasParts = ranges.size() > blocks.size();
  runOf.resize(s);
  flat.resize(s + 1);
  looseBefore.resize(s + 1);
  blocked.resize(s);
  floors.resize(s);
  placed.resize(n);
  offset.resize(n);
  lowest.resize(n);
  rank.resize(n);
  weight.resize(s);
  ease.resize(s);
}

/// Ranks the items, which a section tries in that order. Four orders take
/// turns, with random noise from the second start on.
void SkylineSearch::order(uint64_t round) {
  Random random{seed + round};
  for (size_t i = 0; i < blocks.size(); ++i) {
    double size =
        double(blocks[i].size) / double(std::max<int64_t>(capacity, 1));
    switch (round % 4) {
    case 0:
      rank[i] = area[i];
      break;
    case 1:
      rank[i] = width[i] + size;
      break;
    case 2:
      rank[i] = size + width[i] * 1e-6;
      break;
    default:
      rank[i] = crowd[i] * double(crossing.size() + 1) + area[i] * 1e-3;
    }
    if (round > 0)
      rank[i] *= 0.75 + 0.5 * random.unit();
  }
}

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...
static uint64_t luby(uint64_t i) {
  for (uint64_t k = 1;; ++k) {
    if (i == (uint64_t(1) << k) - 1)
      return uint64_t(1) << (k - 1);
    if (i < (uint64_t(1) << k) - 1) {
      i -= (uint64_t(1) << (k - 1)) - 1;
      k = 0;
    }
  }
}

/// Prepares for a capacity. Refuted sets are forgotten: a set that does not fit
/// in one capacity may fit in a larger one. The weights go too, so that a run's
/// result does not depend on the runs before it.
bool SkylineSearch::start(int64_t capacityBytes) {
  if (capacityBytes < problem.largestBytes())
    return false;
  capacity = problem.capacityUnits(capacityBytes);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i].highest = problem.highestOffset(problem.items[i], capacityBytes);
  nogoods.clear();
  std::fill(weight.begin(), weight.end(), 0);
  std::fill(ease.begin(), ease.end(), 1);
  return true;
}

/// Back to the empty arena. Weights and refuted sets stay: they hold for every
/// order of the items.
void SkylineSearch::reset() {
  frames.clear();
  components.clear();
  choiceList.clear();
  lists.clear();
  undo(0);
  for (uint32_t i = 0; i < blocks.size(); ++i)
    lists.push_back(i);
}

/// Restarts with other orders until one ends or the nodes are used up. A
/// descent without a mistake opens about one node per item, so the shortest
/// restart allows twice as many.
Outcome SkylineSearch::run(int64_t capacityBytes, uint64_t maxNodes) {
  if (!start(capacityBytes))
    return Outcome::Impossible;
  const uint64_t end = visited + maxNodes;
  const uint64_t length = std::max<uint64_t>(300, 2 * blocks.size());
  for (uint64_t round = 0; visited < end; ++round) {
    order(round);
    uint64_t limit = visited + length * luby(round + 1);
    Outcome outcome = restart(std::min(limit, end));
    if (outcome != Outcome::GaveUp)
      return outcome;
  }
  return Outcome::GaveUp;
}

/// One search in a given order. It keeps an explicit stack, because a plan of
/// thousands of items is as deep as that. The root frame has no choices of its
/// own: when its parts fail, the problem has no plan.
Outcome SkylineSearch::restart(uint64_t limit) {
  reset();
  Frame root{};
  root.component = {0, uint32_t(floors.size()), 0, uint32_t(lists.size())};
  root.lists = lists.size();
  split(root);
  frames.push_back(root);
  for (;;) {
    Frame &top = frames.back();
    if (top.pending == top.pendingEnd) { // solved
      if (frames.size() == 1)
        return Outcome::Found;
      frames.pop_back();
      ++frames.back().pending;
      continue;
    }
    if (visited >= limit)
      return Outcome::GaveUp;
    const Component &next = components[top.pending];
    visited += 1 + (next.listEnd - next.list) / largeComponent;
    // A new frame takes its first choice. If it is refuted, the frame below
    // takes its next choice: the frame's other parts cannot help.
    open(next);
    while (!advance()) {
      const Frame &f = frames.back();
      if (frames.size() == 1)
        return Outcome::Impossible;
      // advance() has undone its last choice, so these are the floors above
      // which every choice failed.
      nogoods.add(f.set, f.component.first, &floors[f.component.first],
                  f.component.last - f.component.first);
      frames.pop_back();
    }
  }
}

/// Places one item in every valley at a time: valleys do not touch.
Outcome SkylineSearch::dive(int64_t capacityBytes) {
  if (!start(capacityBytes))
    return Outcome::Impossible;
  order(0);
  reset();
  Component c{0, uint32_t(floors.size()), 0, uint32_t(lists.size())};
  std::vector<uint32_t> section, pick; // of each run
  double valleyScore = 0;
  size_t work = 0;
  for (size_t left = blocks.size(); left > 0;) {
    work += left + floors.size();
    if (work > longestDive)
      return Outcome::GaveUp;
    uint64_t set = 0;
    findRuns(c);
    if (!findLowest(c, set) || !raiseFloors(c))
      return Outcome::GaveUp;
    section.assign(runs.size(), UINT32_MAX);
    pick.assign(runs.size(), UINT32_MAX);
    eachRipe(c, [&](uint32_t s, double score, int64_t) {
      uint32_t &best = section[runOf[s]];
      if (best == UINT32_MAX || score < valleyScore) {
        valleyScore = score;
        best = s;
      }
    });
    for (uint32_t at = c.list; at < c.listEnd; ++at) {
      const uint32_t i = lists[at];
      const Block &b = blocks[i];
      if (placed[i] || mustWait(b))
        continue;
      eachPart(b, [&](Range r) {
        const uint32_t run = runOf[r.first], s = section[run];
        if (runs[run] == lowest[i] && r.first <= s && s < r.last &&
            (pick[run] == UINT32_MAX || rank[i] > rank[pick[run]]))
          pick[run] = i;
      });
    }
    size_t before = left;
    for (size_t run = 0; run < pick.size(); ++run) {
      const uint32_t i = pick[run];
      if (i == UINT32_MAX || placed[i])
        continue;
      // With gaps, an item can be in more than one valley.
      bool free = true;
      eachPart(blocks[i], [&](Range r) {
        for (uint32_t s = r.first; s < r.last; ++s)
          free &= floors[s] == lowest[i];
      });
      if (!free)
        continue;
      if (!place(i, section[run]))
        return Outcome::GaveUp;
      --left;
      ++visited;
    }
    if (left == before)
      return Outcome::GaveUp;
  }
  return Outcome::Found;
}

/// Derives all that follows without a choice: lowest places, raised floors,
/// sets refuted before. Only then is it worth a frame. The trail mark is set
/// after the floors were raised, so trying the choices does not lower them
/// again; the frame below undoes them.
bool SkylineSearch::open(Component c) {
  Frame frame{};
  findRuns(c);
  if (!findLowest(c, frame.set) || !raiseFloors(c))
    return false;
  if (nogoods.refutes(frame.set, c.first, &floors[c.first], c.last - c.first))
    return false;
  frame.section = chooseSection(c, frame.mayRise);
  frame.component = c;
  frame.next = uint32_t(choiceList.size());
  listChoices(c, frame.section);
  frame.choices = uint32_t(choiceList.size());
  frame.trail = trail.size();
  frame.lists = lists.size();
  frame.components = components.size();
  frames.push_back(frame);
  return true;
}

/// A run is a stretch of sections with one floor. Skylines have far fewer runs
/// than sections, so maxima are taken over runs.
void SkylineSearch::findRuns(const Component &c) {
  runs.clear();
  for (uint32_t s = c.first; s < c.last; ++s) {
    if (s == c.first || floors[s] != floors[s - 1])
      runs.push_back(floors[s]);
    runOf[s] = uint32_t(runs.size() - 1);
  }
}

/// Finds the lowest place of each item. Counts for each section the items that
/// are flat on it: those within one run (or several runs with one floor) that
/// can start there.
bool SkylineSearch::findLowest(Component &c, uint64_t &set) {
  // Maxima over 2^k runs from each on.
  const uint32_t n = uint32_t(runs.size());
  const unsigned levels = log2Of(n) + 1;
  maxima.resize(size_t(levels) * n);
  std::copy(runs.begin(), runs.end(), maxima.begin());
  for (unsigned k = 1; k < levels; ++k) {
    const int64_t *below = &maxima[size_t(k - 1) * n];
    const uint32_t half = 1u << (k - 1);
    int64_t *level = &maxima[size_t(k) * n];
    for (uint32_t i = 0; i + 2 * half <= n; ++i)
      level[i] = std::max(below[i], below[i + half]);
  }
  auto highest = [&](Range r) {
    uint32_t left = runOf[r.first], right = runOf[r.last - 1];
    if (left == right)
      return runs[left];
    unsigned k = log2Of(right - left + 1);
    const int64_t *level = &maxima[size_t(k) * n];
    return std::max(level[left], level[right + 1 - (1u << k)]);
  };
  std::fill(flat.begin() + c.first, flat.begin() + c.last + 1, 0);
  steep.clear();
  uint32_t unplaced = 0;
  for (uint32_t at = c.list; at < c.listEnd; ++at) {
    const uint32_t index = lists[at];
    if (placed[index])
      continue;
    ++unplaced;
    const Block &b = blocks[index];
    set ^= b.hash;
    int64_t low = b.least;
    eachPart(b, [&](Range r) { low = std::max(low, highest(r)); });
    if (b.alignment > 1)
      low = alignUp(low, b.alignment);
    if (low > b.highest) {
      blame(b.first, 1);
      return false;
    }
    lowest[index] = low;
    bool isFlat = true;
    eachPart(b, [&](Range r) {
      isFlat &=
          runs[runOf[r.first]] == low && runOf[r.first] == runOf[r.last - 1];
    });
    if (!isFlat)
      steep.push_back(index);
    else
      eachPart(b, [&](Range r) {
        ++flat[r.first];
        --flat[r.last];
      });
  }
  // The list is shared with the frame below until a quarter is placed.
  if (unplaced < (c.listEnd - c.list) / 4 * 3) {
    uint32_t start = uint32_t(lists.size());
    for (uint32_t at = c.list; at < c.listEnd; ++at)
      if (!placed[lists[at]])
        lists.push_back(lists[at]);
    c.list = start;
    c.listEnd = uint32_t(lists.size());
  }
  return true;
}

/// A floor with nothing flat on it rises to the lowest place of its items. Only
/// such floors are examined; they have their own numbering.
bool SkylineSearch::raiseFloors(const Component &c) {
  loose.clear();
  int32_t count = 0;
  for (uint32_t s = c.first; s < c.last; ++s) {
    count += flat[s];
    looseBefore[s] = uint32_t(loose.size());
    if (count == 0)
      loose.push_back(s);
    else if (rest[s] > capacity - floors[s])
      return blame(s, 1);
  }
  looseBefore[c.last] = uint32_t(loose.size());
  if (loose.empty())
    return true;
  // Minima over 2^k floors from each on, filled from above.
  const uint32_t n = uint32_t(loose.size());
  const unsigned levels = log2Of(n) + 1;
  minima.assign(size_t(levels) * n, none);
  for (uint32_t index : steep) {
    const int64_t low = lowest[index];
    eachPart(blocks[index], [&](Range r) {
      const uint32_t from = looseBefore[r.first], to = looseBefore[r.last];
      if (from == to)
        return;
      unsigned k = log2Of(to - from);
      int64_t *level = &minima[size_t(k) * n];
      int64_t &left = level[from], &right = level[to - (1u << k)];
      left = std::min(left, low);
      right = std::min(right, low);
    });
  }
  for (unsigned k = levels; --k > 0;) {
    const int64_t *level = &minima[size_t(k) * n];
    int64_t *below = &minima[size_t(k - 1) * n];
    const uint32_t half = 1u << (k - 1);
    for (uint32_t i = 0; i + 2 * half <= n; ++i) {
      below[i] = std::min(below[i], level[i]);
      below[i + half] = std::min(below[i + half], level[i]);
    }
  }
  bool risen = false;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t s = loose[i];
    // Without unplaced items the floor goes to the top, so it is no valley.
    const int64_t floor = minima[i] == none ? capacity : minima[i];
    if (floor > floors[s]) {
      setFloor(s, floor);
      risen = true;
    }
    if (rest[s] > capacity - floors[s])
      return blame(s, 1);
  }
  if (!risen)
    return true;
  // Raised floors may make more items flat.
  findRuns(c);
  auto isFlat = [&](uint32_t index) {
    bool level = true;
    eachPart(blocks[index], [&](Range r) {
      level &= runs[runOf[r.first]] == lowest[index] &&
               runOf[r.first] == runOf[r.last - 1];
    });
    return level;
  };
  size_t kept = 0;
  for (uint32_t index : steep) {
    if (!isFlat(index))
      steep[kept++] = index;
    else
      eachPart(blocks[index], [&](Range r) {
        ++flat[r.first];
        --flat[r.last];
      });
  }
  steep.resize(kept);
  return true;
}

/// A flat item may start where it is. A section is not ripe if an item that is
/// not flat could also start there: such an item is partly over lower floors,
/// and what will be below it is open. There is always a ripe section, at the
/// lowest floor.
template <typename F> void SkylineSearch::eachRipe(const Component &c, F f) {
  // Only items with gaps need this test. An item without gaps that could start
  // here, and is not flat, also lies over a lower floor next to this run. The
  // run is then no valley.
  if (hasParts) {
    std::fill(blocked.begin() + c.first, blocked.begin() + c.last, 0);
    for (uint32_t index : steep)
      if (blocks[index].partsEnd - blocks[index].parts > 1)
        eachPart(blocks[index], [&](Range r) {
          for (uint32_t s = r.first; s < r.last; ++s)
            blocked[s] |= floors[s] == lowest[index];
        });
  }
  // The score counts the choices: the items, and the rise of the floor if there
  // is room for it. The unused room adds up to 10, so tight sections come
  // first. Weights are divided in by `ease`, an idea of dom/wdeg (Boussemart et
  // al., ECAI 2004).
  const double scale = 10 / double(capacity + 1);
  int32_t count = 0;
  for (uint32_t s = c.first; s < c.last;) {
    const uint32_t run = runOf[s];
    const bool valley = (run == 0 || runs[run - 1] > runs[run]) &&
                        (run + 1 == runs.size() || runs[run + 1] > runs[run]);
    for (; s < c.last && runOf[s] == run; ++s) {
      count += flat[s];
      if (!valley || blocked[s])
        continue;
      const int64_t slack = capacity - floors[s] - rest[s];
      f(s, (count + (slack > 0) + scale * double(slack)) * ease[s], slack);
    }
  }
}

uint32_t SkylineSearch::chooseSection(const Component &c, bool &mayRise) {
  uint32_t best = c.first;
  double bestScore = std::numeric_limits<double>::infinity();
  eachRipe(c, [&](uint32_t s, double score, int64_t slack) {
    if (score < bestScore) {
      bestScore = score;
      best = s;
      mayRise = slack > 0;
    }
  });
  assert(bestScore < std::numeric_limits<double>::infinity());
  return best;
}

bool SkylineSearch::covers(const Block &b, uint32_t section) const {
  bool found = false;
  eachPart(b,
           [&](Range r) { found |= r.first <= section && section < r.last; });
  return found;
}

/// The items that can start at the section's floor, in the order of this
/// restart. Equal ranks fall back to the number, so that a seed has one plan.
void SkylineSearch::listChoices(const Component &c, uint32_t section) {
  const size_t start = choiceList.size();
  for (uint32_t at = c.list; at < c.listEnd; ++at) {
    const uint32_t i = lists[at];
    if (!placed[i] && lowest[i] == floors[section] &&
        covers(blocks[i], section) && !mustWait(blocks[i]))
      choiceList.push_back(i);
  }
  std::sort(choiceList.begin() + ptrdiff_t(start), choiceList.end(),
            [&](uint32_t x, uint32_t y) {
              return rank[x] != rank[y] ? rank[x] > rank[y] : x < y;
            });
}

/// The choices are the items, then the rise of the floor. Everything behind the
/// frame's marks belongs to the choice before, and goes first.
bool SkylineSearch::advance() {
  Frame &f = frames.back();
  undo(f.trail);
  lists.resize(f.lists);
  choiceList.resize(f.choices);
  components.resize(f.components);
  while (f.next < f.choices) {
    if (place(choiceList[f.next++], f.section)) {
      split(f);
      return true;
    }
    undo(f.trail);
  }
  if (f.mayRise) {
    f.mayRise = false;
    if (rise(f)) {
      split(f);
      return true;
    }
    blame(f.section, 0.1);
  }
  return false;
}

/// Puts the item on the section's floor. False if some section cannot hold the
/// rest any more; the state has changed even then, and the caller undoes it.
bool SkylineSearch::place(uint32_t item, uint32_t section) {
  const Block &b = blocks[item];
  const int64_t top = floors[section] + b.size;
  offset[item] = floors[section];
  placed[item] = 1;
  trail.push_back({placedItem, item, 0});
  bool fits = true;
  eachPart(b, [&](Range r) {
    for (uint32_t s = r.first; s < r.last; ++s) {
      rest[s] -= b.size;
      setFloor(s, top);
      fits &= rest[s] <= capacity - top;
    }
  });
  for (uint32_t s = b.first; s + 1 < b.last; ++s)
    --crossing[s];
  return fits;
}

/// The choice that nothing of the section starts at its floor. Its lowest item
/// then stands on a placed item, higher up, or on an unplaced item of other
/// sections.
bool SkylineSearch::rise(const Frame &f) {
  const Component &c = f.component;
  const int64_t floor = floors[f.section];
  uint32_t from = UINT32_MAX, to = 0;
  int64_t next = none;
  // open() of other frames has overwritten `lowest`: compute it again.
  for (uint32_t at = c.list; at < c.listEnd; ++at) {
    const Block &b = blocks[lists[at]];
    if (placed[lists[at]] || !covers(b, f.section))
      continue;
    int64_t low = b.least;
    eachPart(b, [&](Range r) {
      for (uint32_t s = r.first; s < r.last; ++s)
        low = std::max(low, floors[s]);
    });
    low = alignUp(low, b.alignment);
    if (low > floor) {
      next = std::min(next, low);
    } else {
      from = std::min(from, b.first);
      to = std::max(to, b.last);
    }
  }
  for (uint32_t at = c.list; at < c.listEnd; ++at) {
    const Block &b = blocks[lists[at]];
    if (placed[lists[at]] || b.last <= from || b.first >= to ||
        covers(b, f.section))
      continue;
    int64_t low = b.least;
    eachPart(b, [&](Range r) {
      for (uint32_t s = r.first; s < r.last; ++s)
        low = std::max(low, floors[s]);
    });
    next = std::min(next, alignUp(low, b.alignment) + b.size);
  }
  if (next == none || rest[f.section] > capacity - next)
    return false;
  setFloor(f.section, next);
  return true;
}

/// Splits a frame's component into parts that no unplaced item connects.
void SkylineSearch::split(Frame &f) {
  const Component &c = f.component;
  f.pending = uint32_t(components.size());
  uint32_t start = c.first;
  for (uint32_t s = c.first; s < c.last; ++s)
    if (s + 1 == c.last || crossing[s] == 0) {
      if (rest[s] > 0) // else nothing is left here
        components.push_back({start, s + 1, c.list, c.listEnd});
      start = s + 1;
    }
  f.pendingEnd = uint32_t(components.size());
  if (f.pendingEnd - f.pending == 1 &&
      components.back().last - components.back().first == c.last - c.first)
    return;
  // The items of each part, in consecutive lists.
  for (uint32_t k = f.pending; k < f.pendingEnd; ++k) {
    Component &part = components[k];
    part.list = uint32_t(lists.size());
    for (uint32_t at = c.list; at < c.listEnd; ++at) {
      const Block &b = blocks[lists[at]];
      if (!placed[lists[at]] && b.first >= part.first && b.last <= part.last)
        lists.push_back(lists[at]);
    }
    part.listEnd = uint32_t(lists.size());
  }
  // Small parts first: they fail fastest.
  std::sort(components.begin() + f.pending, components.end(),
            [](const Component &x, const Component &y) {
              uint32_t a = x.listEnd - x.list, b = y.listEnd - y.list;
              return a != b ? a < b : x.first < y.first;
            });
}

bool SkylineSearch::blame(uint32_t section, double much) {
  weight[section] += much;
  ease[section] = 1 / (1 + weight[section]);
  return false;
}

void SkylineSearch::setFloor(uint32_t section, int64_t floor) {
  trail.push_back({section, 0, floors[section]});
  floors[section] = floor;
}

void SkylineSearch::undo(size_t mark) {
  while (trail.size() > mark) {
    Change change = trail.back();
    trail.pop_back();
    if (change.section != placedItem) {
      floors[change.section] = change.floor;
      continue;
    }
    const Block &b = blocks[change.item];
    placed[change.item] = 0;
    eachPart(b, [&](Range r) {
      for (uint32_t s = r.first; s < r.last; ++s)
        rest[s] += b.size;
    });
    for (uint32_t s = b.first; s + 1 < b.last; ++s)
      ++crossing[s];
  }
}

} // namespace act::plan
