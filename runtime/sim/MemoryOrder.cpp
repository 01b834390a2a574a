// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/MemoryOrder.h"
#include <cstring>

namespace act::runtime::sim {

namespace {

// Words of shared memory are kept under addresses that no global one has.
uint64_t keyOf(const Context &c, const Context::Target &t, uint64_t address) {
  return t.region && t.region->isShared
             ? uint64_t(1) << 63 | uint64_t(t.owner->linear) << 24 | t.offset
             : address;
}

void take(Context &c, unsigned lane, const Release &message, Order order,
          Scope scope) {
  const Grid &g = c.grid;
  uint32_t self = c.cta.linear;
  if (!message.seen || !g.inScope(message.cta, self, message.scope) ||
      !g.inScope(self, message.cta, scope))
    return;
  Warp &w = c.warp;
  if (isAcquire(order)) {
    w.learn(lane, message.seen, message.proxied);
  } else {
    w.pendingAcquire[lane] = w.joiner(w.pendingAcquire[lane], message.seen);
    w.pendingAcquireProxied[lane] =
        w.joiner(w.pendingAcquireProxied[lane], message.proxied);
  }
}

// What lane leaves when it writes in this order; null: nothing.
Release leave(Context &c, unsigned lane, Order order, Scope scope) {
  Release r;
  r.scope = scope;
  r.cta = c.cta.linear;
  if (isRelease(order)) {
    Gathering seen, proxied;
    c.warp.publish(lane, seen, proxied);
    r.seen = seen.freeze();
    r.proxied = proxied.freeze();
  } else {
    r.seen = c.warp.fenced[lane];
    r.proxied = c.warp.fencedProxied[lane];
  }
  return r;
}

} // namespace

void loadOrdered(Context &c, const Instruction &at, unsigned lane,
                 const Context::Target &from, uint64_t address, void *out,
                 unsigned bytes, Order order, Scope scope) {
  auto &table = c.grid.releasesAt(keyOf(c, from, address));
  std::lock_guard lock(table.mutex);
  if (c.checks) {
    auto it = table.words.find(keyOf(c, from, address));
    if (it != table.words.end())
      take(c, lane, it->second, order, scope);
    c.judge(at, lane, from, address, bytes, {false, true, true, scope});
  }
  std::memcpy(out, from.data, bytes);
  c.poll(address, "a word of memory to change");
}

void storeOrdered(Context &c, const Instruction &at, unsigned lane,
                  const Context::Target &to, uint64_t address,
                  const void *value, unsigned bytes, Order order, Scope scope) {
  auto &table = c.grid.releasesAt(keyOf(c, to, address));
  std::lock_guard lock(table.mutex);
  if (c.checks) {
    c.judge(at, lane, to, address, bytes, {true, false, true, scope});
    Release r = leave(c, lane, order, scope);
    if (r.seen)
      table.words[keyOf(c, to, address)] = std::move(r);
    else
      table.words.erase(keyOf(c, to, address));
  }
  std::memcpy(to.data, value, bytes);
  c.eventGlobal();
}

void updateOrdered(Context &c, const Instruction &at, unsigned lane,
                   const Context::Target &where, uint64_t address,
                   unsigned bytes, Order order, Scope scope,
                   const std::function<bool(std::byte *)> &change) {
  auto &table = c.grid.releasesAt(keyOf(c, where, address));
  std::lock_guard lock(table.mutex);
  if (c.checks) {
    auto it = table.words.find(keyOf(c, where, address));
    if (it != table.words.end())
      take(c, lane, it->second, order, scope);
    c.judge(at, lane, where, address, bytes, {true, true, true, scope});
  }
  bool changed = change(where.data);
  if (c.checks && changed) {
    Release r = leave(c, lane, order, scope);
    if (r.seen) {
      Release &there = table.words[keyOf(c, where, address)];
      // A wider scope stands for both; what is weaker is then taken for more
      // than it is only by those who are in the narrower one anyway.
      if (!there.seen) {
        there = std::move(r);
      } else {
        there.seen = c.warp.joiner(there.seen, r.seen);
        there.proxied = c.warp.joiner(there.proxied, r.proxied);
        there.scope = std::min(there.scope, r.scope);
        there.cta = r.cta;
      }
    }
  }
  if (changed)
    c.eventGlobal();
  else
    c.poll(address, "a word of memory to change");
}

void fence(Context &c) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    w.learn(lane, w.pendingAcquire[lane], w.pendingAcquireProxied[lane]);
    w.pendingAcquire[lane] = w.pendingAcquireProxied[lane] = nullptr;
    Gathering seen, proxied;
    w.publish(lane, seen, proxied);
    w.fenced[lane] = seen.freeze();
    w.fencedProxied[lane] = proxied.freeze();
  }
  w.ticked();
}

void fenceProxy(Context &c) {
  if (!c.checks)
    return;
  Warp &w = c.warp;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      w.proxied[lane] = w.joiner(w.proxied[lane], w.seen[lane]);
      w.proxiedOwn[OwnThread][lane] = w.tick;
      w.proxiedOwn[OwnCopyAsync][lane] = w.own[OwnCopyAsync][lane];
    }
  w.ticked();
}

} // namespace act::runtime::sim
