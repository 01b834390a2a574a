// SPDX-License-Identifier: Apache-2.0
//
// mbarrier.init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait,
// try_wait, pending_count (PTX ISA 9.7.13.15).
//
// In PTX a missing scope means .cta. Here it means .cluster: libraries
// (CUTLASS) arrive at another CTA's barrier without a scope and rely on it, and
// no hardware tells the two apart. An explicit .cta means .cta.
//
// The opaque state that an arrival returns:
//
//     63  always 1   62  .noComplete   61 … 52  which object   51 … 20  phase
//     19 … 0  arrivals pending before
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/instructions/AddressLanes.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

namespace {

// The plan of any mbarrier instruction.
struct Use {
  Address address;
  bool ownOnly = true; // an object of the executing CTA
  Order order = Order::Release;
  Scope scope = Scope::Cluster;
  // arrivals
  bool drop = false, noComplete = false, expects = false, hasCount = false,
       hasState = false;
  // waits
  bool isParity = false, mayBlock = false;
  uint32_t value = 0, result = 0; // slots: count, bytes, state or parity
};

const Use &useOf(const Instruction &i) {
  return *static_cast<const Use *>(i.data);
}

// Offsets in shared memory become generic addresses, so that all messages name
// an object in one way.
uint64_t genericOf(uint64_t address) {
  return address < windowBytes ? sharedWindow + address : address;
}

// ---- states

constexpr uint64_t stateBit = uint64_t(1) << 63, noCompleteBit = stateBit >> 1;

// A state names its object, so that a test of another object with it is found.
// Hardware cannot tell.
uint64_t tagOf(const Mbarrier &m) {
  return (mix(uint64_t(m.cta.linear) << 32 | m.agent) & 0x3ff) << 52;
}

uint64_t stateOf(const Mbarrier &m, bool noComplete) {
  return stateBit | (noComplete ? noCompleteBit : 0) | tagOf(m) |
         (m.phase & 0xffffffff) << 20 |
         (uint64_t(m.pending) & Mbarrier::maximumCount);
}

// ---- init, inval

Step initialise(Context &c, const Instruction &i) {
  const Use &t = useOf(i);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    auto bad = [&](const std::string &what) {
      c.reportAt(FindingKind::InvalidOperation, i, lane,
                 genericOf(addresses[lane]), what);
    };
    Context::Target where =
        c.resolve(i, lane, t.address.space, addresses[lane], 8, 8, true);
    if (!where.data)
      continue;
    if (where.owner != &c.cta) {
      bad("initialises an mbarrier outside of its CTA's shared memory");
      continue;
    }
    uint32_t count = c.lanes<uint32_t>(t.value)[lane];
    if (count < 1 || count > Mbarrier::maximumCount) {
      bad("initialises an mbarrier with " + std::to_string(count) +
          " arrivals, expected 1 to " + std::to_string(Mbarrier::maximumCount));
      count = 1;
    }
    std::unique_ptr<Mbarrier> &m = c.cta.mbarriers[where.offset];
    // A second init before the first use is harmless, and occurs in practice.
    if (m && m->live && m->used)
      bad("initialises an mbarrier that is in use; it was not invalidated");
    Manner manner{true, false};
    manner.object = true;
    if (m)
      m->revive(count);
    else
      m = std::make_unique<Mbarrier>(c.cta, where.offset, count);
    m->initialiser = c.warp.epoch(OwnThread, lane, c.warp.tick);
    m->initSite = i.site;
    c.judge(i, lane, where, addresses[lane], 8, manner, &m->initialised);
    if (c.checks)
      c.warp.initialised(lane, m->initialised);
    c.cta.markMbarrier(where.offset, true);
    std::memset(where.data, 0, 8);
  }
  c.event();
  return Step::Next;
}

// After mbarrier.inval the bytes are ordinary memory without a value.
Step invalidate(Context &c, const Instruction &i) {
  const Use &t = useOf(i);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Mbarrier *m = mbarrierAt(c, i, lane, t.address.space, addresses[lane], true,
                             MbarrierAccess::Destroys);
    if (!m)
      continue;
    m->live = false;
    c.cta.markMbarrier(m->offset, false);
    if (c.checks)
      c.cta.shared.shadow->undefine(m->offset, 8, /*store=*/0);
  }
  c.event();
  return Step::Next;
}

