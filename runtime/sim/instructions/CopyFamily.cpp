// SPDX-License-Identifier: Apache-2.0
//
// cp.async: copies of 4, 8 or 16 bytes per lane from global to shared memory,
// their groups, and the mbarrier arrivals that follow them.
//
// Lanes that execute a copy together form one operation if they have committed
// the same number of groups. The accesses belong to each lane's cp.async agent
// (Clock.h), in the generic proxy. A complete copy needs no proxy fence. The
// ISA does not say so, but kernels known to work feed wgmma after wait_group
// and a barrier alone (Triton's, and CUTLASS's for sm_90 without TMA). An
// arrival publishes to its mbarrier the lane's earlier copies and nothing else
// that the lane did.
#include "runtime/sim/arithmetic/Wide.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Sectors.h"
#include "runtime/sim/instructions/AddressLanes.h"
#include "runtime/sim/instructions/BulkCopies.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr unsigned mostBytes = 16;

struct CopyAsync {
  Address to, from;
  unsigned bytes = 4;
  uint32_t taken = noSlot;  // src-size
  uint32_t ignore = noSlot; // ignore-src
  bool ignoreNegated = false;
};

class CopyOperation final : public AsyncOperation {
public:
  uint32_t lanes = 0;
  unsigned bytes = 0;

  CopyOperation() {} // leaves the arrays as they are

  /// Of all lanes and all bytes.
  void addAll(const Context::Lanes &to, const Context::Lanes &from) {
    count = 32;
    for (unsigned l = 0; l < 32; ++l)
      copies[l] = {to.data + to.offsets[l], from.data + from.offsets[l], bytes};
  }
  /// Of one lane; `taken` bytes of `from` and zeros. Null `to`: a bad address.
  void add(std::byte *to, const std::byte *from, unsigned taken) {
    if (to)
      copies[count++] = {to, from, from ? taken : 0};
  }
  void read() override {
    for (unsigned k = 0; k < count; ++k)
      if (copies[k].taken == mostBytes) {
        std::memcpy(values[k], copies[k].from, mostBytes);
      } else {
        std::memset(values[k], 0, mostBytes);
        if (copies[k].taken)
          std::memcpy(values[k], copies[k].from, copies[k].taken);
      }
  }
  void write() override {
    for (unsigned k = 0; k < count; ++k)
      if (bytes == mostBytes)
        std::memcpy(copies[k].to, values[k], mostBytes);
      else
        std::memcpy(copies[k].to, values[k], bytes);
  }

private:
  struct Copy {
    std::byte *to;
    const std::byte *from;
    unsigned taken;
  };
  unsigned count = 0;
  Copy copies[32];
  std::byte values[32][mostBytes];
};

// Calls `run` for each set of lanes with the same `key`.
template <typename Key, typename Run>
void eachSet(uint32_t lanes, Key key, Run run) {
  while (lanes) {
    unsigned first = unsigned(__builtin_ctz(lanes));
    uint32_t same = 0;
    for (unsigned l = first; l < 32; ++l)
      if (lanes >> l & 1 && key(l) == key(first))
        same |= 1u << l;
    run(same, first);
    lanes &= ~same;
  }
}

template <typename T>
[[gnu::always_inline]] inline uint32_t lanesEqual(const T *values, T value) {
  uint32_t lanes = 0;
  for (unsigned l = 0; l < 32; ++l)
    lanes |= values[l] == value ? laneBits[l] : 0;
  return lanes;
}
ACT_WIDE uint32_t lanesWith(const uint32_t *values, uint32_t value) {
  return lanesEqual(values, value);
}
ACT_WIDE uint32_t lanesWith(const uint64_t *values, uint64_t value) {
  return lanesEqual(values, value);
}

