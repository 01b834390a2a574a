// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk, cp.reduce.async.bulk, their groups, cp.async.bulk.prefetch.
#include "runtime/sim/execute/Underway.h"
#include "runtime/sim/instructions/BulkCopies.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

// ---- shared by all bulk copies

// Tells the mbarriers that the bytes have landed. The objects may have changed
// since the copy was issued: its CTA may have exited, or the mbarrier may be
// gone. Hardware does not check this; here both are findings.
void BulkOperation::complete() {
  for (Landing &l : landings) {
    if (!l.barrier)
      continue;
    Mbarrier &m = *l.barrier;
    if (&m.cta != cta && !m.cta.liveWarps)
      cta->report(*this, FindingKind::InvalidOperation,
                  "completes in shared memory of a CTA that has exited");
    m.landed(l.self.tick);
    if (!m.live) {
      cta->report(
          *this, FindingKind::InvalidOperation,
          "signals an mbarrier that has been invalidated in the meantime");
      continue;
    }
    // Bytes may land before an expect_tx announces them, but not once all
    // pending arrivals, which could still do so, have happened.
    bool late = m.pending == 0 && m.transactions < bytes;
    if (!m.completeTransactions(bytes) || late)
      cta->report(*this, FindingKind::InvalidOperation,
                  "completes with " + std::to_string(bytes) + " bytes, " +
                      std::to_string(-m.transactions) +
                      " more than its mbarrier expected");
  }
}

void BulkOperation::reduce(const AtomicUpdate &how, std::byte *to,
                           const std::byte *from, uint64_t count) const {
  // Words of global memory change under the same lock as atomics.
  for (uint64_t i = 0; i < count; ++i) {
    std::byte *word = to + i * how.bytes;
    auto &table =
        cta->grid->underway->releasesAt(reinterpret_cast<uint64_t>(word));
    std::lock_guard lock(table.mutex);
    uint64_t old = 0, other = 0;
    std::memcpy(&old, word, how.bytes);
    std::memcpy(&other, from + i * how.bytes, how.bytes);
    uint64_t now = how(old, other);
    std::memcpy(word, &now, how.bytes);
  }
}

// mbarrier.init writes through the generic proxy, and a bulk copy signals
// through the async proxy. Without a fence between them, the copy may see the
// barrier before its init. Reported once for each barrier.
void checkInitFences(const Context &c, const Instruction &at, unsigned lane,
                     const std::vector<Landing> &landings) {
  for (const Landing &l : landings) {
    if (!c.checks || !l.barrier || l.barrier->unfenced ||
        c.warp.laneKnows(lane, l.barrier->initialised, true,
                         sharedOf(l.barrier->cta.rank)))
      continue;
    l.barrier->unfenced = true;
    Finding f =
        c.finding(FindingKind::MissingInitFence, at, lane,
                  "signals an mbarrier whose init is not visible to the async "
                  "proxy (missing fence.mbarrier_init or fence.proxy.async)");
    f.hasOther = true;
    f.otherSite = c.grid.program->site(l.barrier->initSite);
    f.otherThread = c.grid.threadId(l.barrier->initialiser);
    c.grid.report(std::move(f));
  }
}