// ---- arrivals and transactions

// Publishes a lane's accesses at the object, for the threads that see the phase
// end.
void leave(Context &c, unsigned lane, const Use &t, Mbarrier &m) {
  if (!c.checks)
    return;
  bool own = &m.cta == &c.cta;
  if (!own && t.scope < Scope::Cluster)
    return;
  Gathering &seen = own ? m.seen : m.remoteSeen,
            &proxied = own ? m.proxied : m.remoteProxied;
  if (isRelease(t.order)) {
    c.warp.publish(1u << lane, seen, proxied);
    return;
  }
  Gathering unused;
  c.warp.publish(1u << lane, m.relaxedSeen, unused);
  const Told &told =
      c.warp.fenced[unsigned(own ? Scope::Cta : Scope::Cluster)][lane];
  seen.add(told.seen);
  proxied.add(told.proxied);
}

// expect_tx, alone or as part of an arrival.
void expect(Context &c, const Instruction &i, unsigned lane, Mbarrier &m,
            uint64_t address, uint32_t bytes) {
  if (!m.expect(bytes))
    c.reportAt(FindingKind::InvalidOperation, i, lane, genericOf(address),
               "makes an mbarrier expect " + std::to_string(m.transactions) +
                   " bytes; the limit is " +
                   std::to_string(Mbarrier::maximumCount));
}

// The order is that of the ISA: an arrival with expect_tx first expects, then
// arrives. So the phase cannot end between the two.
Step arrive(Context &c, const Instruction &i) {
  const Use &t = useOf(i);
  uint64_t addresses[32], states[32] = {};
  t.address.lanes(c, addresses);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Mbarrier *m = mbarrierAt(c, i, lane, t.address.space, addresses[lane],
                             t.ownOnly || t.hasState);
    if (!m)
      continue;
    auto bad = [&](const std::string &what) {
      c.reportAt(FindingKind::InvalidOperation, i, lane,
                 genericOf(addresses[lane]), what);
    };
    uint32_t value =
        t.hasCount || t.expects ? c.lanes<uint32_t>(t.value)[lane] : 1;
    uint32_t count = t.expects ? 1 : value;
    if (count < 1 || count > Mbarrier::maximumCount) {
      bad("arrives " + std::to_string(count) + " times, expected 1 to " +
          std::to_string(Mbarrier::maximumCount));
      continue;
    }
    if (t.expects)
      expect(c, i, lane, *m, addresses[lane], value);
    states[lane] = stateOf(*m, t.noComplete);
    leave(c, lane, t, *m);
    if (t.noComplete && int64_t(count) == m->pending && m->transactions == 0)
      bad("completes the phase of an mbarrier with .noComplete");
    if (t.drop && !m->drop(count))
      bad("drops " + std::to_string(count) + " arrivals of an mbarrier that " +
          "expects " + std::to_string(m->expected));
    arriveOn(c, i, lane, *m, count);
  }
  if (t.hasState)
    put(c, t.result, states);
  if (c.checks && isRelease(t.order))
    c.warp.ticked();
  return Step::Next;
}

// options: 1 for complete_tx, 0 for expect_tx.
Step transact(Context &c, const Instruction &i) {
  const Use &t = useOf(i);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Mbarrier *m =
        mbarrierAt(c, i, lane, t.address.space, addresses[lane], t.ownOnly);
    if (!m)
      continue;
    uint32_t bytes = c.lanes<uint32_t>(t.value)[lane];
    leave(c, lane, t, *m);
    if (!i.options)
      expect(c, i, lane, *m, addresses[lane], bytes);
    else if (!m->completeTransactions(bytes))
      c.reportAt(FindingKind::InvalidOperation, i, lane,
                 genericOf(addresses[lane]),
                 "leaves an mbarrier with " + std::to_string(m->transactions) +
                     " bytes to come; the limit is -" +
                     std::to_string(Mbarrier::maximumCount));
  }
  c.event();
  return Step::Next;
}

// ---- waits

