// SPDX-License-Identifier: Apache-2.0
//
// atom, red, fence, membar.
//
// Slots of atom: address base, result, b, then c (cas). red has the same, with
// a scratch result. Vectors put their elements in place of result and b. The
// lanes of a warp execute one by one, in lane order. The counters count atomics
// as stores.
#include "runtime/sim/arithmetic/AtomicUpdate.h"
#include "runtime/sim/arithmetic/Numerics.h"
#include "runtime/sim/decode/FrameLayout.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/execute/Sectors.h"
#include "runtime/sim/instructions/AddressLanes.h"
#include "runtime/sim/instructions/BulkCopies.h"
#include "runtime/sim/instructions/Families.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

using Op = AtomicOp;

struct Atomic : AtomicUpdate {
  Address address;
  unsigned count = 1;
  Order order = Order::Relaxed;
  Scope scope = Scope::Gpu;
};

// Whether the atomic may be part of a polling loop (CtaOrder.h): a spin lock's
// exchange, or an update that never changes memory. Compilers without an atomic
// load add 0 instead.
bool looks(const Atomic &t, uint64_t operand) {
  const uint64_t all =
      t.bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * t.bytes) - 1;
  switch (t.op) {
  case Op::Exch:
    return true;
  case Op::Add:
  case Op::Or:
  case Op::Xor:
    return !(operand & all);
  case Op::And:
    return (operand & all) == all;
  default:
    return false;
  }
}

bool isUndefined(const Context &c, uint32_t slot, unsigned lane,
                 unsigned bytes) {
  uint64_t bits = bytes < 8 ? (uint64_t(1) << 8 * bytes) - 1 : ~uint64_t(0);
  return c.frame.defined.undefinedLanes(slot, 1u << lane, bits);
}

bool holdsUndefined(const Context &c, const Context::Target &where,
                    unsigned bytes) {
  return c.checks && c.grid.passesUndefined && where.region->shadow &&
         !where.region->shadow->isDefined(where.offset, bytes);
}

/// Definedness of one lane's update, called after the new value is stored. The
/// result is undefined where memory was. Memory becomes undefined where it was
/// or where an operand is; an exchange ignores its old contents.
void handOn(const Context &c, const Instruction &i, unsigned lane,
            const Context::Target &where) {
  const Atomic &t = *static_cast<const Atomic *>(i.data);
  const uint32_t *results = i.slots + 1, *sources = results + t.count;
  const unsigned operands = t.op == Op::Cas ? 2 : t.count;
  uint32_t origins[9], slots[9];
  for (unsigned k = 0; k < operands; ++k) {
    bool bad = isUndefined(c, sources[k], lane, t.bytes);
    origins[k] = bad ? c.originOf(sources[k], lane) : noSlot;
    slots[k] = bad ? sources[k] : noSlot;
  }
  if (t.op == Op::Cas && origins[0] == noSlot) {
    origins[0] = origins[1];
    slots[0] = slots[1];
  }
  for (unsigned k = 0; k < t.count; ++k) {
    Context::Target element = where;
    element.data += k * t.bytes;
    element.offset += k * t.bytes;
    auto parts = where.region->shadow->undefined(element.offset, t.bytes);
    c.define(results[k], 1u << lane);
    if (!parts.empty()) {
      uint32_t before = c.originAt(i, where, parts[0].offset - where.offset);
      c.undefine(results[k], 1u << lane, before);
      if (t.op != Op::Exch && origins[k] == noSlot)
        origins[k] = before;
    }
    uint64_t all = (uint64_t(1) << t.bytes) - 1;
    c.put(i, lane, element, t.bytes, origins[k] == noSlot ? 0 : all, origins[k],
          slots[k]);
  }
}