/// Fast path: copies all lanes at once. Returns false, with nothing done, if a
/// lane copies only part of its source or any access is faulty.
bool copyAtOnce(Context &c, const Instruction &i, const CopyAsync &t,
                const uint64_t (&to)[32], const uint64_t (&from)[32],
                uint32_t ignored, Manner writes) {
  Warp &w = c.warp;
  const unsigned first = unsigned(__builtin_ctz(c.mask));
  const uint32_t tick = w.nextCopyTick(first);
  Context taking = c;
  taking.mask &= ~ignored;
  if (t.taken != noSlot) {
    const uint32_t *taken = c.lanes<uint32_t>(t.taken);
    const uint32_t whole = c.mask & lanesWith(taken, t.bytes);
    if (c.mask & ~(whole | lanesWith(taken, 0)))
      return false;
    taking.mask &= whole;
  }
  // One operation has one group and one tick, so all lanes must agree in both.
  if (c.mask & ~lanesWith(w.copyGroups.data(), w.copyGroups[first]))
    return false;
  for (uint32_t left = w.copiesArrived ? c.mask : 0; left; left &= left - 1)
    if (w.nextCopyTick(unsigned(__builtin_ctz(left))) != tick)
      return false;
  Context::Lanes source, target;
  if (!c.resolveLanes(t.to.space, to, t.bytes, true, target) ||
      (taking.mask &&
       !taking.resolveLanes(t.from.space, from, t.bytes, false, source)))
    return false;
  auto op = std::make_unique<CopyOperation>();
  op->lanes = c.mask;
  op->bytes = t.bytes;
  op->warp = w.index;
  op->lane = first;
  op->group = w.copyGroups[first] + 1;
  op->site = i.site;
  uint32_t undefined = 0;
  if (taking.mask) {
    undefined = judgeLanesAsync(taking, i, source, from, t.bytes,
                                c.passing({false, true}), OwnCopyAsync, tick);
    Sectors::count(*w.counters, *source.region, source.offsets, taking.mask,
                   t.bytes, false);
  }
  judgeLanesAsync(c, i, target, to, t.bytes, writes, OwnCopyAsync, tick);
  for (; undefined; undefined &= undefined - 1) {
    unsigned lane = unsigned(__builtin_ctz(undefined));
    c.copyUndefined(i, lane, c.targetOf(target, lane),
                    taking.targetOf(source, lane), t.bytes);
  }
  Sectors::count(*w.counters, *target.region, target.offsets, c.mask, t.bytes,
                 true);
  const bool isAll = taking.mask == ~0u;
  if (isAll)
    op->addAll(target, source);
  for (uint32_t left = isAll ? 0 : c.mask; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    op->add(target.data + target.offsets[lane],
            taking.active(lane) ? source.data + source.offsets[lane] : nullptr,
            t.bytes);
  }
  c.cta.issue(std::move(op));
  return true;
}

/// Copies of all lanes in bounds go the fast way; the others lane by lane,
/// which reports.
Step copy(Context &c, const Instruction &i) {
  const CopyAsync &t = *static_cast<const CopyAsync *>(i.data);
  Warp &w = c.warp;
  uint64_t to[32], from[32];
  t.to.lanes(c, to);
  t.from.lanes(c, from);
  uint32_t ignored = 0;
  if (t.ignore != noSlot)
    ignored = t.ignoreNegated ? ~c.predicate(t.ignore) : c.predicate(t.ignore);
  Sectors loads, stores;
  Manner writes;
  writes.write = writes.anyProxy = true;
  w.counters->asyncBytes +=
      uint64_t(t.bytes) * unsigned(__builtin_popcount(c.mask));
  if (copyAtOnce(c, i, t, to, from, ignored, writes))
    return Step::Next;
  auto issue = [&](uint32_t lanes, unsigned first) {
    auto op = std::make_unique<CopyOperation>();
    op->lanes = lanes;
    op->bytes = t.bytes;
    op->warp = w.index;
    op->lane = first;
    op->group = w.copyGroups[first] + 1;
    op->site = i.site;
    for (unsigned lane = first; lane < 32; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      Epoch self = w.epoch(OwnCopyAsync, lane, w.nextCopyTick(lane));
      uint32_t taken =
          t.taken == noSlot ? t.bytes : c.lanes<uint32_t>(t.taken)[lane];
      if (ignored >> lane & 1)
        taken = 0;
      if (taken > t.bytes) {
        c.report(FindingKind::InvalidOperation, i, lane,
                 "takes " + std::to_string(taken) +
                     " bytes from its source, more than the " +
                     std::to_string(t.bytes) + " that it copies");
        taken = t.bytes;
      }
      bool undefined = false;
      Context::Target source;
      if (taken) {
        source = c.resolve(i, lane, t.from.space, from[lane], taken, 1, false);
        if (from[lane] % t.bytes)
          c.reportAt(FindingKind::Misaligned, i, lane, from[lane],
                     "copies from an address that is not a multiple of " +
                         std::to_string(t.bytes));
        if (source.data) {
          undefined = judgeAsync(c, i, lane, source, from[lane], taken,
                                 c.passing({false, true}), self);
          loads.add(source, from[lane], taken);
        }
      }
      Context::Target target =
          c.resolve(i, lane, t.to.space, to[lane], t.bytes, t.bytes, true);
      op->add(target.data, source.data, taken);
      if (target.data) {
        judgeAsync(c, i, lane, target, to[lane], t.bytes, writes, self);
        if (undefined)
          c.copyUndefined(i, lane, target, source, taken);
        stores.add(target, to[lane], t.bytes);
      }
    }
    c.cta.issue(std::move(op));
  };
  eachSet(c.mask, [&](unsigned l) { return w.copyGroups[l]; }, issue);
  loads.count(*w.counters, false);
  stores.count(*w.counters, true);
  return Step::Next;
}

