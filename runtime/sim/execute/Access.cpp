// SPDX-License-Identifier: Apache-2.0
//
// Resolves addresses to memory, and checks accesses.
#include "runtime/sim/arithmetic/Wide.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Underway.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace act::runtime::sim {

using ptx::Space;

// ---- what a warp's lanes know

// The numbers of Clock.h's table: wgmma has an agent per warp, the other kinds
// have one per thread.
uint32_t Warp::agent(Own kind, unsigned lane) const {
  uint32_t n = cta->grid->warpsPerCta * 32;
  return kind == OwnWgmma ? 4 * n + index : kind * n + index * 32 + lane;
}

Epoch Warp::epoch(Own kind, unsigned lane, uint32_t tickOf) const {
  return {cta->linear, agent(kind, lane), tickOf};
}

Reach Warp::ownReach(unsigned k) const {
  return k < unsigned(Reach::Own) ? Reach(k) : sharedOf(cta->rank);
}

// A thread knows its own accesses by program order, and those of its
// asynchronous operations up to what it has waited for. If the access was made
// through the generic proxy and this one is not, a proxy fence has to lie
// between, even in one thread. All other accesses are known only by what others
// have told.
bool Warp::laneKnows(unsigned lane, Epoch e, bool needsProxy,
                     Reach reach) const {
  if (e.cta == cta->linear) {
    uint32_t n = cta->grid->warpsPerCta * 32, thread = index * 32 + lane;
    if (e.agent < 4 * n) {
      if (e.agent % n == thread) {
        Own kind = Own(e.agent / n);
        if (!needsProxy && (kind == OwnThread || own[kind][lane] >= e.tick))
          return true;
        for (unsigned k = 0; needsProxy && kind <= OwnCopyAsync && k < 4; ++k)
          if (proxiedOwn[k][kind][lane] >= e.tick &&
              includes(ownReach(k), reach))
            return true;
        // If not, it may still have learnt it through an mbarrier.
      }
    } else if (e.agent == 4 * n + index) {
      return own[OwnWgmma][lane] >= e.tick;
    }
  }
  return knows(needsProxy ? proxied[lane] : seen[lane], e, reach) ||
         cta->grid->isPast(e.cta);
}

void Warp::learn(uint32_t lanes, const KnowledgeRef &k, const KnowledgeRef &p) {
  seen.learn(lanes, liveLanes, k, cta->joiner);
  proxied.learn(lanes, liveLanes, p, cta->joiner);
}

// A release: what the lanes know, their own accesses up to now, and the
// asynchronous operations that they have waited for. Accesses after it must not
// be included, so the caller ticks.
void Warp::publish(uint32_t lanes, Gathering &k, Gathering &p) const {
  if (!lanes)
    return;
  seen.addTo(k, lanes);
  std::array<uint32_t, 32> now;
  now.fill(tick);
  k.add(cta->linear, agent(OwnThread, 0), now, lanes);
  for (Own kind : {OwnCopyAsync, OwnBulkRead, OwnBulkWrite})
    k.add(cta->linear, agent(kind, 0), own[kind], lanes);
  uint32_t wgmma = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    wgmma = std::max(wgmma, own[OwnWgmma][lane] & -(lanes >> lane & 1));
  k.add(epoch(OwnWgmma, 0, wgmma));
  proxied.addTo(p, lanes);
  for (unsigned reach = 0; reach < proxiedOwn.size(); ++reach)
    for (Own kind : {OwnThread, OwnCopyAsync})
      p.add(partOf(cta->linear, ownReach(reach)), agent(kind, 0),
            proxiedOwn[reach][kind], lanes);
}

void Warp::initialised(unsigned lane, Epoch init) {
  Gathering one;
  one.add(init);
  inits[lane] = cta->joiner(inits[lane], one.freeze());
  seen.learn(1u << lane, liveLanes, one.freeze(), cta->joiner);
}

