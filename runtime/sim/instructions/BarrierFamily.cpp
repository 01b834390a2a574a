// SPDX-License-Identifier: Apache-2.0
//
// bar, barrier (of the CTA), barrier.cluster, bar.warp.sync.
//
// A barrier counts threads. It completes when the expected number has arrived:
// the given count, or all threads of the CTA that have not exited. A thread
// that leaves knows everything that the arriving threads published.
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/instructions/Families.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Type;

namespace {

enum class Kind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };

struct Bar {
  Kind kind = Kind::Sync;
  bool aligned = true, hasCount = false, negated = false;
  uint32_t barrier = 0, count = 0, predicate = 0, result = 0; // slots
};

uint32_t liveThreads(const Cta &cta) {
  uint32_t n = 0;
  for (auto &warp : cta.warps)
    n += unsigned(__builtin_popcount(warp->liveLanes));
  return n;
}

// Ends a generation. Its results and knowledge are kept apart from the next
// one's, because the threads that wait read them later, when others may have
// arrived again.
void complete(Barrier &b) {
  b.arrived = b.expected = 0;
  ++b.generation;
  b.lastSeen = b.seen.freeze();
  b.lastProxied = b.proxied.freeze();
  b.seen.clear();
  b.proxied.clear();
  b.lastCame = std::move(b.came);
  b.came.clear();
  b.left = 0;
  b.resultAnd = b.reduceAnd;
  b.resultOr = b.reduceOr;
  b.resultCount = b.reduceCount;
  b.reduceAnd = true;
  b.reduceOr = false;
  b.reduceCount = 0;
}

// A thread that returns to a barrier must know that its last use is over. Else
// it might have arrived during that use and been counted in it.
void checkLastUse(const Context &c, const Instruction &i, Barrier &b,
                  uint32_t index) {
  const unsigned first = unsigned(__builtin_ctz(c.mask));
  auto unknownTo = [&](unsigned lane) {
    return c.active(lane) &&
           std::any_of(b.lastCame.begin(), b.lastCame.end(), [&](Epoch e) {
             return !c.warp.laneKnows(lane, e, false);
           });
  };
  for (unsigned lane = first; lane < 32 && !(b.left >> c.warp.index & 1);
       ++lane)
    if (unknownTo(lane)) {
      c.report(FindingKind::DivergentBarrier, i, lane,
               "arrives at barrier " + std::to_string(index) +
                   " while threads may still be leaving it: nothing orders "
                   "this arrival after the previous use of the barrier");
      break;
    }
  b.came.push_back(c.warp.epoch(OwnThread, first, c.warp.tick));
}