/// Lane by lane, each an update of its own (updateOrdered). On a card the order
/// among lanes is open too.
Step atomic(Context &c, const Instruction &i) {
  const Atomic &t = *static_cast<const Atomic *>(i.data);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  unsigned total = t.bytes * t.count;
  const uint32_t *results = i.slots + 1, *sources = results + t.count;
  uint32_t plain = c.mask;
  Sectors sectors;
  auto lane64 = [&](uint32_t slot, unsigned lane) {
    uint64_t v = 0;
    unsigned bytes = std::max(2u, t.bytes);
    std::memcpy(&v, c.frame.registers + slot + lane * bytes, bytes);
    return v;
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Context::Target where = c.resolve(i, lane, t.address.space, addresses[lane],
                                      total, total, true);
    if (where.data && !where.region) {
      c.reportAt(FindingKind::InvalidOperation, i, lane, addresses[lane],
                 "operates atomically on local or parameter memory, expected "
                 "global or shared memory");
      where.data = nullptr;
    }
    uint64_t old[8] = {};
    if (where.data)
      updateOrdered(
          c, i, lane, where, addresses[lane], total, t.order, t.scope,
          [&](std::byte *p) {
            bool changed = false;
            for (unsigned k = 0; k < t.count; ++k) {
              std::memcpy(&old[k], p + k * t.bytes, t.bytes);
              uint64_t now = t(old[k], lane64(sources[k], lane),
                               t.op == Op::Cas ? lane64(sources[1], lane) : 0);
              // A compare-and-swap that fails does not write.
              changed |= now != old[k] || t.op != Op::Cas;
              std::memcpy(p + k * t.bytes, &now, t.bytes);
            }
            if (c.passes || holdsUndefined(c, where, total)) {
              handOn(c, i, lane, where);
              plain &= ~(1u << lane);
            }
            return changed;
          },
          t.count == 1 && looks(t, lane64(sources[0], lane)), t.isFloatSum());
    sectors.add(where, addresses[lane], total);
    for (unsigned k = 0; k < t.count; ++k) {
      unsigned bytes = std::max(2u, t.bytes);
      std::memcpy(c.frame.registers + results[k] + lane * bytes, &old[k],
                  bytes);
    }
  }
  for (unsigned k = 0; k < t.count; ++k)
    c.define(results[k], plain);
  sectors.count(*c.warp.counters, /*isStore=*/true);
  if (isRelease(t.order))
    c.warp.ticked();
  return Step::Next;
}

// cas and exch of .b128. Such a register is two 64-bit halves.
Step atomic128(Context &c, const Instruction &i) {
  const Atomic &t = *static_cast<const Atomic *>(i.data);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  struct Word {
    uint64_t low = 0, high = 0;
    bool operator==(const Word &o) const {
      return low == o.low && high == o.high;
    }
  };
  auto word = [&](uint32_t slot, unsigned lane) {
    const uint64_t *halves = c.lanes<uint64_t>(slot);
    return Word{halves[lane], halves[32 + lane]};
  };
  uint32_t plain = c.mask;
  Sectors sectors;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Context::Target where =
        c.resolve(i, lane, t.address.space, addresses[lane], 16, 16, true);
    if (where.data && !where.region) {
      c.reportAt(FindingKind::InvalidOperation, i, lane, addresses[lane],
                 "operates atomically on local or parameter memory, expected "
                 "global or shared memory");
      where.data = nullptr;
    }
    Word old;
    if (where.data)
      updateOrdered(c, i, lane, where, addresses[lane], 16, t.order, t.scope,
                    [&](std::byte *p) {
                      std::memcpy(&old, p, 16);
                      bool cas = t.op == Op::Cas;
                      Word now = word(i.slots[2], lane);
                      if (cas)
                        now = old == now ? word(i.slots[3], lane) : old;
                      std::memcpy(p, &now, 16);
                      if (c.passes || holdsUndefined(c, where, 16)) {
                        handOn(c, i, lane, where);
                        plain &= ~(1u << lane);
                      }
                      return !cas || !(now == old);
                    });
    sectors.add(where, addresses[lane], 16);
    uint64_t *halves = c.lanes<uint64_t>(i.slots[1]);
    halves[lane] = old.low;
    halves[32 + lane] = old.high;
  }
  c.define(i.slots[1], plain);
  sectors.count(*c.warp.counters, /*isStore=*/true);
  if (isRelease(t.order))
    c.warp.ticked();
  return Step::Next;
}