// The agent ticks at commits and at mbarrier arrivals. So the tick is the
// groups plus the arrivals that came before the last of them was committed.
uint32_t Warp::copyTick(unsigned lane, uint64_t groups) const {
  const std::vector<uint64_t> &a = copyArrivals[lane];
  return uint32_t(
      groups +
      uint64_t(std::lower_bound(a.begin(), a.end(), groups) - a.begin()));
}

// ---- findings

void Cta::report(const AsyncOperation &o, FindingKind kind,
                 std::string message) const {
  Finding f;
  f.kind = kind;
  f.kernel = grid->kernel->name;
  f.message = std::move(message);
  f.site = grid->program->site(o.site);
  f.thread = grid->threadId(linear, o.warp * 32 + o.lane);
  grid->report(std::move(f));
}

Finding Context::finding(FindingKind kind, const Instruction &at, unsigned lane,
                         std::string message) const {
  Finding f;
  f.kind = kind;
  f.kernel = grid.kernel->name;
  f.message = std::move(message);
  f.site = grid.program->site(at.site);
  f.thread = grid.threadId(cta.linear, warp.index * 32 + lane);
  return f;
}

void Context::report(FindingKind kind, const Instruction &at, unsigned lane,
                     std::string message) const {
  grid.report(finding(kind, at, lane, std::move(message)));
}

void Context::reportAt(FindingKind kind, const Instruction &at, unsigned lane,
                       uint64_t address, std::string message) const {
  Finding f = finding(kind, at, lane, std::move(message));
  f.hasAddress = true;
  f.address = address;
  f.where = grid.describe(cta, address);
  grid.report(std::move(f));
}

// The reverse of Clock.h's table, for messages.
ThreadId Grid::threadId(uint32_t linear, uint32_t agent) const {
  if (!has(linear))
    return underway->gridOf(linear).threadId(linear, agent);
  linear -= firstCta;
  ThreadId t;
  t.cta[0] = linear % gridDim[0];
  t.cta[1] = linear / gridDim[0] % gridDim[1];
  t.cta[2] = linear / gridDim[0] / gridDim[1];
  uint32_t n = warpsPerCta * 32, thread = agent;
  if (agent >= 4 * n + warpsPerCta) {
    t.agent = (agent - 4 * n - warpsPerCta) % 2 ? "an mbarrier.init"
                                                : "an mbarrier-tracked copy";
    return t;
  }
  if (agent >= 4 * n) {
    thread = (agent - 4 * n) * 32;
    t.agent = "the wgmma";
  } else if (agent >= n) {
    thread = agent % n;
    t.agent = agent < 2 * n   ? "the cp.async"
              : agent < 3 * n ? "the read by a bulk copy"
                              : "the write by a bulk copy";
  }
  t.thread[0] = thread % blockDim[0];
  t.thread[1] = thread / blockDim[0] % blockDim[1];
  t.thread[2] = thread / blockDim[0] / blockDim[1];
  return t;
}

ThreadId Grid::threadId(Epoch epoch) const {
  if (!has(epoch.cta))
    return underway->gridOf(epoch.cta).threadId(epoch);
  ThreadId t = threadId(epoch.cta, epoch.agent);
  if (auto by = issuers.of(epoch)) {
    std::string agent = t.agent;
    t = threadId(by->cta, by->agent);
    t.agent = agent;
  }
  return t;
}

// Two generations: the older one is dropped as a whole, so memory is bounded
// and recent copies are always found.
void Grid::Issuers::add(Epoch copy, Epoch thread) {
  std::lock_guard lock(mutex);
  if (recent.size() >= generation) {
    earlier = std::move(recent);
    recent.clear();
  }
  recent[pack(copy)] = pack(thread);
}

std::optional<Epoch> Grid::Issuers::of(Epoch copy) const {
  std::lock_guard lock(mutex);
  for (const auto *some : {&recent, &earlier})
    if (auto it = some->find(pack(copy)); it != some->end())
      return unpack(it->second);
  return std::nullopt;
}