Step barrierStep(Context &c, const Instruction &i) {
  const Bar &t = *static_cast<const Bar *>(i.data);
  uint32_t index = c.uniform<uint32_t>(t.barrier);
  if (index >= c.cta.barriers.size()) {
    c.report(FindingKind::InvalidOperation, i, __builtin_ctz(c.mask),
             "uses barrier " + std::to_string(index) + ", expected 0 to 15");
    return Step::Next;
  }
  Barrier &b = c.cta.barriers[index];
  if (!c.fragment.arrived) {
    uint32_t wanted = 0;
    if (t.hasCount) {
      wanted = c.uniform<uint32_t>(t.count);
      if (wanted == 0 || wanted % 32)
        c.report(FindingKind::InvalidOperation, i, __builtin_ctz(c.mask),
                 "passes a barrier " + std::to_string(wanted) +
                     " threads, expected a positive multiple of 32");
    }
    if (b.arrived && b.expected != wanted)
      c.report(FindingKind::DivergentBarrier, i, __builtin_ctz(c.mask),
               "arrives at barrier " + std::to_string(index) + " expecting " +
                   (wanted ? std::to_string(wanted) : "all") +
                   " threads, while others expect " +
                   (b.expected ? std::to_string(b.expected) : "all"));
    bool reduces = t.kind >= Kind::RedPopc;
    if (b.arrived && b.reduces != reduces)
      c.report(
          FindingKind::DivergentBarrier, i, __builtin_ctz(c.mask),
          "arrives at barrier " + std::to_string(index) +
              (reduces
                   ? " with a value to reduce, while others arrived without one"
                   : " without a value, while others arrived with one to "
                     "reduce"));
    b.reduces = reduces;
    b.expected = wanted;
    b.site = i.site;
    if (reduces) {
      uint32_t p = c.predicate(t.predicate);
      p = (t.negated ? ~p : p) & c.mask;
      b.reduceAnd &= p == c.mask;
      b.reduceOr |= p != 0;
      b.reduceCount += unsigned(__builtin_popcount(p));
    }
    if (c.checks) {
      checkLastUse(c, i, b, index);
      c.warp.publish(c.mask, b.seen, b.proxied);
      c.warp.ticked();
    }
    // With a count, a warp counts as 32 threads even if the CTA does not fill
    // it.
    b.arrived +=
        t.hasCount && t.aligned ? 32 : unsigned(__builtin_popcount(c.mask));
    c.fragment.arrived = true;
    c.fragment.token = b.generation;
    c.event();
  }
  if (b.generation == c.fragment.token) {
    uint32_t needed = b.expected ? b.expected : liveThreads(c.cta);
    if (b.arrived >= needed) {
      if (b.arrived > needed)
        c.report(FindingKind::DivergentBarrier, i, __builtin_ctz(c.mask),
                 "is one thread too many at barrier " + std::to_string(index));
      complete(b);
      c.event();
    }
  }
  if (t.kind == Kind::Arrive)
    return Step::Next;
  if (b.generation == c.fragment.token) {
    if (!c.fragment.waitingFor)
      ++c.warp.counters->barrierWaits;
    c.fragment.waitingFor = "a barrier";
    c.fragment.barrier = &b;
    return Step::Blocked;
  }
  if (c.checks)
    c.warp.learn(c.mask, b.lastSeen, b.lastProxied);
  if (b.generation == c.fragment.token + 1)
    b.left |= 1u << c.warp.index;
  if (t.kind == Kind::RedPopc) {
    for (unsigned lane = 0; lane < 32; ++lane)
      if (c.active(lane))
        c.lanes<uint32_t>(t.result)[lane] = b.resultCount;
  } else if (t.kind >= Kind::RedAnd) {
    bool value = t.kind == Kind::RedAnd ? b.resultAnd : b.resultOr;
    uint32_t &p = c.predicate(t.result);
    p = value ? p | c.mask : p & ~c.mask;
  }
  return Step::Next;
}

// bar.warp.sync members
Step warpSync(Context &c, const Instruction &i) {
  uint32_t members = c.uniform<uint32_t>(i.slots[0]);
  if (!c.meet(i, members, 1))
    return Step::Blocked;
  orderLanes(c);
  return Step::Next;
}

// ---- clusters

// arrive: with options bit 0 it publishes; else (.relaxed) it passes on what an
// earlier fence published.
Step clusterArrive(Context &c, const Instruction &i) {
  Cluster &k = *c.cta.cluster;
  if (c.checks) {
    if (i.options & 1) {
      c.warp.publish(c.mask, k.clusterSeen, k.clusterProxied);
      c.warp.ticked();
    }
    for (unsigned lane = 0; lane < 32 && !(i.options & 1); ++lane)
      if (c.active(lane)) {
        const Told &told = c.warp.fenced[unsigned(Scope::Cluster)][lane];
        k.clusterSeen.add(told.seen);
        k.clusterProxied.add(told.proxied);
      }
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      if (c.warp.clusterToken[lane] != 0)
        c.report(FindingKind::InvalidOperation, i, lane,
                 "arrives at the cluster barrier again without waiting for it "
                 "first");
      c.warp.clusterToken[lane] = k.clusterGeneration + 1;
    }
  c.event();
  return Step::Next;
}

