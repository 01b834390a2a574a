// SPDX-License-Identifier: Apache-2.0
//
// Counts, phases and what they publish (Mbarrier.h). The instructions on
// mbarriers are in instructions/MbarrierFamily.cpp.
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Machine.h"
#include <algorithm>

namespace act::runtime::sim {

Mbarrier::Mbarrier(Cta &cta, uint64_t offset, uint32_t count)
    : cta(cta), offset(offset), expected(count), pending(count) {
  uint32_t warps = cta.grid->warpsPerCta;
  agent = 4 * warps * 32 + warps + cta.nextMbarrierAgent;
  cta.nextMbarrierAgent += 2;
  initialised = {cta.linear, agent + 1, 1};
}

void Mbarrier::revive(uint32_t count) {
  ++initialised.tick;
  expected = count;
  pending = count;
  transactions = 0;
  phase = 0;
  endedSeen = endedProxied = endedRemoteSeen = endedRemoteProxied = nullptr;
  for (Gathering *g :
       {&seen, &proxied, &remoteSeen, &remoteProxied, &relaxedSeen})
    g->clear();
  looks.clear();
  live = observed = true;
  used = overwritten = unfenced = false;
}

/// The end publishes what arrivals have told so far, and the copies that have
/// landed without a gap: a copy behind one that is pending is not known to be
/// over.
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
  checkLooks();
}

void Mbarrier::look(const Warp &warp, unsigned lane, uint64_t phase,
                    uint32_t site) {
  if (looks.empty())
    looks.resize(cta.grid->warpsPerCta * 32);
  looks[warp.index * 32 + lane] = {warp.tick, site, phase, warp.wgmmaGroups,
                                   warp.nextCopyTick(lane)};
}

void Mbarrier::checkLooks() {
  if (looks.empty())
    return;
  const uint32_t n = cta.grid->warpsPerCta * 32;
  const KnowledgeRef known[] = {endedSeen, endedRemoteSeen,
                                relaxedSeen.freeze()};
  auto told = [&](auto &&of) {
    return std::any_of(std::begin(known), std::end(known),
                       [&](const KnowledgeRef &k) { return k && of(*k); });
  };
  for (uint32_t w = 0; w < n / 32; ++w) {
    // The warp's last thread that saw the end of the phase before the one that
    // ended now.
    uint32_t thread = n;
    for (uint32_t t = w * 32; t < w * 32 + 32; ++t)
      if (looks[t].tick && looks[t].phase + 2 == phase &&
          (thread == n || looks[t].tick > looks[thread].tick))
        thread = t;
    if (thread == n)
      continue;
    const Look &l = looks[thread];
    auto knowsWarp = [&](const Knowledge &k) {
      return k.mostTick(cta.linear, w * 32, 32, sharedOf(cta.rank)) >= l.tick;
    };
    auto byCopy = [&](const Warp &from) {
      bool own = from.cta == &cta && from.index == w;
      return std::any_of(from.copiesSent.rbegin(), from.copiesSent.rend(),
                         [&](const Warp::Sent &s) {
                           return ((own && s.tick >= l.tick) ||
                                   (s.seen && knowsWarp(*s.seen))) &&
                                  told([&](const Knowledge &k) {
                                    return k.knows(s.copy, sharedOf(cta.rank));
                                  });
                         });
    };
    auto byWgmma = [&](const Knowledge &k) {
      return k.knows({cta.linear, 4 * n + w, uint32_t(l.wgmmaGroups + 1)},
                     sharedOf(cta.rank));
    };
    // The tick is known by a commit or a cp.async arrival, which the thread
    // executed after its look.
    auto byOwnCopy = [&](const Knowledge &k) {
      return k.knows({cta.linear, n + thread, l.copyTick}, sharedOf(cta.rank));
    };
    if (told(knowsWarp) || told(byWgmma) || told(byOwnCopy) ||
        std::any_of(cta.cluster->ctas.begin(), cta.cluster->ctas.end(),
                    [&](auto &other) {
                      return std::any_of(
                          other->warps.begin(), other->warps.end(),
                          [&](auto &warp) { return byCopy(*warp); });
                    }))
      continue;
    Finding f;
    f.kind = FindingKind::Race;
    f.kernel = cta.grid->kernel->name;
    f.message = "completes a phase of an mbarrier while another thread may "
                "still wait for the previous phase; nothing orders the two";
    f.site = cta.grid->program->site(arrivedSite);
    f.thread = cta.grid->threadId(arrived);
    f.hasOther = f.hasAddress = true;
    f.otherSite = cta.grid->program->site(l.site);
    f.otherThread = cta.grid->threadId(cta.linear, thread);
    f.address = sharedWindow + offset;
    f.where = cta.grid->describe(cta, f.address);
    cta.grid->report(std::move(f));
  }
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

/// Copies land in any order. A clock can only say "all up to here", so ticks
/// beyond a gap wait in a set.
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
    return bad("needs an mbarrier of its own CTA, but this one belongs to "
               "another CTA");
  auto it = where.owner->mbarriers.find(where.offset);
  if (it == where.owner->mbarriers.end())
    return bad("operates on an mbarrier that is not initialised");
  Mbarrier &m = *it->second;
  if (!m.live)
    return bad(m.overwritten ? "operates on an mbarrier that was overwritten"
                             : "operates on an mbarrier that was invalidated");
  // Later operations replace the init in the shadow, so it is checked here.
  if (c.checks &&
      !c.warp.laneKnows(lane, m.initialised, false, sharedOf(m.cta.rank))) {
    Finding f = c.finding(FindingKind::Race, at, lane,
                          "operates on an mbarrier that another thread "
                          "initialises; nothing orders the two operations");
    f.hasOther = f.hasAddress = true;
    f.otherSite = c.grid.program->site(m.initSite);
    f.otherThread = c.grid.threadId(m.initialiser);
    f.address = address < windowBytes ? sharedWindow + address : address;
    f.where = c.grid.describe(c.cta, f.address);
    c.grid.report(std::move(f));
  }
  // Operations on the object are atomic, whatever their scope is for ordering.
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
  // Arrivals may begin a phase only after a wait has seen the last one end.
  if (!m.observed) {
    m.observed = true; // said once
    bad("arrives in phase " + std::to_string(m.phase) +
        " of an mbarrier before any wait observed the end of phase " +
        std::to_string(m.phase - 1));
  }
  m.arrived = c.warp.epoch(OwnThread, lane, c.warp.tick);
  m.arrivedSite = at.site;
  int64_t missing = m.pending;
  if (!m.arrive(count))
    return bad("arrives " + std::to_string(count) +
               " times at an mbarrier with " + std::to_string(missing) +
               " of " + std::to_string(m.expected) + " arrivals pending");
  c.event();
  return true;
}

} // namespace act::runtime::sim