std::string Grid::describe(const Cta &cta, uint64_t address) const {
  if (isSharedAddress(address)) {
    uint64_t a = address - sharedWindow;
    uint32_t rank = uint32_t(a >> sharedRankShift) & 0xff;
    std::string s = "shared memory";
    if (rank)
      s += " of CTA " + std::to_string(rank - 1) + " of the cluster";
    uint64_t offset = a & ((1u << sharedRankShift) - 1);
    s += " + " + std::to_string(offset) + " (of " +
         std::to_string(cta.shared.bytes) + " bytes)";
    for (const FunctionCode::SharedVariable &v : kernel->sharedVariables)
      if (offset >= v.offset && offset - v.offset < v.bytes)
        return s + ", " + v.name + " + " + std::to_string(offset - v.offset);
    return s;
  }
  if (isLocalAddress(address))
    return "local memory + " + std::to_string(address - localWindow);
  uint64_t block = reinterpret_cast<uint64_t>(parameters.data);
  if (parameters.data && address - block < parameters.bytes + 4096)
    return "kernel parameters + " + std::to_string(address - block) + " (of " +
           std::to_string(parameters.bytes) + " bytes)";
  return memory->describe(address);
}

// ---- addresses

namespace {

// Offsets of addresses from `base`. False when an offset is beyond `last` or
// not aligned. An address below `base` wraps around to a large offset. No
// branches, so that it is vector code.
ACT_WIDE bool allOffsetsWithin(const uint64_t (&addresses)[32], uint64_t base,
                               uint64_t last, unsigned bytes,
                               uint64_t (&offsets)[32]) {
  uint64_t bad = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    offsets[lane] = addresses[lane] - base;
    bad |= uint64_t(offsets[lane] > last) | (addresses[lane] & (bytes - 1));
  }
  return !bad;
}
// The same for the lanes of `mask`; the others get 0.
ACT_WIDE bool offsetsWithin(const uint64_t (&addresses)[32], uint64_t base,
                            uint64_t last, unsigned bytes, uint32_t mask,
                            uint64_t (&offsets)[32]) {
  uint64_t bad = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t active = -uint64_t(mask >> lane & 1);
    uint64_t offset = (addresses[lane] - base) & active;
    bad |= uint64_t(offset > last) | (addresses[lane] & active & (bytes - 1));
    offsets[lane] = offset;
  }
  return !bad;
}

} // namespace

// The rules of one lane's address, with a finding for each that is broken.
// Memory.h has the windows by which a generic address tells its space.
Context::Target Context::resolve(const Instruction &at, unsigned lane,
                                 Space space, uint64_t address, uint64_t bytes,
                                 uint64_t align, bool write) const {
  Target t;
  uint64_t generic = address;
  if (space == Space::Generic)
    space = isSharedAddress(address)  ? Space::Shared
            : isLocalAddress(address) ? Space::Local
                                      : Space::Global;
  else if (space == Space::Shared && address < windowBytes)
    generic = sharedWindow + address;
  else if (space == Space::Local && address < windowBytes)
    generic = localWindow + address;
  auto bad = [&](FindingKind kind, const std::string &what) {
    reportAt(kind, at, lane, generic,
             std::string(write ? "writes " : "reads ") + std::to_string(bytes) +
                 " bytes " + what);
    return Target();
  };
  if (align > 1 && address % align)
    return bad(FindingKind::Misaligned,
               "at an address that is not a multiple of " +
                   std::to_string(align));
  switch (space) {
  case Space::Shared: {
    if (!isSharedAddress(generic))
      return bad(FindingKind::OutOfBounds, "outside of shared memory");
    uint64_t a = generic - sharedWindow;
    uint32_t rank = uint32_t(a >> sharedRankShift);
    t.offset = a & ((1u << sharedRankShift) - 1);
    if (rank > cta.cluster->ctas.size())
      return bad(FindingKind::OutOfBounds, "outside of shared memory");
    t.owner = rank ? cta.cluster->ctas[rank - 1].get() : &cta;
    t.region = &t.owner->shared;
    if (t.offset + bytes > t.region->bytes)
      return bad(FindingKind::OutOfBounds, "outside of shared memory");
    if (t.owner != &cta && !t.owner->liveWarps)
      return bad(FindingKind::InvalidOperation,
                 "in shared memory of a CTA that has exited");
    break;
  }
  case Space::Local: {
    uint64_t offset = generic - localWindow;
    if (!isLocalAddress(generic) || offset + bytes > localLimit || !warp.local)
      return bad(FindingKind::OutOfBounds, "outside of local memory");
    t.data = warp.local + lane * localLimit + offset;
    return t;
  }
  case Space::Param: {
    uint64_t offset =
        address - reinterpret_cast<uint64_t>(grid.parameters.data);
    if (offset >= grid.parameters.bytes ||
        bytes > grid.parameters.bytes - offset)
      return bad(FindingKind::OutOfBounds,
                 "outside of the kernel's parameters");
    t.data = grid.parameters.data + offset;
    return t;
  }
  default: {
    Region *region = warp.lastRegion;
    uint64_t base = region ? reinterpret_cast<uint64_t>(region->data) : 0;
    if (!region || address - base >= region->bytes) {
      uint64_t block = reinterpret_cast<uint64_t>(grid.parameters.data);
      if (address - block < grid.parameters.bytes) {
        if (write)
          return bad(FindingKind::OutOfBounds,
                     "of the kernel's parameters, which are read-only");
        return resolve(at, lane, Space::Param, address, bytes, align, write);
      }
      region = grid.memory->find(address);
      if (!region)
        return bad(FindingKind::OutOfBounds, "outside of any allocation");
      base = reinterpret_cast<uint64_t>(region->data);
      warp.lastRegion = region;
    }
    t.region = region;
    t.offset = address - base;
    if (bytes > region->bytes - t.offset)
      return bad(FindingKind::OutOfBounds, "across the end of an allocation");
    if (write && region->readOnly)
      return bad(FindingKind::OutOfBounds,
                 "of constant memory, which is read-only");
  }
  }
  t.data = t.region->data + t.offset;
  return t;
}

