// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks. Knowledge is shared and never changed, so most work here is to
// avoid making new objects: a union that equals one of its arguments is that
// argument, and later comparisons are comparisons of pointers.
#include "runtime/sim/memory/Clock.h"
#include "runtime/sim/arithmetic/Wide.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

Reach reachOf(const Knowledge::Part &p) { return Reach(p.cta >> ctaBits); }

ACT_WIDE uint32_t least(const uint32_t *ticks, size_t count) {
  uint32_t tick = ~uint32_t(0);
  for (size_t i = 0; i < count; ++i)
    tick = std::min(tick, ticks[i]);
  return tick;
}

bool isOf(const Knowledge::Part &p, uint32_t cta, Reach reach) {
  return ctaOfPart(p.cta) == cta && includes(reachOf(p), reach);
}

} // namespace

bool Knowledge::knows(Epoch e, Reach reach) const {
  for (const Part &p : parts)
    if (isOf(p, e.cta, reach) && e.agent < p.ticks->size() &&
        (*p.ticks)[e.agent] >= e.tick)
      return true;
  return false;
}

/// Looks only at what is known for all memory. A part with a narrower reach
/// would need a closer look.
uint32_t Knowledge::leastTick(uint32_t cta, uint32_t first,
                              uint32_t agents) const {
  for (const Part &p : parts)
    if (p.cta == cta) {
      const std::vector<uint32_t> &ticks = *p.ticks;
      if (first + 32 - unsigned(__builtin_clz(agents)) > ticks.size())
        return 0;
      if (!~agents)
        return least(ticks.data() + first, 32);
      uint32_t tick = ~uint32_t(0);
      for (; agents; agents &= agents - 1)
        tick = std::min(tick, ticks[first + unsigned(__builtin_ctz(agents))]);
      return tick;
    }
  return 0;
}

uint32_t Knowledge::mostTick(uint32_t cta, uint32_t first, uint32_t count,
                             Reach reach) const {
  uint32_t most = 0;
  for (const Part &p : parts)
    if (isOf(p, cta, reach))
      for (size_t i = first; i < p.ticks->size() && i < first + count; ++i)
        most = std::max(most, (*p.ticks)[i]);
  return most;
}

namespace {

using Ticks = std::shared_ptr<const std::vector<uint32_t>>;

/// Whether a (bit 0), or b (bit 1), has a larger tick anywhere.
ACT_WIDE unsigned larger(const uint32_t *a, const uint32_t *b, size_t count) {
  uint32_t ofA = 0, ofB = 0;
  for (size_t i = 0; i < count; ++i) {
    ofA |= a[i] > b[i];
    ofB |= b[i] > a[i];
  }
  return ofA | ofB << 1;
}
ACT_WIDE void raise(uint32_t *to, const uint32_t *from, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = std::max(to[i], from[i]);
}
/// The same for `lanes` of 32. Returns whether anything changed.
ACT_WIDE bool raiseLanes(uint32_t *to, const uint32_t *from, uint32_t lanes) {
  uint32_t changed = 0;
  for (unsigned l = 0; l < 32; ++l) {
    const uint32_t tick = from[l] & -(lanes >> l & 1);
    changed |= tick > to[l];
    to[l] = std::max(to[l], tick);
  }
  return changed;
}
ACT_WIDE bool isAny(const uint32_t *ticks, uint32_t lanes) {
  uint32_t any = 0;
  for (unsigned l = 0; l < 32; ++l)
    any |= ticks[l] & -(lanes >> l & 1);
  return any;
}
void raise(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
  if (to.size() < from.size())
    to.resize(from.size());
  raise(to.data(), from.data(), from.size());
}
bool isAnyFrom(const std::vector<uint32_t> &ticks, size_t first) {
  return std::any_of(ticks.begin() + std::min(first, ticks.size()), ticks.end(),
                     [](uint32_t tick) { return tick != 0; });
}

/// Returns an argument if it includes the other one.
Ticks joinTicks(const Ticks &a, const Ticks &b) {
  if (a == b)
    return a;
  const size_t both = std::min(a->size(), b->size());
  const unsigned of = larger(a->data(), b->data(), both);
  if (!(of & 2) && !isAnyFrom(*b, both))
    return a;
  if (!(of & 1) && !isAnyFrom(*a, both))
    return b;
  auto result = std::make_shared<std::vector<uint32_t>>(*a);
  raise(*result, *b);
  return result;
}

} // namespace

/// The union. Both lists are sorted by their parts' ids, so one pass merges
/// them; on the way it notes whether the result equals an argument.
KnowledgeRef join(const KnowledgeRef &a, const KnowledgeRef &b) {
  if (!b || a == b)
    return a;
  if (!a)
    return b;
  auto result = std::make_shared<Knowledge>();
  bool isA = true, isB = true;
  auto x = a->parts.begin(), y = b->parts.begin();
  while (x != a->parts.end() || y != b->parts.end()) {
    if (y == b->parts.end() || (x != a->parts.end() && x->cta < y->cta)) {
      result->parts.push_back(*x++);
      isB = false;
    } else if (x == a->parts.end() || y->cta < x->cta) {
      result->parts.push_back(*y++);
      isA = false;
    } else {
      Ticks ticks = joinTicks(x->ticks, y->ticks);
      isA &= ticks == x->ticks;
      isB &= ticks == y->ticks;
      result->parts.push_back({x->cta, std::move(ticks)});
      ++x;
      ++y;
    }
  }
  return isA ? a : isB ? b : result;
}