// The first to look after all have arrived ends the generation; later ones see
// that it has ended.
Step clusterWait(Context &c, const Instruction &i) {
  Cluster &k = *c.cta.cluster;
  unsigned first = __builtin_ctz(c.mask);
  if (c.warp.clusterToken[first] == 0) {
    c.report(FindingKind::InvalidOperation, i, first,
             "waits at the cluster barrier without having arrived");
    return Step::Next;
  }
  if (c.warp.clusterToken[first] == k.clusterGeneration + 1) {
    // Exited threads count as arrived.
    for (auto &cta : k.ctas)
      for (auto &warp : cta->warps)
        for (unsigned lane = 0; lane < 32; ++lane)
          if (warp->liveLanes >> lane & 1 &&
              warp->clusterToken[lane] != k.clusterGeneration + 1) {
            c.fragment.waitingFor = "the cluster barrier";
            return Step::Blocked;
          }
    ++k.clusterGeneration;
    k.clusterLastSeen = k.clusterSeen.freeze();
    k.clusterLastProxied = k.clusterProxied.freeze();
    k.clusterSeen.clear();
    k.clusterProxied.clear();
    c.event();
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      c.warp.clusterToken[lane] = 0;
      c.warp.clusterPassed |= 1u << lane;
    }
  if (c.checks && i.options & 1)
    c.warp.learn(c.mask, k.clusterLastSeen, k.clusterLastProxied);
  return Step::Next;
}

// ---- decoding

void decodeCluster(Decoder &d) {
  d.require(90, 78);
  bool wait = d.oneOf({"arrive", "wait"}, true) == 1;
  int order = wait ? d.oneOf({"acquire"}) : d.oneOf({"release", "relaxed"});
  if (order >= 0)
    d.require(90, 80);
  bool aligned = d.take("aligned");
  d.begin(wait ? clusterWait : clusterArrive, Class::Barrier,
          aligned ? flagAligned : 0);
  d.current().options = wait || order != 1;
}

void decodeBarrier(Decoder &d) {
  bool isBar = d.tree().root == "bar";
  if (!isBar && d.take("cluster"))
    return decodeCluster(d);
  if (isBar && d.take("warp")) {
    d.oneOf({"sync"}, true);
    d.require(30, 60);
    d.begin(warpSync, Class::Barrier, flagStrictReads);
    d.source(0, Type::U32);
    return;
  }
  if (d.take("cta"))
    d.require(30, 78);
  Bar t;
  int kind = d.oneOf({"sync", "arrive", "red"}, true);
  t.aligned = isBar || d.take("aligned");
  if (!isBar)
    d.require(30, 60);
  if (kind == 2) {
    int op = d.oneOf({"popc", "and", "or"}, true);
    t.kind = Kind(int(Kind::RedPopc) + std::max(op, 0));
    Type type = d.type({Type::U32, Type::Pred});
    if ((type == Type::U32) != (t.kind == Kind::RedPopc))
      return d.fail("'" + d.tree().spelling() + "' does not take this type");
  } else {
    t.kind = kind == 1 ? Kind::Arrive : Kind::Sync;
  }
  d.begin(barrierStep, Class::Barrier,
          uint8_t(flagStrictReads | (t.aligned ? flagAligned : 0)));
  size_t k = 0;
  if (kind == 2)
    t.result = t.kind == Kind::RedPopc ? d.result(k++, Type::U32)
                                       : d.result(k++, Type::Pred);
  if (d.isImmediate(k) && uint64_t(d.immediate(k)) > 15)
    d.fail("barriers are numbered 0 to 15, not " +
           std::to_string(d.immediate(k)));
  t.barrier = d.source(k++, Type::U32);
  size_t rest = d.operandCount() - std::min(d.operandCount(), k);
  t.hasCount = kind == 2 ? rest == 2 : rest == 1;
  if (t.hasCount && d.isImmediate(k) &&
      (d.immediate(k) % 32 || (t.kind == Kind::Arrive && !d.immediate(k))))
    d.fail("'" + d.tree().spelling() +
           "' expects whole warps (a multiple of 32 threads), found " +
           std::to_string(d.immediate(k)) + " threads");
  if (t.hasCount)
    t.count = d.source(k++, Type::U32);
  else if (t.kind == Kind::Arrive)
    return d.fail("'" + d.tree().spelling() + "' needs a number of threads");
  if (kind == 2)
    t.predicate = d.sourcePredicate(k, &t.negated);
  d.current().data = d.keep(t);
}

} // namespace

void registerBarrier(Families &f) {
  f["bar"] = decodeBarrier;
  f["barrier"] = decodeBarrier;
}

} // namespace act::runtime::sim