// False only means that resolve() has to look at each lane, which then reports
// what is wrong.
bool Context::resolveLanes(Space space, const uint64_t (&addresses)[32],
                           unsigned bytes, bool write, Lanes &out) const {
  const uint64_t first = addresses[__builtin_ctz(mask)];
  if (space == Space::Generic)
    space = isSharedAddress(first) ? Space::Shared : Space::Global;
  uint64_t base;
  if (space == Space::Shared) {
    base = first < windowBytes ? 0 : sharedWindow;
    out.region = &cta.shared;
  } else if (space == Space::Global || space == Space::Const) {
    Region *region = warp.lastRegion;
    base = region ? reinterpret_cast<uint64_t>(region->data) : 0;
    if (!region || first - base >= region->bytes) {
      region = grid.memory->find(first);
      if (!region)
        return false;
      base = reinterpret_cast<uint64_t>(region->data);
      warp.lastRegion = region;
    }
    if (write && region->readOnly)
      return false;
    out.region = region;
  } else {
    return false;
  }
  out.data = out.region->data;
  if (out.region->bytes < bytes)
    return false;
  const uint64_t last = out.region->bytes - bytes;
  if (!(mask == ~0u
            ? allOffsetsWithin(addresses, base, last, bytes, out.offsets)
            : offsetsWithin(addresses, base, last, bytes, mask, out.offsets)))
    return false;
  out.aligned = reinterpret_cast<uintptr_t>(out.data) % bytes == 0;
  return true;
}

// ---- races