// The types of each operation, scalar and in vectors (global memory, sm_90).
// f16 and bf16 types take .noftz, all others do not.
struct OperationTypes {
  const char *spelling;
  Op op;
  bool isRed; // red has it too
  std::vector<Type> alone, inVectors;
};
const OperationTypes *operationTypes(Decoder &d) {
  static const std::vector<Type> bits = {Type::B32, Type::B64},
                                 ordered = {Type::U32, Type::S32, Type::U64,
                                            Type::S64},
                                 halves = {Type::F16, Type::BF16, Type::F16x2,
                                           Type::BF16x2};
  static const OperationTypes all[] = {
      {"and", Op::And, true, bits, {}},
      {"or", Op::Or, true, bits, {}},
      {"xor", Op::Xor, true, bits, {}},
      {"cas",
       Op::Cas,
       false,
       {Type::B16, Type::B32, Type::B64, Type::B128},
       {}},
      {"exch", Op::Exch, false, {Type::B32, Type::B64, Type::B128}, {}},
      {"add",
       Op::Add,
       true,
       {Type::U32, Type::S32, Type::U64, Type::F32, Type::F64, Type::F16,
        Type::BF16, Type::F16x2, Type::BF16x2},
       {Type::F32, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2}},
      {"inc", Op::Inc, true, {Type::U32}, {}},
      {"dec", Op::Dec, true, {Type::U32}, {}},
      {"min", Op::Min, true, ordered, halves},
      {"max", Op::Max, true, ordered, halves},
  };
  for (const OperationTypes &operation : all)
    if (d.take(operation.spelling))
      return &operation;
  return nullptr;
}

// The target and version that a scalar of this type needs.
void requireForType(Decoder &d, Type type, Scope scope) {
  switch (type) {
  case Type::B16:
  case Type::F16:
    return d.require(70, 63);
  case Type::F16x2:
    return d.require(60, 62);
  case Type::BF16:
  case Type::BF16x2:
    return d.require(90, 78);
  case Type::B128:
    return d.require(90, scope == Scope::System ? 84 : 83);
  default:
    return;
  }
}

