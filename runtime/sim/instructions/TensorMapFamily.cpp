// SPDX-License-Identifier: Apache-2.0
//
// tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap: tensor
// maps that a kernel builds itself.
//
// Copies read their map through the tensormap proxy. It sees generic writes
// after a release by the writer (cp_fenceproxy is one) and an acquire of these
// 128 bytes by the user of the map, or by a thread that happens before it:
//
//     replace in shared, cp_fenceproxy → barrier → acquire → copy
//
// The writes of cp_fenceproxy are recorded as visible to any proxy: they are
// already released. Acquires are kept per CTA, each with what its lanes knew at
// that time.
#include "runtime/TensorMap.h"
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/instructions/BulkCopies.h"
#include "runtime/sim/instructions/Families.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

namespace {

constexpr unsigned mapBytes = 128, mapAlign = 64;

// ---- tensormap.replace

struct Replace {
  Address address;
  TensorMapField field = TensorMapField::GlobalAddress;
  unsigned dimension = 0;
  uint32_t value = 0; // slot
  bool wide = false;
};

Step replace(Context &c, const Instruction &i) {
  const Replace &t = *static_cast<const Replace *>(i.data);
  uint64_t at[32];
  t.address.lanes(c, at);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Context::Target where =
        c.resolve(i, lane, t.address.space, at[lane], mapBytes, mapAlign, true);
    if (!where.data)
      continue;
    c.judge(i, lane, where, at[lane], mapBytes, {true, true});
    TensorMap map;
    std::memcpy(map.bytes, where.data, mapBytes);
    replaceField(map, t.field, t.dimension,
                 t.wide ? c.lanes<uint64_t>(t.value)[lane]
                        : c.lanes<uint32_t>(t.value)[lane]);
    std::memcpy(where.data, map.bytes, mapBytes);
  }
  c.eventGlobal();
  return Step::Next;
}

struct FieldWord {
  const char *word;
  TensorMapField field;
  int dimensions; // number of ordinals; 0: takes none
  int codes;      // the value is an immediate below this; 0: any value
  bool wide;
};
constexpr FieldWord fieldWords[] = {
    {"global_address", TensorMapField::GlobalAddress, 0, 0, true},
    {"rank", TensorMapField::Rank, 0, 0, false},
    {"box_dim", TensorMapField::BoxDim, 5, 0, false},
    {"global_dim", TensorMapField::GlobalDim, 5, 0, false},
    {"global_stride", TensorMapField::GlobalStride, 4, 0, true},
    {"element_stride", TensorMapField::ElementStride, 5, 0, false},
    {"elemtype", TensorMapField::ElemType, 0, 13, false},
    {"interleave_layout", TensorMapField::InterleaveLayout, 0, 3, false},
    {"swizzle_mode", TensorMapField::SwizzleMode, 0, 4, false},
    {"fill_mode", TensorMapField::FillMode, 0, 2, false},
};

void decodeReplace(Decoder &d) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  d.requireSuffix(90, 'a', 83);
  d.oneOf({"tile"}, true);
  const FieldWord *field = nullptr;
  for (const FieldWord &f : fieldWords)
    if (d.take(f.word))
      field = &f;
  if (d.peek("swizzle_atomicity"))
    return d.requireSuffix(100, 'a', 86);
  if (!field)
    return d.fail(spelling + " needs a field of a tensor map");
  Space space = Space::Generic;
  if (int word = d.oneOf({"global", "shared::cta"}); word >= 0)
    space = word ? Space::Shared : Space::Global;
  d.oneOf({"b1024"}, true);
  Type type = d.type({field->wide ? Type::B64 : Type::B32});
  if (d.failed())
    return;
  d.begin(replace, Class::Other, flagStrictReads);
  Replace t;
  t.field = field->field;
  t.wide = field->wide;
  t.address = Address(d, d.address(0), space);
  size_t next = 1;
  auto below = [&](size_t index, int end, const char *what) {
    int64_t v = d.immediate(index);
    if (!d.failed() && (v < 0 || v >= end))
      d.fail(std::string(what) + " of " + spelling + " is " +
             std::to_string(v) + ", expected 0 to " + std::to_string(end - 1));
    return unsigned(v);
  };
  if (field->dimensions)
    t.dimension = below(next++, field->dimensions, "the ordinal");
  if (field->codes)
    below(next, field->codes, "the value");
  t.value = d.source(next, type);
  d.current().data = d.keep(t);
}

// ---- tensormap.cp_fenceproxy

struct CopyMap {
  Address to, from;
};

// The first lane copies for the warp.
Step copyMap(Context &c, const Instruction &i) {
  const CopyMap &t = *static_cast<const CopyMap *>(i.data);
  uint64_t to[32], from[32];
  t.to.lanes(c, to);
  t.from.lanes(c, from);
  unsigned lane = unsigned(__builtin_ctz(c.mask));
  Context::Target source =
      c.resolve(i, lane, Space::Shared, from[lane], mapBytes, mapAlign, false);
  Context::Target target =
      c.resolve(i, lane, Space::Global, to[lane], mapBytes, mapAlign, true);
  if (!source.data || !target.data)
    return Step::Next;
  c.judge(i, lane, source, from[lane], mapBytes, {false, true});
  Manner released;
  released.write = released.anyProxy = true;
  c.judge(i, lane, target, to[lane], mapBytes, released);
  std::memcpy(target.data, source.data, mapBytes);
  if (c.checks) {
    Gathering done, none;
    done.add(c.warp.epoch(OwnThread, lane, c.warp.tick));
    c.warp.learn(c.mask, done.freeze(), none.freeze());
    fence(c, Order::Release, Scope(i.options));
  }
  c.eventGlobal();
  return Step::Next;
}