namespace {

// One lane as Shadow sees it.
struct LaneObserver : Observer {
  const Warp &warp;
  const Grid &grid;
  unsigned lane;
  Reach reach;
  LaneObserver(const Context &c, unsigned lane, const Instruction &at,
               const Context::Target &where, Manner how)
      : warp(c.warp), grid(c.grid), lane(lane),
        reach(where.owner ? sharedOf(where.owner->rank) : Reach::Global) {
    self = warp.epoch(OwnThread, lane, warp.tick);
    site = at.site;
    manner = how;
  }
  bool ordered(Epoch e, bool needsProxy) const override {
    return warp.laneKnows(lane, e, needsProxy, reach);
  }
  bool heard(Epoch e, bool needsProxy) const override {
    return knows(needsProxy ? warp.proxied[lane] : warp.seen[lane], e, reach) ||
           grid.isPast(e.cta);
  }
  uint32_t heardTick(Epoch first, bool needsProxy) const override {
    if (grid.isPast(first.cta))
      return ~uint32_t(0);
    const KnowledgeRef &k = needsProxy ? warp.proxied[lane] : warp.seen[lane];
    return k ? k->leastTick(first.cta, first.agent, ~0u) : 0;
  }
  bool inScope(uint32_t cta, Scope scope) const override {
    return grid.inScope(warp.cta->linear, cta, scope) &&
           grid.inScope(warp.cta->linear, cta, manner.scope);
  }
  Conflict::Kind weigh(const OtherAccess &o) const override {
    if (!grid.has(o.by.cta))
      return Conflict::Race;
    // The value is the same in any order. Kernels set flags like that, from any
    // block, by one instruction.
    if (manner.write && o.wrote && manner.unchanged && o.site == site)
      return Conflict::Repeated;
    const bool ofBlock =
        o.by.cta == self.cta && o.by.agent < grid.warpsPerCta * 32;
    const bool plain = !o.strong && !o.async && !manner.strong &&
                       !manner.async && !manner.deferred && !manner.object;
    if (plain && ofBlock && manner.write) {
      if (o.wrote && manner.unchanged)
        return Conflict::SameValue;
      if (!o.wrote && !manner.read)
        return Conflict::HeldToo;
    }
    const uint32_t load = manner.write ? o.site : site,
                   atomic = manner.write ? site : o.site;
    if (manner.write != o.wrote && grid.program->guesses[load] &&
        grid.program->guesses[load] == grid.program->atomics[atomic])
      return Conflict::Guess;
    return Conflict::Race;
  }
};

// All active lanes at once. Lanes that know different things have no common
// answer; each is then judged by itself.
struct LanesObserver : WarpObserver {
  const Grid &grid;
  const Knowledge *all = nullptr; // what all lanes know; null: they differ
  LanesObserver(const Context &c, const Instruction &at, Manner how,
                Epoch ofLane0)
      : WarpObserver(c.warp.certain.ticks), grid(c.grid) {
    self = ofLane0;
    site = at.site;
    manner = how;
    Warp::Certain &certain = c.warp.certain;
    const LaneKnowledge &seen = c.warp.seen;
    const KnowledgeRef &k = seen[unsigned(__builtin_ctz(c.mask))];
    for (unsigned lane = 0; !seen.isCommon() && lane < 32; ++lane)
      if (c.active(lane) && seen[lane] != k) {
        certain.differ = {};
        known = &certain.differ;
        return;
      }
    if (certain.of != k) {
      certain.of = k;
      certain.ticks = {};
    }
    all = k.get();
  }
  uint32_t knownTick(Epoch first, uint32_t agents) override {
    if (grid.isPast(first.cta))
      return ~uint32_t(0);
    return all ? all->leastTick(first.cta, first.agent, agents) : 0;
  }
};

// A key for a byte of a region that is unique in this launch: offsets in shared
// memory repeat from CTA to CTA.
uint64_t byteOf(const Context &c, const Context::Target &where,
                uint64_t offset) {
  return where.owner
             ? uint64_t(1) << 63 | uint64_t(where.owner->linear) << 24 | offset
             : reinterpret_cast<uint64_t>(where.region->data) + offset;
}

void reportConflict(const Context &c, const Instruction &at, unsigned lane,
                    const Context::Target &where, uint64_t address,
                    const Conflict &conflict, const Observer &by) {
  uint64_t first = address + (conflict.offset - where.offset);
  if (where.region->isShared && first < windowBytes)
    first += sharedWindow;
  bool writes = by.manner.write;
  Finding f;
  if (conflict.kind == Conflict::Uninitialised) {
    f = c.finding(FindingKind::Uninitialised, at, lane,
                  "reads memory that was never written");
  } else {
    f = c.finding(
        conflict.kind == Conflict::SameValue || conflict.kind == Conflict::Guess
            ? FindingKind::BenignRace
            : FindingKind::Race,
        at, lane,
        conflict.kind == Conflict::SameValue
            ? "writes the same value that another thread of its block writes; "
              "nothing orders the two writes"
        : conflict.kind == Conflict::Guess
            ? (writes ? "writes memory that another thread loads as the "
                        "expected value of its compare-and-swap; nothing "
                        "orders the two accesses"
                      : "loads the expected value of its compare-and-swap from "
                        "memory that another thread writes; nothing orders the "
                        "two accesses")
        : conflict.kind == Conflict::MissingProxyFence
            ? "accesses memory through the async proxy after it was written "
              "through the generic proxy, without a proxy fence in between"
        : writes && conflict.otherWrote
            ? "writes memory that another thread writes; nothing orders the "
              "two accesses"
        : writes ? "writes memory that another thread reads; nothing orders "
                   "the two accesses"
                 : "reads memory that another thread writes; nothing orders "
                   "the two accesses");
    f.hasOther = true;
    const Grid &other = c.grid.has(conflict.other.cta)
                            ? c.grid
                            : c.grid.underway->gridOf(conflict.other.cta);
    if (&other != &c.grid)
      f.otherKernel = other.kernel->name;
    f.otherSite = other.program->site(conflict.otherSite);
    f.otherThread = c.grid.threadId(conflict.other);
  }
  if (by.manner.deferred)
    f.thread = c.grid.threadId(by.self);
  f.hasAddress = true;
  f.address = first;
  f.where = c.grid.describe(c.cta, first);
  if (conflict.kind == Conflict::HeldToo &&
      c.grid.heldElements.add(byteOf(c, where, conflict.offset),
                              conflict.readers, f))
    return;
  c.grid.report(std::move(f));
}

// Notes that the lane stored the value that another thread of its block had
// stored at this byte (HeldElements.h).
void storedToo(const Context &c, unsigned lane, const Context::Target &where,
               uint64_t offset) {
  c.grid.heldElements.stored(
      byteOf(c, where, offset), c.warp.epoch(OwnThread, lane, c.warp.tick),
      [&](Finding f) {
        f.kind = FindingKind::BenignRace;
        f.message = "writes memory that another thread of its block reads; "
                    "that thread then writes the same value";
        c.grid.report(std::move(f));
      });
}

// Bytes of a live mbarrier are opaque.
void checkMbarriers(const Context &c, const Instruction &at, unsigned lane,
                    const Context::Target &where, uint64_t address,
                    uint64_t bytes, Manner manner) {
  if (!where.owner || manner.object ||
      !where.owner->holdsMbarrier(where.offset, bytes))
    return;
  bool used = false;
  for (uint64_t o = where.offset & ~uint64_t(7); o < where.offset + bytes;
       o += 8) {
    if (!where.owner->holdsMbarrier(o, 8))
      continue;
    Mbarrier &m = *where.owner->mbarriers.at(o);
    used |= m.used;
    if (!manner.write)
      continue;
    m.live = false;
    m.overwritten = true;
    where.owner->markMbarrier(o, false);
  }
  // Compilers leave behind mbarriers that were initialised and never used;
  // their bytes may be reused.
  if (!used)
    return;
  if (address < windowBytes)
    address += sharedWindow;
  c.reportAt(FindingKind::InvalidOperation, at, lane, address,
             manner.write
                 ? "overwrites an mbarrier that was not invalidated"
                 : "reads the bytes of a live mbarrier, which are opaque");
}

// The fast path for lanes that are cheaply seen to be free of conflicts;
// returns the other lanes.
uint32_t judgePlainly(const Context &c, const Instruction &at,
                      const Context::Lanes &where, unsigned bytes,
                      Manner manner, Epoch ofLane0) {
  // Leave lanes on an mbarrier to judge(), which checks those.
  uint32_t unsure = where.aligned ? 0 : c.mask;
  if (where.region->isShared && !c.cta.mbarriers.empty())
    for (uint32_t left = c.mask & ~unsure; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      if (c.cta.holdsMbarrier(where.offsets[lane], bytes))
        unsure |= 1u << lane;
    }
  if (!(c.mask & ~unsure))
    return unsure;
  LanesObserver by(c, at, manner, ofLane0);
  return unsure | where.region->shadow->accessLanes(by, where.offsets,
                                                    c.mask & ~unsure, bytes);
}

// Records an access to shared memory by other than the CTA's own threads, and
// reports one to a CTA that may not have begun.
void touch(const Context &c, const Instruction &at, unsigned lane,
           const Context::Target &where, uint64_t address, Epoch by) {
  if (!where.owner)
    return;
  Cta &owner = *where.owner;
  const uint32_t n = c.grid.warpsPerCta * 32;
  if (by.cta == owner.linear && by.agent < 4 * n + c.grid.warpsPerCta)
    return;
  owner.touches[pack({by.cta, by.agent, 0})] = {by, at.site};
  if (&owner == &c.cta || c.warp.clusterPassed >> lane & 1)
    return;
  if (const KnowledgeRef &k = c.warp.seen[lane])
    for (const Knowledge::Part &part : k->parts)
      if (ctaOfPart(part.cta) == owner.linear)
        return;
  c.reportAt(FindingKind::InvalidOperation, at, lane, address,
             "accesses shared memory of a CTA that may not have started; wait "
             "for a cluster barrier or for a signal from that CTA first");
}

} // namespace