void decodeUpdate(Decoder &d, bool hasResult) {
  Atomic t;
  static const std::pair<const char *, Order> orders[] = {
      {"relaxed", Order::Relaxed},
      {"release", Order::Release},
      {"acquire", Order::Acquire},
      {"acq_rel", Order::AcquireRelease}};
  for (auto &[word, order] : orders) // red acquires nothing
    if ((hasResult || !isAcquire(order)) && d.take(word)) {
      t.order = order;
      break;
    }
  t.scope = d.scope(Scope::Gpu);
  Space space = d.space();
  bool isGlobal = space == Space::Generic || space == Space::Global;
  if (!isGlobal && space != Space::Shared)
    d.fail("'" + d.tree().spelling() +
           "' updates global or shared memory only");
  const OperationTypes *operation = operationTypes(d);
  if (!operation || !(hasResult || operation->isRed))
    return d.fail("'" + d.tree().spelling() +
                  "' does not support this operation");
  t.op = operation->op;
  bool hint = d.take("L2::cache_hint");
  if (hint) {
    d.require(80, 74);
    if (!isGlobal)
      d.fail("'" + d.tree().spelling() +
             "' takes a cache hint for global memory only");
  }
  t.count = d.vector();
  t.type = d.type();
  t.bytes = ptx::bytesOf(t.type);
  const std::vector<Type> &allowed =
      t.count > 1 ? operation->inVectors : operation->alone;
  if (std::find(allowed.begin(), allowed.end(), t.type) == allowed.end())
    return d.fail("'" + d.tree().spelling() + "' does not take the type ." +
                  ptx::nameOf(t.type));
  bool isHalf = t.type == Type::F16 || t.type == Type::F16x2 ||
                t.type == Type::BF16 || t.type == Type::BF16x2;
  if (isHalf && !d.take("noftz"))
    return d.fail("'" + d.tree().spelling() + "' needs .noftz");
  requireForType(d, t.type, t.scope);
  if (t.count > 1) {
    d.require(90, 81);
    if (!isGlobal)
      d.fail("'" + d.tree().spelling() +
             "' takes vectors for global memory only");
  }
  if (t.bytes * t.count > 16)
    return d.fail("'" + d.tree().spelling() + "' is wider than 16 bytes");
  // f32 atomics on global memory flush subnormals, those on shared do not.
  t.ftz = t.type == Type::F32 && space == Space::Global;
  d.begin(t.type == Type::B128 ? atomic128 : atomic, Class::Atomic,
          flagStrictReads | flagDefinesItself);
  size_t k = hasResult ? 1 : 0;
  AddressOperand a = d.address(k);
  t.address = Address(d, a, space);
  d.pushSlot(a.slot);
  auto elements = [&](size_t index) {
    if (t.count == 1 && d.operand(index).kind == Operand::Vector)
      d.fail("'" + d.tree().spelling() + "' takes no vectors");
    return d.elements(index, t.count);
  };
  if (hasResult && d.isSink(0))
    for (unsigned n = 0; n < t.count; ++n)
      d.result(0, t.type);
  else if (hasResult)
    for (const Operand *o : elements(0))
      d.result(*o, t.type);
  else
    for (unsigned n = 0; n < t.count; ++n)
      d.pushSlot(d.scratch(std::max(2u, t.bytes)));
  const size_t firstValue = d.readCount();
  for (const Operand *o : elements(k + 1))
    d.source(*o, t.type);
  size_t next = k + 2;
  if (t.op == Op::Cas)
    d.source(next++, t.type);
  d.passes(firstValue);
  if (hint)
    d.source(next, Type::B64);
  d.current().data = d.keep(t);
}

void decodeAtom(Decoder &d) { decodeUpdate(d, true); }
void decodeRed(Decoder &d) {
  if (d.take("async"))
    return decodeReduceAsync(d);
  decodeUpdate(d, false);
}

// ---- fences

struct Fence { // as Instruction::options
  Order order = Order::AcquireRelease;
  Scope scope = Scope::System;
  Reach reach = Reach::All; // Own: of the CTA that executes it
  explicit Fence(Order order, Scope scope, Reach reach)
      : order(order), scope(scope), reach(reach) {}
  explicit Fence(uint32_t options)
      : order(Order(options & 0xff)), scope(Scope(options >> 8 & 0xff)),
        reach(Reach(options >> 16)) {}
  uint32_t options() const {
    return uint32_t(order) | uint32_t(scope) << 8 | uint32_t(reach) << 16;
  }
  Reach in(const Cta &cta) const {
    return reach == Reach::Own ? sharedOf(cta.rank) : reach;
  }
};

Step fenceStep(Context &c, const Instruction &i) {
  Fence f(i.options);
  fence(c, f.order, f.scope, f.in(c.cta));
  return Step::Next;
}

Step proxyStep(Context &c, const Instruction &i) {
  fenceProxy(c, Fence(i.options).in(c.cta));
  return Step::Next;
}

Step genericToAsyncStep(Context &c, const Instruction &i) {
  Fence f(i.options);
  fenceGenericToAsync(c, f.order, f.scope, f.in(c.cta));
  return Step::Next;
}

void decodedFence(Decoder &d, Handler step, Fence fence) {
  d.begin(step, Class::Barrier);
  d.current().options = fence.options();
}

