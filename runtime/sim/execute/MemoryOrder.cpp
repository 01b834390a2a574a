// SPDX-License-Identifier: Apache-2.0
//
// Messages in words of memory, fences, and the updates of atomics.
// MemoryOrder.h has the rules.
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/execute/Underway.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

namespace {

// Keys for words of shared memory are values that no global address has.
uint64_t keyOf(const Context &c, const Context::Target &t, uint64_t address) {
  return t.region && t.region->isShared
             ? uint64_t(1) << 63 | uint64_t(t.owner->linear) << 24 | t.offset
             : address;
}

// Synchronisation needs both sides: the writer's scope has to include the
// reader, and the reader's the writer. A relaxed read keeps the message for the
// next fence.
void take(Context &c, unsigned lane, const Release &message, Order order,
          Scope scope) {
  const Grid &g = c.grid;
  uint32_t self = c.cta.linear;
  Warp &w = c.warp;
  for (const Release::Part &part : message.parts) {
    if (!g.inScope(part.cta, self, part.scope) ||
        !g.inScope(self, part.cta, scope))
      continue;
    if (isAcquire(order)) {
      w.learn(1u << lane, part.told.seen, part.told.proxied);
      continue;
    }
    Told &pending =
        w.pendingAcquire[unsigned(g.distance(part.cta, self))][lane];
    pending.seen = w.cta->joiner(pending.seen, part.told.seen);
    pending.proxied = w.cta->joiner(pending.proxied, part.told.proxied);
  }
}

// The message that a write by `lane` in this order stores; empty: none.
Release leave(Context &c, unsigned lane, Order order, Scope scope) {
  Release r;
  Scope widest = std::min(scope, Scope::Gpu);
  if (isRelease(order)) {
    Gathering seen, proxied;
    c.warp.publish(1u << lane, seen, proxied);
    r.parts.push_back(
        {c.cta.linear, widest, {seen.freeze(), proxied.freeze()}});
    return r;
  }
  // A fence of a wide scope also covers nearer threads.
  Told last;
  for (unsigned d = unsigned(widest) + 1; d-- > 0;) {
    const Told &t = c.warp.fenced[d][lane];
    if ((t.seen && t.seen != last.seen) ||
        (t.proxied && t.proxied != last.proxied))
      r.parts.push_back({c.cta.linear, Scope(d), t});
    last = t;
  }
  return r;
}

// Merges parts that have the same readers, so that a counter which many CTAs
// add to keeps a short message.
void add(Context &c, Release &to, Release &&more) {
  for (Release::Part &part : more.parts) {
    auto same = std::find_if(to.parts.begin(), to.parts.end(), [&](auto &p) {
      return p.scope == part.scope &&
             c.grid.inScope(p.cta, part.cta, part.scope);
    });
    if (same == to.parts.end()) {
      to.parts.push_back(std::move(part));
      continue;
    }
    same->cta = part.cta;
    same->told.seen = c.cta.joiner(same->told.seen, part.told.seen);
    same->told.proxied = c.cta.joiner(same->told.proxied, part.told.proxied);
  }
}

// The word's value before writes by clusters that need not have begun, if this
// read is to get that; else null (CtaOrder.h).
const std::byte *beforeOthers(Context &c, const Instruction &at, unsigned lane,
                              Underway::ReleaseTable &table,
                              const Context::Target &where, uint64_t address,
                              unsigned bytes) {
  if (!c.grid.watchesOrder || !(at.flags & flagLooks) || !where.region ||
      where.region->isShared)
    return nullptr;
  Cluster &cluster = *c.cta.cluster;
  auto it = table.histories.find(address);
  const std::byte *before =
      it == table.histories.end() || it->second.launch != c.grid.firstCta
          ? nullptr
          : it->second.before(cluster.linear, cluster.heard, bytes);
  if (!before || std::memcmp(before, where.data, bytes) == 0)
    return nullptr;
  switch (cluster.looks.look(address, at, c.warp, c.fragment.steps)) {
  case Looks::Answer::Before:
    return before;
  case Looks::Answer::Waits:
    c.reportAt(FindingKind::ReliesOnCtaOrder, at, lane, address,
               "waits for a word of memory to change, but only a CTA that may "
               "not have started changes it");
    return nullptr;
  case Looks::Answer::Real:
    return nullptr;
  }
  return nullptr;
}

void hear(Context &c, Underway::ReleaseTable &table, uint64_t address) {
  if (!c.grid.watchesOrder)
    return;
  auto it = table.histories.find(address);
  if (it != table.histories.end() && it->second.launch == c.grid.firstCta)
    c.cta.cluster->heard.add(it->second.proof());
}

// Call it before the bytes change.
void remember(Context &c, Underway::ReleaseTable &table,
              const Context::Target &where, uint64_t address,
              const std::byte *before, unsigned bytes, bool modifies) {
  if (!where.region || where.region->isShared)
    return;
  if (!c.grid.watchesOrder) {
    table.histories.erase(address); // another launch's
    return;
  }
  WordHistory &history = table.histories[address];
  if (history.launch != c.grid.firstCta) {
    history = WordHistory();
    history.launch = c.grid.firstCta;
  }
  history.write(c.cta.cluster->linear, c.cta.cluster->heard, before, bytes,
                modifies);
}

} // namespace