uint32_t Context::judge(const Instruction &at, unsigned lane,
                        const Target &where, uint64_t address, uint64_t bytes,
                        Manner manner, const Epoch *self) const {
  if (!checks)
    return 0;
  if (!where.region || !where.region->shadow)
    return manner.passes && manner.read ? undefinedLocals(where, bytes) : 0;
  checkMbarriers(*this, at, lane, where, address, bytes, manner);
  LaneObserver by(*this, lane, at, where, manner);
  if (self)
    by.self = *self;
  // An mbarrier operation may be a copy's, not the thread's: see arriveOn().
  if (!manner.object)
    touch(*this, at, lane, where, address, by.self);
  Conflict conflict = where.region->shadow->access(by, where.offset, bytes);
  if (conflict.kind == Conflict::Repeated ||
      conflict.kind == Conflict::SameValue)
    storedToo(*this, lane, where, conflict.offset);
  if (conflict.kind > Conflict::Repeated)
    reportConflict(*this, at, lane, where, address, conflict, by);
  return conflict.undefined;
}

uint32_t Context::judgeLanes(const Instruction &at, const Lanes &where,
                             const uint64_t (&addresses)[32], unsigned bytes,
                             Manner manner, Value value,
                             uint32_t *undefined) const {
  if (!checks || !where.region->shadow)
    return 0;
  uint32_t parts = 0;
  uint32_t unsure = judgePlainly(*this, at, where, bytes, manner,
                                 warp.epoch(OwnThread, 0, warp.tick));
  std::byte mine[64], other[64];
  // Whether an earlier lane of this instruction stores the same value in the
  // same place. Its store was judged already, and the order of the two does not
  // matter.
  auto repeats = [&](unsigned lane) {
    for (uint32_t left = mask & ((1u << lane) - 1); left; left &= left - 1) {
      unsigned l = unsigned(__builtin_ctz(left));
      if (where.offsets[l] != where.offsets[lane])
        continue;
      value(*this, at, l, other);
      if (std::memcmp(mine, other, bytes) == 0)
        return true;
    }
    return false;
  };
  for (; unsure; unsure &= unsure - 1) {
    unsigned lane = unsigned(__builtin_ctz(unsure));
    Target t = targetOf(where, lane);
    if (value) {
      value(*this, at, lane, mine);
      if (repeats(lane)) {
        if (!grid.heldElements.empty())
          storedToo(*this, lane, t, t.offset);
        continue;
      }
      manner.unchanged = std::memcmp(mine, t.data, bytes) == 0;
    }
    if (uint32_t some = judge(at, lane, t, addresses[lane], bytes, manner)) {
      parts |= 1u << lane;
      undefined[lane] = some;
    }
  }
  return parts;
}