// Where a copy to shared memory lands: in one CTA, or with multicast in each
// CTA of the mask, each with its own mbarrier.
std::vector<Landing> landingsOf(const Context &c, const Instruction &at,
                                unsigned lane, const LandingOperands &o,
                                uint64_t bytes, uint64_t align) {
  uint64_t to[32], barrier[32];
  o.to.lanes(c, to);
  o.barrier.lanes(c, barrier);
  std::vector<Landing> out;
  auto add = [&](uint64_t data, uint64_t object) {
    Landing l;
    l.address = data;
    l.to = c.resolve(at, lane, o.to.space, data, bytes, align, true);
    l.barrier = mbarrierAt(c, at, lane, o.barrier.space, object, false);
    if (l.barrier) {
      l.self = l.barrier->issueCopy();
      if (c.checks) {
        c.warp.copiesSent.push_back({l.self, c.warp.tick, c.warp.seen[lane]});
        c.grid.issuers.add(l.self, c.warp.epoch(OwnThread, lane, c.warp.tick));
      }
      if (c.warp.copiesSent.size() > Warp::rememberedCopies)
        c.warp.copiesSent.pop_front();
    } else
      l.self = c.warp.epoch(OwnBulkWrite, lane,
                            uint32_t(c.warp.bulkGroups[lane] + 1));
    out.push_back(l);
  };
  if (o.ctaMask == noSlot) {
    add(to[lane], barrier[lane]);
    if (o.ownOnly && out[0].to.data && out[0].to.owner != &c.cta)
      c.reportAt(FindingKind::InvalidOperation, at, lane, to[lane],
                 "writes to .shared::cta, but at an address of another CTA");
    return out;
  }
  // Multicast: the same offsets in every CTA of the mask.
  uint32_t mask = c.lanes<uint16_t>(o.ctaMask)[lane];
  size_t count = c.cta.cluster->ctas.size();
  if (mask >> count) {
    c.report(FindingKind::InvalidOperation, at, lane,
             "has a CTA mask of " + std::to_string(mask) +
                 ", but the cluster has " + std::to_string(count) + " CTAs");
    mask &= (1u << count) - 1;
  }
  constexpr uint64_t within = (uint64_t(1) << sharedRankShift) - 1;
  for (uint64_t rank = 0; rank < count; ++rank)
    if (mask >> rank & 1) {
      uint64_t base = sharedWindow | (rank + 1) << sharedRankShift;
      add(base | (to[lane] & within), base | (barrier[lane] & within));
    }
  return out;
}

// Under which epoch the copy's reads are recorded: the copy that an mbarrier
// counts, its own CTA's if there is one, because its end tells the reader that
// the source is free.
Epoch readerOf(const Context &c, unsigned lane,
               const std::vector<Landing> &landings) {
  const Landing *best = nullptr;
  for (const Landing &l : landings)
    if (l.barrier && (!best || &l.barrier->cta == &c.cta))
      best = &l;
  return best ? best->self
              : c.warp.epoch(OwnBulkRead, lane,
                             uint32_t(c.warp.bulkGroups[lane] + 1));
}

Epoch groupReader(Context &c, unsigned lane) {
  c.warp.bulkReads[lane] = c.warp.bulkGroups[lane] + 1;
  return c.warp.epoch(OwnBulkRead, lane, uint32_t(c.warp.bulkReads[lane]));
}

Epoch groupWriter(const Context &c, unsigned lane) {
  return c.warp.epoch(OwnBulkWrite, lane,
                      uint32_t(c.warp.bulkGroups[lane] + 1));
}

// A wavefront moves up to 128 bytes. Bulk copies are taken to have no bank
// conflicts.
void countShared(Counters &counters, uint64_t bytes, bool isStore) {
  (isStore ? counters.bulkSharedStoreBytes : counters.bulkSharedLoadBytes) +=
      bytes;
  (isStore ? counters.sharedStoreWavefronts : counters.sharedLoadWavefronts) +=
      (bytes + 127) / 128;
}

void issue(Context &c, const Instruction &at, unsigned lane, uint64_t bytes,
           std::unique_ptr<BulkOperation> op) {
  op->cta = &c.cta;
  op->bytes = int64_t(bytes);
  op->warp = c.warp.index;
  op->lane = lane;
  op->group = c.warp.bulkGroups[lane] + 1;
  op->site = at.site;
  c.warp.counters->asyncBytes += bytes;
  c.cta.issue(std::move(op));
  c.eventGlobal();
}

std::optional<AtomicOp> takeReduction(Decoder &d) {
  static constexpr AtomicOp ops[] = {
      AtomicOp::And, AtomicOp::Or,  AtomicOp::Xor, AtomicOp::Add,
      AtomicOp::Inc, AtomicOp::Dec, AtomicOp::Min, AtomicOp::Max};
  int i = d.oneOf({"and", "or", "xor", "add", "inc", "dec", "min", "max"});
  return i < 0 ? std::nullopt : std::optional(ops[i]);
}