uint32_t loadOrdered(Context &c, const Instruction &at, unsigned lane,
                     const Context::Target &from, uint64_t address, void *out,
                     unsigned bytes, Order order, Scope scope) {
  uint32_t undefined = 0;
  auto &table = c.grid.underway->releasesAt(keyOf(c, from, address));
  std::lock_guard lock(table.mutex);
  const std::byte *before =
      beforeOthers(c, at, lane, table, from, address, bytes);
  if (c.checks) {
    auto it = table.words.find(keyOf(c, from, address));
    if (it != table.words.end() && !before)
      take(c, lane, it->second, order, scope);
    undefined = c.judge(at, lane, from, address, bytes,
                        c.passing({false, true, true, scope}));
  }
  std::memcpy(out, before ? before : from.data, bytes);
  if (!before)
    hear(c, table, address);
  c.poll(address, "a word of memory to change");
  return undefined;
}

void storeOrdered(Context &c, const Instruction &at, unsigned lane,
                  const Context::Target &to, uint64_t address,
                  const void *value, unsigned bytes, Order order, Scope scope) {
  auto &table = c.grid.underway->releasesAt(keyOf(c, to, address));
  std::lock_guard lock(table.mutex);
  if (c.checks) {
    c.judge(at, lane, to, address, bytes, {true, false, true, scope});
    Release r = leave(c, lane, order, scope);
    if (r.parts.empty())
      table.words.erase(keyOf(c, to, address));
    else
      table.words[keyOf(c, to, address)] = std::move(r);
  }
  remember(c, table, to, address, to.data, bytes, false);
  std::memcpy(to.data, value, bytes);
  c.eventGlobal();
}

// The table's lock makes the update atomic: all strong accesses of the word
// take it.
void updateOrdered(Context &c, const Instruction &at, unsigned lane,
                   const Context::Target &where, uint64_t address,
                   unsigned bytes, Order order, Scope scope,
                   const std::function<bool(std::byte *)> &change, bool looks,
                   bool isFloatSum) {
  auto &table = c.grid.underway->releasesAt(keyOf(c, where, address));
  std::lock_guard lock(table.mutex);
  // It does not count as a poll (CtaOrder.h): a loop of updates retries with
  // the value it found, or takes a lock.
  std::byte word[16] = {};
  if (c.checks) {
    auto it = table.words.find(keyOf(c, where, address));
    if (it != table.words.end())
      take(c, lane, it->second, order, scope);
    c.judge(at, lane, where, address, bytes,
            c.updating({true, true, true, scope}, isFloatSum));
  }
  std::memcpy(word, where.data, std::min<size_t>(bytes, sizeof word));
  hear(c, table, address);
  bool changed = change(where.data);
  if (changed)
    remember(c, table, where, address, word, bytes, true);
  if (c.checks && changed) {
    Release r = leave(c, lane, order, scope);
    if (!r.parts.empty())
      add(c, table.words[keyOf(c, where, address)], std::move(r));
  }
  bool same = looks && std::memcmp(word, where.data,
                                   std::min<size_t>(bytes, sizeof word)) == 0;
  if (changed && !same)
    c.eventGlobal();
  else
    c.poll(address, "a word of memory to change");
}