Step commit(Context &c, const Instruction &) {
  for (unsigned lane = 0; lane < 32; ++lane)
    c.warp.copyGroups[lane] += c.active(lane);
  return Step::Next;
}

// wait_group immediate; wait_all (options 1), which commits first.
Step wait(Context &c, const Instruction &i) {
  Warp &w = c.warp;
  if (i.options)
    commit(c, i);
  uint64_t done[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane) && w.copyGroups[lane] > uint64_t(i.immediate))
      done[lane] = w.copyGroups[lane] - uint64_t(i.immediate);
  c.cta.finish([&](AsyncOperation &o) {
    auto *copy =
        o.warp == w.index ? dynamic_cast<CopyOperation *>(&o) : nullptr;
    for (uint32_t l = copy ? copy->lanes & c.mask : 0; l; l &= l - 1)
      if (o.group <= done[__builtin_ctz(l)])
        return true;
    return false;
  });
  for (unsigned lane = 0; c.checks && lane < 32; ++lane)
    if (done[lane]) {
      uint32_t &own = w.own[OwnCopyAsync][lane];
      own = std::max(own, w.copyTick(lane, done[lane]));
    }
  return Step::Next;
}

// ---- cp.async.mbarrier.arrive

// The arrivals of lanes at one mbarrier; waits for their earlier copies.
class CopyArrival final : public AsyncOperation {
public:
  Cta *cta = nullptr;
  Mbarrier *barrier = nullptr;
  uint32_t lanes = 0;
  std::vector<Epoch> copies; // that it publishes, by lane
  Gathering executed;        // its lanes' earlier accesses

  // Not before the earlier copies of these lanes, in the order in which the
  // warp issued them.
  bool mayAdvance() const override {
    for (const auto &o : cta->operations) {
      if (o.get() == this)
        break;
      auto *copy = o->warp == warp && o->stage != Done
                       ? dynamic_cast<const CopyOperation *>(o.get())
                       : nullptr;
      if (copy && copy->lanes & lanes)
        return false;
    }
    return true;
  }
  void read() override {}
  void write() override {}
  void complete() override {
    if (!barrier->live)
      return cta->report(
          *this, FindingKind::InvalidOperation,
          "arrives at an mbarrier that has been invalidated in the meantime");
    barrier->relaxedSeen.add(executed);
    barrier->arrived = cta->warps[warp]->epoch(OwnThread, lane, 0);
    barrier->arrivedSite = site;
    for (const Epoch &e : copies) {
      barrier->seen.add(e);
      if (!barrier->arrive(1))
        cta->report(*this, FindingKind::InvalidOperation,
                    "arrives at an mbarrier that has no pending arrivals in "
                    "its current phase");
    }
  }
};