// The combinations of operation and type that cp.reduce.async.bulk has (PTX
// ISA). Shared memory supports fewer than global memory.
bool reduces(AtomicOp op, Type t, bool toShared) {
  bool word = t == Type::U32 || t == Type::S32;
  bool half = t == Type::F16 || t == Type::BF16;
  switch (op) {
  case AtomicOp::Add:
    return word || t == Type::U64 ||
           (!toShared && (half || t == Type::F32 || t == Type::F64));
  case AtomicOp::Min:
  case AtomicOp::Max:
    return word || (!toShared && (half || t == Type::U64 || t == Type::S64));
  case AtomicOp::Inc:
  case AtomicOp::Dec:
    return t == Type::U32;
  default:
    return t == Type::B32 || (!toShared && t == Type::B64);
  }
}

namespace {

// ---- copies of bytes

struct Bulk {
  bool toGlobal = false, fromGlobal = false;
  Address from, global; // `global`: the target if in global memory
  LandingOperands landing;
  uint32_t size = 0; // slot
  std::optional<AtomicUpdate> reduction;
};

class ByteCopy final : public BulkOperation {
public:
  const std::byte *from = nullptr;
  std::byte *global = nullptr;
  const Bulk *plan = nullptr;

  void read() override {
    if (from) // else reported, and `bytes` may be arbitrarily large
      values.assign(from, from + bytes);
  }
  void write() override {
    if (!from)
      return;
    if (global)
      put(global);
    for (Landing &l : landings)
      if (l.to.data)
        put(l.to.data);
  }

private:
  std::vector<std::byte> values;
  void put(std::byte *to) const {
    if (plan->reduction)
      reduce(*plan->reduction, to, values.data(),
             values.size() / plan->reduction->bytes);
    else
      std::memcpy(to, values.data(), values.size());
  }
};

// Judges reads and writes when the copy is issued: what orders them is what the
// issuing thread knows then. The bytes move later, when the operation advances.
void copyBytes(Context &c, const Instruction &i, unsigned lane, const Bulk &t,
               uint64_t from, uint64_t to) {
  uint64_t bytes = c.lanes<uint32_t>(t.size)[lane];
  if (bytes % 16) {
    c.report(FindingKind::InvalidOperation, i, lane,
             "copies " + std::to_string(bytes) +
                 " bytes, expected a multiple of 16");
    bytes &= ~uint64_t(15);
  }
  auto op = std::make_unique<ByteCopy>();
  op->plan = &t;
  Manner reads, writes;
  reads.read = reads.async = writes.write = writes.async = true;
  reads = c.passing(reads);
  if (t.reduction) {
    writes.scope = Scope::Gpu;
    writes = c.updating(writes, t.reduction->isFloatSum());
  }
  const unsigned adds = t.reduction ? t.reduction->bytes : 0;
  bool undefined = false;
  Context::Target source =
      c.resolve(i, lane, t.from.space, from, bytes, 16, false);
  if (source.data && source.owner && source.owner != &c.cta)
    c.reportAt(FindingKind::InvalidOperation, i, lane, from,
               "reads .shared::cta, but at an address of another CTA");
  op->from = source.data;
  Counters &n = *c.warp.counters;
  if (t.fromGlobal) {
    n.globalLoadBytes += bytes;
    n.globalLoadSectors += (from % 32 + bytes + 31) / 32;
  } else {
    countShared(n, bytes, /*isStore=*/false);
  }
  if (t.toGlobal) {
    op->inGroup = true;
    Epoch reader = groupReader(c, lane);
    Context::Target target =
        c.resolve(i, lane, t.global.space, to, bytes, 16, true);
    op->global = target.data;
    n.globalStoreBytes += bytes;
    n.globalStoreSectors += (to % 32 + bytes + 31) / 32;
    if (source.data)
      undefined = judgeAsync(c, i, lane, source, from, bytes, reads, reader);
    if (target.data &&
        judgeAsync(c, i, lane, target, to, bytes, writes, groupWriter(c, lane),
                   t.reduction ? nullptr : source.data))
      c.copyUndefined(i, lane, target, target, bytes, adds);
    if (target.data && undefined)
      c.copyUndefined(i, lane, target, source, bytes, adds);
  } else {
    op->landings = landingsOf(c, i, lane, t.landing, bytes, 16);
    checkInitFences(c, i, lane, op->landings);
    if (source.data)
      undefined = judgeAsync(c, i, lane, source, from, bytes, reads,
                             readerOf(c, lane, op->landings));
    for (const Landing &l : op->landings) {
      countShared(n, bytes, /*isStore=*/true);
      if (!t.fromGlobal && l.to.owner == &c.cta)
        c.reportAt(FindingKind::InvalidOperation, i, lane, l.address,
                   "copies from shared memory to its own CTA, expected another "
                   "CTA of the cluster");
      if (l.to.data)
        judgeAsync(c, i, lane, l.to, l.address, bytes, writes, l.self);
      if (l.to.data && undefined)
        c.copyUndefined(i, lane, l.to, source, bytes, adds);
    }
  }
  issue(c, i, lane, bytes, std::move(op));
}

Step bulk(Context &c, const Instruction &i) {
  const Bulk &t = *static_cast<const Bulk *>(i.data);
  uint64_t from[32], to[32] = {};
  t.from.lanes(c, from);
  if (t.toGlobal)
    t.global.lanes(c, to);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      copyBytes(c, i, lane, t, from[lane], to[lane]);
  return Step::Next;
}

// ---- groups

// Groups are numbered per thread; a commit closes the current one. Inactive
// lanes do not execute it, so their number stays.
Step commit(Context &c, const Instruction &) {
  for (unsigned lane = 0; lane < 32; ++lane)
    c.warp.bulkGroups[lane] += c.active(lane);
  return Step::Next;
}

// options: 1 for .read
// .read waits for the sources only, so the copies may still be writing.
Step wait(Context &c, const Instruction &i) {
  Warp &w = c.warp;
  uint64_t done[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane) && w.bulkGroups[lane] > uint64_t(i.immediate))
      done[lane] = w.bulkGroups[lane] - uint64_t(i.immediate);
  c.cta.finish([&](AsyncOperation &o) {
    if (o.warp != w.index || !o.group || o.group > done[o.lane])
      return false;
    auto *copy = dynamic_cast<BulkOperation *>(&o);
    if (!copy || !copy->inGroup)
      return false;
    if (i.options && o.stage == AsyncOperation::Issued)
      o.advance(); // performs the read
    return !i.options;
  });
  for (unsigned lane = 0; c.checks && lane < 32; ++lane)
    if (done[lane])
      for (Own kind : {OwnBulkRead, OwnBulkWrite}) {
        uint32_t &own = w.own[kind][lane];
        if (kind == OwnBulkRead || !i.options)
          own = std::max(own, uint32_t(done[lane]));
      }
  if (!i.options)
    c.eventGlobal();
  return Step::Next;
}