/// What `k` says about the memory within `reach` alone. Parts that become the
/// same after the restriction are joined.
KnowledgeRef limited(const KnowledgeRef &k, Reach reach) {
  if (!k || reach == Reach::All)
    return k;
  auto result = std::make_shared<Knowledge>();
  for (const Knowledge::Part &p : k->parts) {
    Reach both = includes(reachOf(p), reach) ? reach : reachOf(p);
    if (!includes(reach, both))
      continue;
    uint32_t id = partOf(ctaOfPart(p.cta), both);
    auto at = std::find_if(result->parts.begin(), result->parts.end(),
                           [&](const auto &o) { return o.cta >= id; });
    if (at != result->parts.end() && at->cta == id)
      at->ticks = joinTicks(at->ticks, p.ticks);
    else
      result->parts.insert(at, {id, p.ticks});
  }
  return result;
}

Gathering::Part &Gathering::part(uint32_t cta) {
  auto it = parts.begin();
  while (it != parts.end() && it->cta < cta)
    ++it;
  if (it == parts.end() || it->cta != cta)
    it = parts.insert(it, Part{cta, {}});
  return *it;
}

/// The lanes of a warp mostly bring the same object, which needs to be added
/// once.
void Gathering::add(const KnowledgeRef &k) {
  if (!k || std::find(recent.begin(), recent.end(), k) != recent.end())
    return;
  frozen.reset();
  if (recent.size() >= 8)
    recent.erase(recent.begin());
  recent.push_back(k);
  for (const Knowledge::Part &from : k->parts)
    raise(part(from.cta).ticks, *from.ticks);
}

void Gathering::add(Epoch e) {
  if (!e.tick)
    return;
  std::vector<uint32_t> &to = part(e.cta).ticks;
  if (to.size() <= e.agent)
    to.resize(e.agent + 1);
  if (to[e.agent] < e.tick) {
    to[e.agent] = e.tick;
    frozen.reset();
  }
}

void Gathering::add(uint32_t cta, uint32_t first,
                    const std::array<uint32_t, 32> &ticks, uint32_t lanes) {
  if (!isAny(ticks.data(), lanes))
    return;
  std::vector<uint32_t> &to = part(cta).ticks;
  if (to.size() < first + 32)
    to.resize(first + 32);
  if (raiseLanes(to.data() + first, ticks.data(), lanes))
    frozen.reset();
}

void Gathering::add(const Gathering &other) {
  for (const KnowledgeRef &k : other.recent)
    add(k);
  for (const Part &from : other.parts)
    raise(part(from.cta).ticks, from.ticks);
  frozen.reset();
}

void Gathering::clear() {
  parts.clear();
  recent.clear();
  frozen.reset();
}

/// The union as an object that others can share. It stays valid until something
/// is added.
const KnowledgeRef &Gathering::freeze() {
  if (!frozen && !parts.empty()) {
    auto k = std::make_shared<Knowledge>();
    for (const Part &p : parts)
      k->parts.push_back(
          {p.cta, std::make_shared<const std::vector<uint32_t>>(p.ticks)});
    frozen = std::move(k);
  }
  return frozen;
}

KnowledgeRef Joiner::operator()(const KnowledgeRef &a, const KnowledgeRef &b) {
  if (!b || a == b)
    return a;
  if (!a)
    return b;
  for (const Entry &e : entries)
    if (e.a == a && e.b == b)
      return e.result;
  Entry &e = entries[next++ % count];
  e = {a, b, join(a, b)};
  return e.result;
}

/// Keeps one object for the warp as long as all lanes know the same, and comes
/// back to that when they do again. Lanes that have exited are ignored for it.
void LaneKnowledge::learn(uint32_t lanes, uint32_t live, const KnowledgeRef &k,
                          Joiner &joiner) {
  if (!k || !lanes)
    return;
  const bool all = !(live & ~lanes);
  if (!each) {
    KnowledgeRef after = joiner(common, k);
    if (all || after == common) {
      common = std::move(after);
      return;
    }
    each = std::make_unique<std::array<KnowledgeRef, 32>>();
    each->fill(common);
  }
  // Neighbours often know the same.
  KnowledgeRef before, after;
  bool isFirst = true, alike = all;
  for (; lanes; lanes &= lanes - 1, isFirst = false) {
    KnowledgeRef &mine = (*each)[unsigned(__builtin_ctz(lanes))];
    if (isFirst || mine != before) {
      before = mine;
      KnowledgeRef now = joiner(before, k);
      alike &= isFirst || now == after;
      after = std::move(now);
    }
    if (mine != after)
      mine = after;
  }
  if (alike) {
    common = std::move(after);
    each.reset();
  }
}

void LaneKnowledge::addTo(Gathering &all, uint32_t lanes) const {
  if (!each && lanes)
    return all.add(common);
  const Knowledge *last = nullptr;
  for (; lanes; lanes &= lanes - 1) {
    const KnowledgeRef &k = (*each)[unsigned(__builtin_ctz(lanes))];
    if (k.get() != last)
      all.add(k);
    last = k.get();
  }
}

const KnowledgeRef &Limiter::operator()(const KnowledgeRef &k, Reach reach) {
  if (asked != k || of != reach) {
    asked = k;
    of = reach;
    answer = limited(k, reach);
  }
  return answer;
}

} // namespace act::runtime::sim