namespace {

// What a fence passes to later relaxed writes.
void tell(Warp &w, unsigned lane, Scope scope, const KnowledgeRef &seen,
          const KnowledgeRef &proxied) {
  for (unsigned d = 0; d <= unsigned(std::min(scope, Scope::Gpu)); ++d) {
    Told &told = w.fenced[d][lane];
    told.seen = w.cta->joiner(told.seen, seen);
    told.proxied = w.cta->joiner(told.proxied, proxied);
  }
}

} // namespace

void fence(Context &c, Order order, Scope scope, Reach reach) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  unsigned farthest = unsigned(std::min(scope, Scope::Gpu));
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    for (unsigned d = 0; isAcquire(order) && d <= farthest; ++d) {
      Told &pending = w.pendingAcquire[d][lane];
      w.learn(1u << lane, limited(pending.seen, reach),
              limited(pending.proxied, reach));
      // A restricted fence acquires a part; the rest stays pending.
      if (reach == Reach::All)
        pending = {};
    }
    if (!isRelease(order))
      continue;
    Gathering seen, proxied;
    w.publish(1u << lane, seen, proxied);
    tell(w, lane, scope, limited(seen.freeze(), reach),
         limited(proxied.freeze(), reach));
  }
  w.ticked();
}

void fenceInits(Context &c) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      tell(w, lane, Scope::Cluster, w.inits[lane], w.inits[lane]);
      // Later releases then tell the async proxy of the inits as well.
      w.proxied.learn(1u << lane, w.liveLanes, w.inits[lane], w.cta->joiner);
    }
}

void orderLanes(Context &c) {
  if (!c.checks)
    return;
  Gathering seen, proxied;
  c.warp.publish(c.mask, seen, proxied);
  c.warp.ticked();
  c.warp.learn(c.mask, seen.freeze(), proxied.freeze());
}

void fenceProxy(Context &c, Reach reach) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  auto &own = w.proxiedOwn[unsigned(std::min(reach, Reach::Own))];
  if (w.seen.isCommon())
    w.proxied.learn(c.mask, w.liveLanes, w.limiter(w.seen[0], reach),
                    w.cta->joiner);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      if (!w.seen.isCommon())
        w.proxied.learn(1u << lane, w.liveLanes, w.limiter(w.seen[lane], reach),
                        w.cta->joiner);
      own[OwnThread][lane] = w.tick;
      own[OwnCopyAsync][lane] = w.own[OwnCopyAsync][lane];
    }
  w.ticked();
}

void fenceGenericToAsync(Context &c, Order order, Scope scope, Reach reach) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    if (isRelease(order)) {
      Gathering seen, proxied;
      w.publish(1u << lane, seen, proxied);
      tell(w, lane, scope, nullptr, limited(seen.freeze(), reach));
      continue;
    }
    auto learn = [&](const KnowledgeRef &k) {
      w.proxied.learn(1u << lane, w.liveLanes, k, w.cta->joiner);
    };
    learn(w.limiter(w.seen[lane], reach));
    for (unsigned d = 0; d <= unsigned(std::min(scope, Scope::Gpu)); ++d)
      learn(limited(w.pendingAcquire[d][lane].proxied, reach));
  }
  w.ticked();
}

} // namespace act::runtime::sim