struct Looked {
  bool done = true; // also after an error, lest the kernel loops forever
  Mbarrier *barrier = nullptr;
  uint64_t phase = 0; // that it waits for
};

Looked lookByState(Context &c, const Instruction &i, unsigned lane, Mbarrier &m,
                   uint64_t address, uint64_t state) {
  auto bad = [&](const std::string &what) {
    c.reportAt(FindingKind::InvalidOperation, i, lane, genericOf(address),
               what);
    return Looked();
  };
  if (!(state & stateBit) || (state & uint64_t(0x3ff) << 52) != tagOf(m))
    return bad("tests an mbarrier with a state that no arrival at it returned");
  uint64_t behind = (m.phase - (state >> 20)) & 0xffffffff;
  if (behind <= 1)
    return {behind == 1, &m, m.phase - behind};
  if (behind >> 31)
    return bad("tests an mbarrier with a state from before it was initialised");
  bad("tests phase " + std::to_string(m.phase - behind) +
      " of an mbarrier that is in phase " + std::to_string(m.phase) +
      "; only the current phase and the previous one can be tested");
  // The answer of hardware, which keeps only the phase's parity.
  return {(behind & 1) != 0, &m, m.phase - behind};
}

// The form that loops use. A parity cannot tell a phase from the one two later,
// so a thread that misses a whole phase may wait for ever. That is found by
// remembering the phase at which it last looked in vain.
Looked lookByParity(Context &c, const Instruction &i, unsigned lane,
                    Mbarrier &m, uint64_t address, uint32_t parity) {
  auto bad = [&](const std::string &what) {
    c.reportAt(FindingKind::InvalidOperation, i, lane, genericOf(address),
               what);
  };
  // Triton passes parity 1 as -1.
  if (parity == ~0u)
    parity = 1;
  if (parity > 1) {
    bad("waits for parity " + std::to_string(parity) + ", expected 0 or 1");
    return {};
  }
  bool done = parity != m.parity();
  // It waited without success in an earlier phase with the same parity.
  Fragment &f = c.fragment;
  if (!done && f.mbarrier == &m && f.mbarrierPhase + 2 <= m.phase &&
      (f.mbarrierPhase & 1) == parity) {
    bad("misses the end of phase " + std::to_string(f.mbarrierPhase) +
        " of an mbarrier: phase " + std::to_string(f.mbarrierPhase + 1) +
        " has ended too, so the parity looks unchanged");
    f.mbarrier = nullptr;
  }
  return {done, &m, m.phase - done};
}

// Makes visible what the arrivals of the ended phase published. A relaxed wait
// makes it visible only at the next fence.
void acquire(Context &c, const Instruction &at, unsigned lane, const Use &t,
             const Looked &looked) {
  Mbarrier &m = *looked.barrier;
  m.observed = true;
  if (!c.checks)
    return;
  m.look(c.warp, lane, looked.phase, at.site);
  auto take = [&](Scope distance, const KnowledgeRef &seen,
                  const KnowledgeRef &proxied) {
    Warp &w = c.warp;
    if (isAcquire(t.order)) {
      w.learn(1u << lane, seen, proxied);
    } else {
      Told &pending = w.pendingAcquire[unsigned(distance)][lane];
      pending.seen = w.cta->joiner(pending.seen, seen);
      pending.proxied = w.cta->joiner(pending.proxied, proxied);
    }
  };
  take(Scope::Cta, m.endedSeen, m.endedProxied);
  if (t.scope >= Scope::Cluster)
    take(Scope::Cluster, m.endedRemoteSeen, m.endedRemoteProxied);
}

// Whether a fragment whose try_wait failed stays suspended. The seed draws for
// how long.
bool suspends(Context &c) {
  Fragment &f = c.fragment;
  if (!f.arrived) {
    f.arrived = true;
    f.token = 0;
    ++c.warp.counters->barrierWaits;
  }
  constexpr uint64_t limit = 32; // turns
  ++f.token;
  return c.warp.random.isQuiet() ? f.token <= limit
                                 : c.warp.random.below(limit / 2) != 0;
}