Step initsStep(Context &c, const Instruction &) {
  fenceInits(c);
  return Step::Next;
}

/// fence.proxy.alias orders accesses through several virtual addresses of one
/// place, which the simulator does not have.
Step nothing(Context &, const Instruction &) { return Step::Next; }

// Optional .sync_restrict::space: only a release for the own CTA's shared
// memory or an acquire for the cluster's (PTX ISA 9.7.13.4).
Reach syncRestrict(Decoder &d, bool acquires, bool releases) {
  int space =
      d.oneOf({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (space < 0)
    return Reach::All;
  d.require(90, 86);
  if (acquires == releases || acquires != (space == 1))
    d.fail("'.sync_restrict::shared::cta' is for .release, "
           "'.sync_restrict::shared::cluster' for .acquire");
  if (!d.peek("cluster"))
    d.fail("'.sync_restrict' needs the scope .cluster");
  return space == 0 ? Reach::Own : Reach::Shared;
}

// fence{.sem}.scope; fence.proxy.kind; fence.mbarrier_init.release.cluster
void decodeFence(Decoder &d) {
  if (d.take("mbarrier_init")) {
    d.require(90, 80);
    d.oneOf({"release"}, true);
    d.oneOf({"cluster"}, true);
    return d.begin(initsStep, Class::Barrier);
  }
  if (d.take("proxy")) {
    d.require(70, 75);
    int kind =
        d.oneOf({"alias", "async", "async::generic", "tensormap::generic"});
    if (kind < 0)
      return d.fail("'fence.proxy' needs a kind of proxy");
    if (kind >= 1)
      d.require(90, 80);
    int order = d.oneOf({"acquire", "release"}, kind == 3);
    if (kind == 3)
      return decodeTensorMapFence(d, order == 0);
    if (kind == 2) {
      Reach reach = syncRestrict(d, order == 0, order == 1);
      if (reach == Reach::All)
        return d.fail("'fence.proxy.async::generic' needs .sync_restrict");
      return decodedFence(d, genericToAsyncStep,
                          Fence(order == 0 ? Order::Acquire : Order::Release,
                                d.scope(Scope::Cluster), reach));
    }
    int space =
        kind == 1 ? d.oneOf({"global", "shared::cta", "shared::cluster"}) : -1;
    return decodedFence(d, kind == 1 ? proxyStep : nothing,
                        Fence(Order::AcquireRelease, Scope::System,
                              space < 0    ? Reach::All
                              : space == 0 ? Reach::Global
                              : space == 1 ? Reach::Own
                                           : Reach::Shared));
  }
  d.require(70, 60);
  int order = d.oneOf({"sc", "acq_rel", "acquire", "release"});
  Reach reach = syncRestrict(d, order == 2, order == 3);
  if (!d.peek("cta") && !d.peek("cluster") && !d.peek("gpu") && !d.peek("sys"))
    return d.fail("'" + d.tree().spelling() + "' needs a scope");
  decodedFence(d, fenceStep,
               Fence(order == 2   ? Order::Acquire
                     : order == 3 ? Order::Release
                                  : Order::AcquireRelease,
                     d.scope(Scope::System), reach));
}

/// The older spelling of fences.
void decodeMembar(Decoder &d) {
  if (d.take("proxy")) {
    d.require(60, 75);
    d.oneOf({"alias"}, true);
    d.begin(nothing, Class::Barrier);
    return;
  }
  int scope = d.oneOf({"cta", "gl", "sys"}, true);
  decodedFence(d, fenceStep,
               Fence(Order::AcquireRelease,
                     scope == 0   ? Scope::Cta
                     : scope == 1 ? Scope::Gpu
                                  : Scope::System,
                     Reach::All));
}

} // namespace

void registerAtomic(Families &f) {
  f["atom"] = decodeAtom;
  f["red"] = decodeRed;
  f["fence"] = decodeFence;
  f["membar"] = decodeMembar;
}

} // namespace act::runtime::sim