bool judgeAsync(Context &c, const Instruction &at, unsigned lane,
                const Context::Target &where, uint64_t address, uint64_t bytes,
                Manner manner, Epoch self, const std::byte *value) {
  if (!c.checks || !where.region || !where.region->shadow)
    return false;
  manner.deferred = true;
  checkMbarriers(c, at, lane, where, address, bytes, manner);
  LaneObserver by(c, lane, at, where, manner);
  by.self = self;
  touch(c, at, lane, where, address, self);
  Conflict conflict = where.region->shadow->access(by, where.offset, bytes);
  if (conflict.kind == Conflict::None)
    return conflict.undefined;
  if (value && conflict.kind == Conflict::Race && conflict.otherWrote &&
      conflict.otherAsync && conflict.other.cta == c.cta.linear &&
      c.grid.program->spellings[conflict.otherSite].rfind("cp.reduce", 0)) {
    // The other copy may be pending; finish it so that its bytes can be
    // compared. It is free to land now.
    c.cta.finish([](AsyncOperation &o) { return o.writesInGroup(); });
    if (std::memcmp(where.data, value, bytes) == 0)
      conflict.kind = conflict.otherSite == at.site ? Conflict::Repeated
                                                    : Conflict::SameValue;
    if (conflict.kind == Conflict::Repeated)
      return conflict.undefined;
  }
  reportConflict(c, at, lane, where, address, conflict, by);
  return conflict.undefined;
}