// test_wait and try_wait. Lanes may wait for different objects, so each gets
// its own answer; the instruction blocks only if no lane is done.
Step wait(Context &c, const Instruction &i) {
  const Use &t = useOf(i);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  Looked looked[32];
  uint32_t done = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Mbarrier *m = mbarrierAt(c, i, lane, t.address.space, addresses[lane], true,
                             MbarrierAccess::Looks);
    if (m)
      looked[lane] = t.isParity ? lookByParity(c, i, lane, *m, addresses[lane],
                                               c.lanes<uint32_t>(t.value)[lane])
                                : lookByState(c, i, lane, *m, addresses[lane],
                                              c.lanes<uint64_t>(t.value)[lane]);
    done |= uint32_t(looked[lane].done) << lane;
  }
  if (t.mayBlock && done && !c.warp.random.isQuiet()) {
    // try_wait may return false early, in all lanes or in some.
    uint32_t draw = c.warp.random.below(8);
    if (draw < 2) {
      done &= draw ? uint32_t(c.warp.random.next()) : 0;
      putPredicate(c, t.result, done);
      for (unsigned lane = 0; lane < 32; ++lane)
        if (done >> lane & 1 && looked[lane].barrier)
          acquire(c, i, lane, t, looked[lane]);
      return Step::Next;
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (done >> lane & 1 && looked[lane].barrier) {
      acquire(c, i, lane, t, looked[lane]);
      if (c.fragment.mbarrier == looked[lane].barrier)
        c.fragment.mbarrier = nullptr;
    }
  if (uint32_t idle = c.mask & ~done) {
    unsigned first = unsigned(__builtin_ctz(idle));
    c.poll(genericOf(addresses[first]), "an mbarrier");
    c.fragment.mbarrier = looked[first].barrier;
    c.fragment.mbarrierPhase = looked[first].phase;
    if (t.mayBlock && !done && suspends(c))
      return Step::Blocked;
  }
  putPredicate(c, t.result, done);
  return Step::Next;
}

Step pendingCount(Context &c, const Instruction &i) {
  const uint64_t *states = c.lanes<uint64_t>(i.slots[1]);
  uint32_t counts[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    counts[lane] = uint32_t(states[lane]) & Mbarrier::maximumCount;
    if (c.active(lane) && (states[lane] & (stateBit | noCompleteBit)) !=
                              (stateBit | noCompleteBit))
      c.report(FindingKind::InvalidOperation, i, lane,
               "reads the pending count of a state that no arrival with "
               ".noComplete returned");
  }
  put(c, i.slots[0], counts);
  return Step::Next;
}

// ---- decoding

// {.shared{::cta}, .shared::cluster}
Space takeSpace(Decoder &d, bool clusterAllowed, bool *cluster = nullptr) {
  if (d.peek("shared::cta"))
    d.require(80, 78);
  if (d.peek("shared::cluster")) {
    d.require(90, 80);
    if (!clusterAllowed)
      d.fail("'" + d.tree().spelling() + "' does not take .shared::cluster");
  }
  Space space = d.space();
  if (space != Space::Generic && space != Space::Shared)
    d.fail("'" + d.tree().spelling() + "' operates on shared memory");
  if (cluster)
    *cluster = d.tookClusterSpace();
  return space;
}

// {.sem.scope}: both or none. `strong`: the order allowed besides .relaxed.
void takeOrder(Decoder &d, const char *strong, Order order, Use &t) {
  bool isStrong = strong && d.take(strong), relaxed = d.take("relaxed");
  int scope = d.oneOf({"cta", "cluster"});
  t.order = relaxed || !strong ? Order::Relaxed : order;
  t.scope = scope == 0 ? Scope::Cta : Scope::Cluster;
  if ((isStrong || relaxed) != (scope >= 0))
    return d.fail(
        "'" + d.tree().spelling() + "' needs " +
        (scope >= 0 ? "an order with its scope" : "a scope with its order"));
  if (isStrong || relaxed)
    d.require(80, relaxed && strong ? 86 : 80);
  if (relaxed || scope == 1)
    d.require(90, 80);
}

void takeAddress(Decoder &d, size_t index, Space said, Use &t) {
  AddressOperand a = d.address(index);
  t.address = Address(d, a, said);
}

void decodeInit(Decoder &d, bool destroys) {
  Use t;
  Space space = takeSpace(d, false);
  d.type({Type::B64});
  d.begin(destroys ? invalidate : initialise, Class::Barrier, flagStrictReads);
  takeAddress(d, 0, space, t);
  if (!destroys)
    t.value = d.source(1, Type::U32);
  d.current().data = d.keep(t);
}

void decodeTransact(Decoder &d, bool completes) {
  Use t;
  bool cluster = false;
  d.require(90, 80);
  takeOrder(d, nullptr, Order::Relaxed, t);
  Space space = takeSpace(d, true, &cluster);
  t.ownOnly = space == Space::Shared && !cluster;
  d.type({Type::B64});
  d.begin(transact, Class::Barrier, flagStrictReads);
  takeAddress(d, 0, space, t);
  t.value = d.source(1, Type::U32);
  d.current().options = completes;
  d.current().data = d.keep(t);
}

void decodeArrive(Decoder &d, bool drop) {
  Use t;
  t.drop = drop;
  t.expects = d.take("expect_tx");
  t.noComplete = d.take("noComplete");
  takeOrder(d, "release", Order::Release, t);
  bool cluster = false;
  Space space = takeSpace(d, true, &cluster);
  t.ownOnly = space == Space::Shared && !cluster;
  t.hasState = !d.isSink(0);
  t.hasCount = !t.expects && d.operandCount() > 2;
  d.type({Type::B64});
  auto bad = [&](const char *what) {
    d.fail("'" + d.tree().spelling() + "' " + what);
  };
  if (t.expects)
    d.require(90, 80);
  if (t.noComplete &&
      (t.expects || !t.hasCount || cluster || t.order == Order::Relaxed ||
       d.tree().modifiers.end() != std::find(d.tree().modifiers.begin(),
                                             d.tree().modifiers.end(),
                                             "cluster")))
    return bad("has a form without .noComplete only");
  if (t.hasCount && !t.noComplete)
    d.require(90, 78);
  if (cluster && t.hasState)
    return bad("cannot return a state; expected _ as result");
  if (!t.hasState)
    d.require(80, 71);
  d.begin(arrive, Class::Barrier, flagStrictReads);
  t.result = d.result(0, Type::B64);
  takeAddress(d, 1, space, t);
  if (t.expects || t.hasCount)
    t.value = d.source(2, Type::U32);
  d.current().data = d.keep(t);
}

void decodeWait(Decoder &d, bool mayBlock) {
  Use t;
  t.mayBlock = mayBlock;
  t.isParity = d.take("parity");
  if (mayBlock)
    d.require(90, 78);
  else if (t.isParity)
    d.require(80, 71);
  takeOrder(d, "acquire", Order::Acquire, t);
  Space space = takeSpace(d, false);
  d.type({Type::B64});
  d.begin(wait, Class::Barrier, flagStrictReads);
  t.result = d.result(0, Type::Pred);
  takeAddress(d, 1, space, t);
  t.value = d.source(2, t.isParity ? Type::U32 : Type::B64);
  if (mayBlock && d.operandCount() > 3)
    d.source(3, Type::U32); // the suspend time hint; time is not modelled
  d.current().data = d.keep(t);
}

void decodeMbarrier(Decoder &d) {
  d.require(80, 70);
  // Arrivals first: they may say .expect_tx too.
  switch (d.oneOf({"init", "inval", "arrive", "arrive_drop", "expect_tx",
                   "complete_tx", "test_wait", "try_wait", "pending_count"},
                  true)) {
  case 0:
    return decodeInit(d, false);
  case 1:
    return decodeInit(d, true);
  case 2:
    return decodeArrive(d, false);
  case 3:
    return decodeArrive(d, true);
  case 4:
    return decodeTransact(d, false);
  case 5:
    return decodeTransact(d, true);
  case 6:
    return decodeWait(d, false);
  case 7:
    return decodeWait(d, true);
  case 8:
    d.type({Type::B64});
    d.begin(pendingCount, Class::Barrier, flagStrictReads);
    d.result(0, Type::U32);
    d.source(1, Type::B64);
    return;
  }
}

} // namespace

void registerMbarrier(Families &f) { f["mbarrier"] = decodeMbarrier; }

} // namespace act::runtime::sim