void decodeCopyMap(Decoder &d) {
  d.require(90, 83);
  for (const char *word : {"global", "shared::cta", "tensormap::generic",
                           "release", "sync", "aligned"})
    d.oneOf({word}, true);
  d.checkOrder("global", "shared");
  int scope = d.oneOf({"cta", "cluster", "gpu", "sys"}, true);
  d.begin(copyMap, Class::Other, flagStrictReads | flagAligned);
  d.current().options = uint32_t(std::max(0, scope));
  CopyMap t;
  t.to = Address(d, d.address(0), Space::Global);
  t.from = Address(d, d.address(1), Space::Shared);
  if (d.immediate(2) != mapBytes)
    d.fail("'" + d.tree().spelling() + "' copies 128 bytes");
  d.current().data = d.keep(t);
}

void decodeTensorMap(Decoder &d) {
  if (d.take("replace"))
    return decodeReplace(d);
  if (d.take("cp_fenceproxy"))
    return decodeCopyMap(d);
  d.fail("'" + d.tree().spelling() + "' is not known");
}

// ---- fence.proxy.tensormap

Step release(Context &c, const Instruction &i) {
  fenceProxy(c, Reach::Global);
  fence(c, Order::Release, Scope(i.options));
  return Step::Next;
}

Step acquire(Context &c, const Instruction &i) {
  const Address &a = *static_cast<const Address *>(i.data);
  uint64_t at[32];
  a.lanes(c, at);
  fence(c, Order::Acquire, Scope(i.options));
  if (!c.checks)
    return Step::Next;
  for (uint32_t left = c.mask; left;) {
    uint64_t address = at[__builtin_ctz(left)];
    Cta::TensorMapAcquire now;
    now.address = address;
    now.warp = c.warp.index;
    now.tick = c.warp.tick;
    Gathering seen, proxied;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (left >> lane & 1 && at[lane] == address)
        now.lanes |= 1u << lane;
    c.warp.publish(now.lanes, seen, proxied);
    now.known = seen.freeze();
    left &= ~now.lanes;
    auto &all = c.cta.tensorMapAcquires;
    auto same = std::find_if(all.begin(), all.end(), [&](const auto &o) {
      return o.address == address && o.warp == now.warp;
    });
    if (same != all.end())
      *same = std::move(now);
    else
      all.push_back(std::move(now));
  }
  c.warp.ticked();
  return Step::Next;
}

struct MapObserver : Observer {
  const Context &c;
  unsigned lane;
  std::vector<const Cta::TensorMapAcquire *> acquires; // that the lane knows of
  MapObserver(const Context &c, unsigned lane, uint64_t address)
      : c(c), lane(lane) {
    for (const auto &a : c.cta.tensorMapAcquires) {
      const Warp &by = *c.cta.warps[a.warp];
      bool known = false;
      for (unsigned l = 0; l < 32 && !known; ++l)
        known = a.lanes >> l & 1 &&
                c.warp.laneKnows(lane, by.epoch(OwnThread, l, a.tick), false);
      if (a.address == address && known)
        acquires.push_back(&a);
    }
  }
  bool ordered(Epoch e, bool needsProxy) const override {
    for (const auto *a : acquires)
      if (knows(a->known, e, Reach::Global))
        return !needsProxy || c.warp.laneKnows(lane, e, true, Reach::Global);
    return false;
  }
  bool inScope(uint32_t, Scope) const override { return false; }
};

} // namespace

void judgeTensorMap(Context &c, const Instruction &at, unsigned lane,
                    const Context::Target &map, uint64_t address, Epoch self) {
  if (!c.checks || !map.region || !map.region->shadow)
    return;
  MapObserver by(c, lane, address);
  by.self = self;
  by.site = at.site;
  by.manner.read = by.manner.async = by.manner.deferred = true;
  Conflict conflict = map.region->shadow->access(by, map.offset, mapBytes);
  if (conflict.kind == Conflict::None)
    return;
  if (conflict.kind == Conflict::Uninitialised)
    return c.reportAt(FindingKind::Uninitialised, at, lane, address,
                      "uses a tensor map that was never written");
  bool ordered = c.warp.laneKnows(lane, conflict.other, false);
  Finding f =
      c.finding(FindingKind::Race, at, lane,
                ordered ? "uses a tensor map that was written in this launch, "
                          "without fence.proxy.tensormap::generic (.release, "
                          "then .acquire) in between"
                        : "uses a tensor map that another thread writes; "
                          "nothing orders the two accesses");
  f.hasAddress = f.hasOther = true;
  f.address = address;
  f.where = c.grid.describe(c.cta, address);
  f.otherSite = c.grid.program->site(conflict.otherSite);
  f.otherThread = c.grid.threadId(conflict.other.cta, conflict.other.agent);
  c.grid.report(std::move(f));
}

void decodeTensorMapFence(Decoder &d, bool acquires) {
  d.require(90, 83);
  int scope = d.oneOf({"cta", "cluster", "gpu", "sys"}, true);
  d.begin(acquires ? acquire : release, Class::Barrier, flagStrictReads);
  d.current().options = uint32_t(std::max(0, scope));
  if (!acquires)
    return;
  d.current().data = d.keep(Address(d, d.address(0), Space::Generic));
  if (d.immediate(1) != mapBytes)
    d.fail("'" + d.tree().spelling() + "' takes 128 bytes");
}

void registerTensorMap(Families &f) { f["tensormap"] = decodeTensorMap; }

} // namespace act::runtime::sim