// options: 1 for .noinc
Step arrive(Context &c, const Instruction &i) {
  const Address &a = *static_cast<const Address *>(i.data);
  Warp &w = c.warp;
  uint64_t at[32];
  a.lanes(c, at);
  eachSet(
      c.mask, [&](unsigned l) { return at[l]; },
      [&](uint32_t lanes, unsigned first) {
        Mbarrier *m = mbarrierAt(c, i, first, a.space, at[first], true);
        if (!m)
          return;
        auto op = std::make_unique<CopyArrival>();
        op->cta = &c.cta;
        op->barrier = m;
        op->lanes = lanes;
        op->warp = w.index;
        op->lane = first;
        op->site = i.site;
        for (unsigned lane = first; lane < 32; ++lane) {
          if (!(lanes >> lane & 1))
            continue;
          op->copies.push_back(
              w.epoch(OwnCopyAsync, lane, w.nextCopyTick(lane)));
          w.copyArrivals[lane].push_back(w.copyGroups[lane]);
          w.copiesArrived = true;
          // Without .noinc the arrival first raises the pending count, so that
          // the phase waits for the copies without having counted on them (PTX
          // ISA).
          m->pending += !i.options;
          Gathering proxied;
          if (c.checks)
            w.publish(1u << lane, op->executed, proxied);
        }
        m->used = true;
        if (m->pending > Mbarrier::maximumCount)
          c.report(FindingKind::InvalidOperation, i, first,
                   "raises an mbarrier above " +
                       std::to_string(Mbarrier::maximumCount) +
                       " pending arrivals");
        c.cta.issue(std::move(op));
      });
  c.event();
  return Step::Next;
}

// ---- decoding

void decodeGroup(Decoder &d, int which) {
  if (which == 0)
    return d.begin(commit, Class::AsyncCopy);
  d.begin(wait, Class::AsyncCopy);
  d.current().options = which == 2;
  if (which == 1 && (d.current().immediate = d.immediate(0)) < 0)
    d.fail("'" + d.tree().spelling() +
           "' waits for a negative number of "
           "groups");
}

void decodeArrive(Decoder &d) {
  d.oneOf({"arrive"}, true);
  bool noinc = d.take("noinc");
  Space space = Space::Generic;
  if (int word = d.oneOf({"shared", "shared::cta"}); word >= 0) {
    space = Space::Shared;
    if (word == 1)
      d.require(80, 78);
  }
  d.type({Type::B64});
  d.begin(arrive, Class::AsyncCopy, flagStrictReads);
  AddressOperand a = d.address(0);
  d.current().data = d.keep(Address(d, a, space));
  d.current().options = noinc;
}

void decodeCopyAsync(Decoder &d) {
  d.require(80, 70);
  int group = d.oneOf({"commit_group", "wait_group", "wait_all"});
  if (group >= 0)
    return decodeGroup(d, group);
  if (d.take("mbarrier"))
    return decodeArrive(d);
  const std::string spelling = "'" + d.tree().spelling() + "'";
  CopyAsync t;
  bool global = d.oneOf({"ca", "cg"}, true) == 1;
  d.oneOf({"shared", "shared::cta"}, true);
  d.oneOf({"global"}, true);
  d.checkOrder("shared", "global");
  bool hint = d.take("L2::cache_hint");
  if (d.oneOf({"L2::64B", "L2::128B", "L2::256B"}) >= 0 || hint)
    d.require(80, 74);
  if (d.failed())
    return;
  d.begin(copy, Class::AsyncCopy, flagStrictReads);
  t.to = Address(d, d.address(0), Space::Shared);
  t.from = Address(d, d.address(1), Space::Global);
  int64_t bytes = d.immediate(2);
  if (!d.failed() && bytes != 16 && (global || (bytes != 4 && bytes != 8)))
    return d.fail(spelling + " copies " + std::to_string(bytes) +
                  " bytes, expected " + (global ? "16" : "4, 8 or 16"));
  t.bytes = unsigned(bytes);
  size_t rest = d.operandCount() - std::min<size_t>(d.operandCount(), 3);
  if (rest > hint) {
    const Operand &o = d.tree().operands[3];
    if (o.kind == Operand::Reg &&
        d.function().registers[o.reg].type == Type::Pred) {
      d.require(80, 75);
      t.ignore = d.sourcePredicate(3, &t.ignoreNegated);
    } else {
      t.taken = d.source(3, Type::B32);
    }
  }
  if (hint)
    d.source(rest > 1 ? 4 : 3, Type::B64);
  d.current().data = d.keep(t);
}

void decodeCopy(Decoder &d) {
  bool reduce = d.take("reduce");
  d.oneOf({"async"}, true);
  if (reduce || d.peek("bulk"))
    decodeBulk(d, reduce);
  else
    decodeCopyAsync(d);
}

} // namespace

void registerCopy(Families &f) { f["cp"] = decodeCopy; }

} // namespace act::runtime::sim