bool judgeSharedReads(Context &c, const Instruction &at, unsigned lane,
                      const std::vector<std::pair<uint32_t, uint32_t>> &places,
                      Manner manner, Epoch self, uint32_t agents,
                      std::shared_ptr<const void> common) {
  Region &shared = c.cta.shared;
  if (!c.checks || !shared.shadow || places.empty())
    return false;
  auto &before = c.cta.commonReads[at.site % c.cta.commonReads.size()];
  Cta::CommonRead read;
  if (common) {
    read = {std::move(common),
            c.warp.seen[lane],
            c.warp.proxied[lane],
            shared.shadow->changes(),
            c.warp.index / 4,
            at.site,
            self.tick};
    if (read == before)
      return false;
  }
  manner.deferred = true;
  const Context::Target all = {shared.data, &shared, 0, &c.cta};
  LaneObserver by(c, lane, at, all, manner);
  by.self = self;
  // Leave places with an mbarrier to judgeAsync(), which checks those.
  std::vector<Shadow::Stretch> unsure, others;
  const bool holds = c.cta.holdsMbarrier(
      places.front().first, places.back().second - places.front().first);
  for (size_t i = 0; holds && i < places.size(); ++i) {
    const auto [from, to] = places[i];
    (c.cta.holdsMbarrier(from, to - from) ? unsure : others)
        .push_back(places[i]);
  }
  const bool plain =
      shared.shadow->readPlainly(by, agents, holds ? others : places, unsure);
  if (read.places && plain && unsure.empty())
    before = std::move(read);
  bool undefined = false;
  for (auto [from, to] : unsure) {
    const Context::Target t = {shared.data + from, &shared, from, &c.cta};
    undefined |= judgeAsync(c, at, lane, t, from, to - from, manner, self);
  }
  return undefined;
}

uint32_t judgeLanesAsync(Context &c, const Instruction &at,
                         const Context::Lanes &where,
                         const uint64_t (&addresses)[32], unsigned bytes,
                         Manner manner, Own kind, uint32_t tick) {
  if (!c.checks || !where.region->shadow)
    return 0;
  manner.deferred = true;
  uint32_t undefined = 0, unsure = judgePlainly(c, at, where, bytes, manner,
                                                c.warp.epoch(kind, 0, tick));
  for (; unsure; unsure &= unsure - 1) {
    unsigned lane = unsigned(__builtin_ctz(unsure));
    if (judgeAsync(c, at, lane, c.targetOf(where, lane), addresses[lane], bytes,
                   manner, c.warp.epoch(kind, lane, tick)))
      undefined |= 1u << lane;
  }
  return undefined;
}

} // namespace act::runtime::sim