// ---- prefetch

// slots: size
Step prefetch(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      if (uint32_t bytes = c.lanes<uint32_t>(i.slots[0])[lane]; bytes % 16)
        c.report(FindingKind::InvalidOperation, i, lane,
                 "prefetches " + std::to_string(bytes) +
                     " bytes, expected a multiple of 16");
  return Step::Next;
}

uint32_t takeSize(Decoder &d, size_t index) {
  if (d.isImmediate(index) && d.immediate(index) % 16)
    d.fail("'" + d.tree().spelling() + "' moves " +
           std::to_string(d.immediate(index)) +
           " bytes, expected a multiple of 16");
  return d.source(index, Type::B32);
}

void decodePrefetch(Decoder &d) {
  d.oneOf({"L2"}, true);
  if (d.take("tensor"))
    return decodeTensor(d, false, true);
  d.oneOf({"global"}, true);
  bool hint = d.take("L2::cache_hint");
  d.begin(prefetch, Class::AsyncCopy, flagStrictReads);
  Address(d, d.address(0), Space::Global);
  takeSize(d, 1);
  if (hint)
    d.source(2, Type::B64);
}

// ---- decoding

void decodeWait(Decoder &d) {
  bool read = d.take("read");
  d.begin(wait, Class::AsyncCopy);
  d.current().options = read;
  if ((d.current().immediate = d.immediate(0)) < 0)
    d.fail("'" + d.tree().spelling() +
           "' waits for a negative number of "
           "groups");
}

