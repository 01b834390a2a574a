// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/Mbarrier.h"
#include "runtime/sim/Machine.h"

namespace act::runtime::sim {

Mbarrier::Mbarrier(Cta &cta, uint64_t offset, uint32_t count)
    : cta(cta), offset(offset), expected(count), pending(count) {
  uint32_t warps = cta.grid->warpsPerCta;
  agent = 4 * warps * 32 + warps + cta.nextMbarrierAgent++;
}

void Mbarrier::revive(uint32_t count) {
  expected = count;
  pending = count;
  transactions = 0;
  phase = 0;
  endedSeen = endedProxied = endedRemoteSeen = endedRemoteProxied = nullptr;
  for (Gathering *g : {&seen, &proxied, &remoteSeen, &remoteProxied})
    g->clear();
  live = observed = true;
  used = overwritten = false;
}

void Mbarrier::endIfComplete() {
  if (pending != 0 || transactions != 0)
    return;
  ++phase;
  pending = expected;
  observed = false;
  seen.add(Epoch{cta.linear, agent, landedPrefix});
  endedSeen = seen.freeze();
  endedProxied = proxied.freeze();
  endedRemoteSeen = remoteSeen.freeze();
  endedRemoteProxied = remoteProxied.freeze();
  ++cta.cluster->events;
}

bool Mbarrier::arrive(uint32_t count) {
  if (int64_t(count) > pending)
    return false;
  pending -= count;
  ++cta.cluster->events;
  endIfComplete();
  return true;
}

bool Mbarrier::expect(int64_t bytes) {
  transactions += bytes;
  ++cta.cluster->events;
  return transactions <= maximumCount && transactions >= -maximumCount;
}

bool Mbarrier::completeTransactions(int64_t bytes) {
  transactions -= bytes;
  ++cta.cluster->events;
  bool good = transactions >= -maximumCount;
  endIfComplete();
  return good;
}

bool Mbarrier::drop(uint32_t count) {
  if (count > expected)
    return false;
  expected -= count;
  return true;
}

Epoch Mbarrier::issueCopy() { return {cta.linear, agent, ++issued}; }

void Mbarrier::landed(uint32_t tick) {
  landedBeyond.insert(tick);
  while (!landedBeyond.empty() && *landedBeyond.begin() == landedPrefix + 1) {
    ++landedPrefix;
    landedBeyond.erase(landedBeyond.begin());
  }
}

std::string Mbarrier::describe(uint64_t waitedPhase) const {
  std::string s = "phase " + std::to_string(waitedPhase) + " of an mbarrier";
  if (!live)
    return s + " that was invalidated";
  if (waitedPhase < phase)
    return s + ", which has ended";
  if (waitedPhase > phase)
    s += ", which is in phase " + std::to_string(phase);
  return s + ": " + std::to_string(pending) + " of " +
         std::to_string(expected) + " arrivals and " +
         std::to_string(transactions) + " bytes of transactions are missing";
}

Mbarrier *mbarrierAt(const Context &c, const Instruction &at, unsigned lane,
                     ptx::Space space, uint64_t address, bool ownOnly,
                     MbarrierAccess access) {
  Context::Target where = c.resolve(at, lane, space, address, 8, 8, true);
  if (!where.data)
    return nullptr;
  auto bad = [&](const char *what) {
    uint64_t generic = address < windowBytes ? sharedWindow + address : address;
    c.reportAt(FindingKind::InvalidOperation, at, lane, generic, what);
    return nullptr;
  };
  if (!where.owner)
    return bad("operates on an mbarrier that is not in shared memory");
  if (ownOnly && where.owner != &c.cta)
    return bad("needs an mbarrier of its own CTA; this one is another's");
  auto it = where.owner->mbarriers.find(where.offset);
  if (it == where.owner->mbarriers.end())
    return bad("operates on an mbarrier that is not initialised");
  Mbarrier &m = *it->second;
  if (!m.live)
    return bad(m.overwritten ? "operates on an mbarrier that was overwritten"
                             : "operates on an mbarrier that was invalidated");
  // Later operations stand over the init in the shadow, so it is asked here.
  if (c.checks && !c.warp.laneKnows(lane, m.initialised, false)) {
    Finding f = c.finding(FindingKind::Race, at, lane,
                          "operates on an mbarrier that another initialises, "
                          "with nothing to order them");
    f.hasOther = f.hasAddress = true;
    f.otherSite = c.grid.program->site(m.initSite);
    f.otherThread = c.grid.threadId(m.initialised.cta, m.initialised.agent);
    f.address = address < windowBytes ? sharedWindow + address : address;
    f.where = c.grid.describe(c.cta, f.address);
    c.grid.report(std::move(f));
  }
  // All that happens to the object is atomic, whatever scope orders the rest.
  Manner manner{access != MbarrierAccess::Looks, true,
                access != MbarrierAccess::Destroys, Scope::Cluster};
  manner.object = true;
  c.judge(at, lane, where, address, 8, manner);
  m.used = true;
  return &m;
}

bool arriveOn(const Context &c, const Instruction &at, unsigned lane,
              Mbarrier &m, uint32_t count) {
  auto bad = [&](const std::string &what) {
    c.reportAt(FindingKind::InvalidOperation, at, lane,
               sharedWindow | uint64_t(m.cta.rank + 1) << sharedRankShift |
                   m.offset,
               what);
    return false;
  };
  if (c.checks && &m.cta != &c.cta) {
    Epoch by = c.warp.epoch(OwnThread, lane, c.warp.tick);
    m.cta.touches[pack({by.cta, by.agent, 0})] = {by, at.site};
  }
  // A phase may begin only when the end of the one before was noticed.
  if (!m.observed) {
    m.observed = true; // said once
    bad("arrives in phase " + std::to_string(m.phase) +
        " of an mbarrier, before any wait saw phase " +
        std::to_string(m.phase - 1) + " end");
  }
  int64_t missing = m.pending;
  if (!m.arrive(count))
    return bad("arrives " + std::to_string(count) + " times at an mbarrier " +
               "that misses " + std::to_string(missing) + " arrivals of " +
               std::to_string(m.expected));
  c.event();
  return true;
}

} // namespace act::runtime::sim