void decodeReduction(Decoder &d, Bulk &t) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  std::optional<AtomicOp> op = takeReduction(d);
  if (!op)
    return d.fail(spelling + " needs one of .and, .or, .xor, .add, .inc, .dec, "
                             ".min, .max");
  bool noftz = d.take("noftz");
  AtomicUpdate how;
  how.op = *op;
  how.type = d.type();
  how.bytes = ptx::bytesOf(how.type);
  how.ftz = how.type == Type::F32;
  bool half = how.type == Type::F16 || how.type == Type::BF16;
  if (!reduces(how.op, how.type, !t.toGlobal))
    return d.fail(spelling + ": this type does not support this reduction");
  if (noftz != (half && how.op == AtomicOp::Add))
    return d.fail(spelling +
                  (noftz ? " takes .noftz only with .add of .f16 or .bf16"
                         : " needs .noftz"));
  t.reduction = how;
}

} // namespace

void decodeBulk(Decoder &d, bool reduce) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  d.oneOf({"bulk"}, true);
  d.require(90, 80);
  if (d.failed())
    return;
  if (!reduce && d.take("prefetch"))
    return decodePrefetch(d);
  if (d.take("tensor"))
    return decodeTensor(d, reduce, false);
  if (!reduce && d.take("commit_group"))
    return d.begin(commit, Class::AsyncCopy);
  if (!reduce && d.take("wait_group"))
    return decodeWait(d);

  // .dst.src, in this order.
  std::vector<std::string> spaces;
  for (const std::string &word : d.tree().modifiers)
    if (word == "global" || word.rfind("shared", 0) == 0) {
      spaces.push_back(word);
      d.take(word.c_str());
    }
  const std::string to = spaces.empty() ? "" : spaces[0],
                    from = spaces.size() == 2 ? spaces[1] : "";
  Bulk t;
  t.toGlobal = to == "global";
  t.fromGlobal = from == "global";
  t.landing.ownOnly = to == "shared::cta";
  bool known =
      t.fromGlobal
          ? !reduce && (to == "shared::cluster" || t.landing.ownOnly)
          : from == "shared::cta" && (t.toGlobal || to == "shared::cluster");
  if (!known)
    return d.fail(spelling + " cannot copy between these state spaces");
  if (t.landing.ownOnly)
    d.require(90, 86);
  if (t.toGlobal)
    d.oneOf({"bulk_group"}, true);
  else
    d.oneOf({"mbarrier::complete_tx::bytes"}, true);
  bool multicast = !reduce && t.fromGlobal && !t.landing.ownOnly &&
                   d.take("multicast::cluster");
  bool hint = (t.toGlobal || t.fromGlobal) && d.take("L2::cache_hint");
  if (reduce)
    decodeReduction(d, t);
  if (d.failed())
    return;

  d.begin(bulk, Class::AsyncCopy, flagStrictReads);
  (t.toGlobal ? t.global : t.landing.to) =
      Address(d, d.address(0), t.toGlobal ? Space::Global : Space::Shared);
  t.from =
      Address(d, d.address(1), t.fromGlobal ? Space::Global : Space::Shared);
  t.size = takeSize(d, 2);
  size_t next = 3;
  if (!t.toGlobal)
    t.landing.barrier = Address(d, d.address(next++), Space::Shared);
  if (multicast)
    t.landing.ctaMask = d.source(next++, Type::B16);
  if (hint)
    d.source(next++, Type::B64);
  d.current().data = d.keep(t);
}

} // namespace act::runtime::sim
