// SPDX-License-Identifier: Apache-2.0
//
// ld, ldu, st, prefetch, prefetchu, discard, applypriority, createpolicy.
//
// Slots of ld: address base, then results; of st: address base, then values.
#include "runtime/sim/decode/FrameLayout.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/MemoryOrder.h"
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

struct Transfer {
  /// Moves the elements of all lanes at once; null if that is not possible.
  void (*move)(const Context &, const Instruction &, unsigned count,
               const Context::Lanes &) = nullptr;
  Address address;
  unsigned bytes = 4;    // of an element in memory
  unsigned count = 1;    // elements
  bool isSigned = false; // narrower than the register: sign-extended
  uint8_t registerBytes[8] = {};
  Order order = Order::Weak;
  Scope scope = Scope::System;
};

// Widens or narrows one element into a register's lane.
void put(Context &c, uint32_t slot, unsigned have, unsigned lane,
         const std::byte *from, unsigned bytes, bool isSigned) {
  if (have == 16) {
    std::memcpy(c.lanes<uint64_t>(slot) + lane, from, 8);
    std::memcpy(c.lanes<uint64_t>(slot) + 32 + lane, from + 8, 8);
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  if (isSigned && bytes < 8) {
    unsigned shift = 64 - 8 * bytes;
    value = uint64_t(int64_t(value << shift) >> shift);
  }
  std::memcpy(c.frame.registers + slot + lane * have, &value, have);
}

void get(const Context &c, uint32_t slot, unsigned have, unsigned lane,
         std::byte *to, unsigned bytes) {
  if (have == 16) {
    std::memcpy(to, c.lanes<uint64_t>(slot) + lane, 8);
    std::memcpy(to + 8, c.lanes<uint64_t>(slot) + 32 + lane, 8);
    return;
  }
  std::memcpy(to, c.frame.registers + slot + lane * have, bytes);
}

// All lanes at once. Memory, Register: the type of an element there.
template <typename Memory, typename Register>
void loadLanes(const Context &c, const Instruction &i, unsigned count,
               const Context::Lanes &from) {
  for (unsigned k = 0; k < count; ++k) {
    const std::byte *base = from.data + k * sizeof(Memory);
    Register results[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
      Memory value;
      std::memcpy(&value, base + from.offsets[lane], sizeof value);
      results[lane] = Register(value);
    }
    put(c, i.slots[1 + k], results);
  }
}

template <typename Memory, typename Register>
void storeLanes(const Context &c, const Instruction &i, unsigned count,
                const Context::Lanes &to) {
  for (uint32_t left = c.mask; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    for (unsigned k = 0; k < count; ++k) {
      Memory value = Memory(c.lanes<Register>(i.slots[1 + k])[lane]);
      std::memcpy(to.data + to.offsets[lane] + k * sizeof value, &value,
                  sizeof value);
    }
  }
}

/// The fast mover if all elements' registers are of one type, else null.
decltype(Transfer::move) moverOf(const Transfer &t, bool isStore) {
  for (unsigned k = 1; k < t.count; ++k)
    if (t.registerBytes[k] != t.registerBytes[0])
      return nullptr;
  auto choose = [&](auto memory, auto reg) -> decltype(Transfer::move) {
    using M = decltype(memory);
    using R = decltype(reg);
    return isStore ? &storeLanes<M, R> : &loadLanes<M, R>;
  };
  unsigned have = t.registerBytes[0];
  if (t.bytes == have) {
    switch (have) {
    case 2:
      return choose(uint16_t(), uint16_t());
    case 4:
      return choose(uint32_t(), uint32_t());
    case 8:
      return choose(uint64_t(), uint64_t());
    }
  } else if (t.bytes == 1 && have == 2) {
    return t.isSigned ? choose(int8_t(), int16_t())
                      : choose(uint8_t(), uint16_t());
  } else if (t.bytes == 1 && have == 4) {
    return t.isSigned ? choose(int8_t(), int32_t())
                      : choose(uint8_t(), uint32_t());
  } else if (t.bytes == 2 && have == 4) {
    return t.isSigned ? choose(int16_t(), int32_t())
                      : choose(uint16_t(), uint32_t());
  }
  return nullptr;
}

void defineAll(const Context &c, const Instruction &i, unsigned count) {
  for (unsigned k = 0; k < count; ++k)
    c.define(i.slots[1 + k], c.mask);
}

/// Marks the undefined bytes that a lane loaded. That alone is no error:
/// compilers load more than they need to merge accesses.
void undefine(const Context &c, const Instruction &i, unsigned lane,
              const Context::Target &from, uint32_t undefined) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  for (unsigned k = 0; k < t.count; ++k) {
    uint64_t bits = 0;
    uint32_t ofElement =
        undefined >> k * t.bytes & uint32_t((uint64_t(1) << t.bytes) - 1);
    for (unsigned byte = 0; byte < t.bytes; ++byte)
      if (ofElement >> byte & 1)
        bits |= t.bytes > 8 ? ~uint64_t(0) : uint64_t(255) << 8 * byte;
    if (t.isSigned && bits >> (8 * t.bytes - 1) & 1)
      bits |= ~uint64_t(0) << (8 * t.bytes - 1); // sign extension
    if (bits)
      c.frame.defined.setUndefinedBits(
          i.slots[1 + k], lane, bits,
          c.originAt(i, from, k * t.bytes + __builtin_ctz(ofElement)));
  }
}

/// Nearly all loads are weak, in bounds and of one allocation; they are judged
/// and moved for all lanes at once. The others go lane by lane, and only that
/// way reports.
Step load(Context &c, const Instruction &i) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  unsigned total = t.bytes * t.count;
  Manner reads;
  reads.read = reads.partly = true;
  reads = c.passing(reads);
  uint32_t undefined[32];
  Context::Lanes all;
  if (t.move && t.order == Order::Weak &&
      c.resolveLanes(t.address.space, addresses, total, false, all)) {
    uint32_t parts =
        c.judgeLanes(i, all, addresses, total, reads, nullptr, undefined);
    t.move(c, i, t.count, all);
    Sectors::count(*c.warp.counters, *all.region, all.offsets, c.mask, total,
                   false);
    defineAll(c, i, t.count);
    for (; parts; parts &= parts - 1) {
      unsigned lane = unsigned(__builtin_ctz(parts));
      undefine(c, i, lane, c.targetOf(all, lane), undefined[lane]);
    }
    return Step::Next;
  }
  defineAll(c, i, t.count);
  Sectors sectors;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    std::byte buffer[64] = {};
    Context::Target from = c.resolve(i, lane, t.address.space, addresses[lane],
                                     total, total, false);
    if (from.data) {
      if (t.order == Order::Weak) {
        undefined[lane] = c.judge(i, lane, from, addresses[lane], total, reads);
        std::memcpy(buffer, from.data, total);
      } else {
        undefined[lane] = loadOrdered(c, i, lane, from, addresses[lane], buffer,
                                      total, t.order, t.scope);
      }
      if (undefined[lane])
        undefine(c, i, lane, from, undefined[lane]);
      sectors.add(from, addresses[lane], total);
    }
    for (unsigned k = 0; k < t.count; ++k)
      put(c, i.slots[1 + k], t.registerBytes[k], lane, buffer + k * t.bytes,
          t.bytes, t.isSigned);
  }
  sectors.count(*c.warp.counters, false);
  return Step::Next;
}

// The bytes that a lane of st writes.
void gather(const Context &c, const Instruction &i, unsigned lane,
            std::byte (&buffer)[64]) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  for (unsigned k = 0; k < t.count; ++k)
    get(c, i.slots[1 + k], t.registerBytes[k], lane, buffer + k * t.bytes,
        t.bytes);
}

// Marks the bytes that a lane of st wrote undefined where its value is.
void handOn(const Context &c, const Instruction &i, unsigned lane,
            const Context::Target &to) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  for (unsigned k = 0; k < t.count; ++k) {
    uint32_t slot = i.slots[1 + k];
    uint64_t bits = c.frame.defined.undefinedBits(slot, lane), bytes = 0;
    for (unsigned byte = 0; byte < t.bytes; ++byte)
      bytes |= uint64_t((bits >> 8 * (byte & 7) & 255) != 0) << byte;
    Context::Target element = to;
    element.data += k * t.bytes;
    element.offset += k * t.bytes;
    c.put(i, lane, element, t.bytes, bytes, c.originOf(slot, lane), slot);
  }
}

/// As load(). A lane that repeats the store of an earlier lane does not race
/// with it: the hardware performs one of them, and the value is the same.
Step store(Context &c, const Instruction &i) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  unsigned total = t.bytes * t.count;
  Context::Lanes all;
  if (t.move && t.order == Order::Weak &&
      c.resolveLanes(t.address.space, addresses, total, true, all)) {
    c.judgeLanes(i, all, addresses, total, {true, false}, gather);
    t.move(c, i, t.count, all);
    Sectors::count(*c.warp.counters, *all.region, all.offsets, c.mask, total,
                   true);
    for (uint32_t left = c.passes ? c.mask : 0; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      handOn(c, i, lane, c.targetOf(all, lane));
    }
    if (t.address.space == Space::Shared)
      c.event();
    else
      c.eventGlobal();
    return Step::Next;
  }
  Sectors sectors;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    Context::Target to = c.resolve(i, lane, t.address.space, addresses[lane],
                                   total, total, true);
    if (!to.data)
      continue;
    std::byte buffer[64];
    gather(c, i, lane, buffer);
    if (t.order == Order::Weak) {
      bool repeats = false;
      for (unsigned l = 0; l < lane && !repeats; ++l)
        if (c.active(l) && addresses[l] == addresses[lane]) {
          std::byte other[64];
          gather(c, i, l, other);
          repeats = std::memcmp(buffer, other, total) == 0;
        }
      Manner writes = {true, false};
      writes.unchanged = std::memcmp(to.data, buffer, total) == 0;
      if (!repeats)
        c.judge(i, lane, to, addresses[lane], total, writes);
      std::memcpy(to.data, buffer, total);
    } else {
      storeOrdered(c, i, lane, to, addresses[lane], buffer, total, t.order,
                   t.scope);
    }
    if (c.passes || (!to.region && !c.warp.undefinedLocals.empty()))
      handOn(c, i, lane, to);
    sectors.add(to, addresses[lane], total);
  }
  sectors.count(*c.warp.counters, true);
  if (isRelease(t.order))
    c.warp.ticked();
  if (t.address.space == Space::Shared)
    c.event();
  else
    c.eventGlobal();
  return Step::Next;
}

// ---- decoding

// For the tables below: instructions ...
enum : uint8_t { Ld = 1, Nc = 2, Ldu = 4, St = 8 }; // Nc: ld with .nc
// ... and how an access is ordered. Plain is .weak, explicit or not.
enum : uint8_t { Plain = 1, Volatile = 2, Scoped = 4, Mmio = 8 };

struct OrderWord {
  const char *spelling;
  Order order;
  uint8_t manner, instructions;
};
constexpr OrderWord orderWords[] = {
    {"weak", Order::Weak, Plain, Ld | St},
    {"volatile", Order::Relaxed, Volatile, Ld | St},
    {"relaxed", Order::Relaxed, Scoped, Ld | St},
    {"acquire", Order::Acquire, Scoped, Ld},
    {"release", Order::Release, Scoped, St},
};

// Cache operators and hints. None changes a value. At most one of each group.
struct CacheWord {
  const char *spelling;
  uint8_t group, instructions, manners;
  bool anySpace; // else generic and .global only
  uint32_t sm, ptx10;
};
constexpr CacheWord cacheWords[] = {
    {"ca", 0, Ld | Nc, Plain, true, 20, 20},
    {"cg", 0, Ld | Nc | St, Plain, true, 20, 20},
    {"cs", 0, Ld | Nc | St, Plain, true, 20, 20},
    {"lu", 0, Ld, Plain, true, 20, 20},
    {"cv", 0, Ld, Plain, true, 20, 20},
    {"wb", 0, St, Plain, true, 20, 20},
    {"wt", 0, St, Plain, true, 20, 20},
    {"L1::evict_normal", 0, Ld | Nc | St, Plain | Scoped, false, 70, 74},
    {"L1::evict_unchanged", 0, Ld | Nc | St, Plain | Scoped, false, 70, 74},
    {"L1::evict_first", 0, Ld | Nc | St, Plain | Scoped, false, 70, 74},
    {"L1::evict_last", 0, Ld | Nc | St, Plain | Scoped, false, 70, 74},
    {"L1::no_allocate", 0, Ld | Nc | St, Plain | Scoped, false, 70, 74},
    {"L2::evict_normal", 1, Ld | Nc | St, Plain | Scoped, false, 100, 88},
    {"L2::evict_first", 1, Ld | Nc | St, Plain | Scoped, false, 100, 88},
    {"L2::evict_last", 1, Ld | Nc | St, Plain | Scoped, false, 100, 88},
    {"L2::64B", 2, Ld | Nc, Plain | Scoped | Volatile, false, 75, 74},
    {"L2::128B", 2, Ld | Nc, Plain | Scoped | Volatile, false, 75, 74},
    {"L2::256B", 2, Ld | Nc, Plain | Scoped | Volatile, false, 80, 74},
    {"L2::cache_hint", 3, Ld | Nc | St, Plain | Scoped, false, 80, 74},
};

/// The decoded modifiers of ld, ldu or st.
struct Access {
  uint8_t instruction = Ld, manner = Plain;
  Order order = Order::Weak;
  Scope scope = Scope::System;
  Space space = Space::Generic;
  bool evictsL2 = false, hasPolicy = false; // a policy is one more operand
  bool isGlobal() const {
    return space == Space::Generic || space == Space::Global;
  }
};

// {.weak, .volatile, .relaxed.scope, .acquire.scope, .release.scope,
//  .mmio.relaxed.sys}
void takeOrder(Decoder &d, Access &a) {
  bool mmio = d.take("mmio");
  if (mmio)
    d.require(70, 82);
  for (const OrderWord &word : orderWords) {
    if (!(word.instructions & a.instruction) || !d.take(word.spelling))
      continue;
    a.order = word.order;
    a.manner = word.manner;
    break;
  }
  if (a.manner == Scoped) {
    int scope = d.oneOf({"cta", "cluster", "gpu", "sys"}, true);
    a.scope = Scope(std::max(scope, 0));
    if (a.scope == Scope::Cluster)
      d.require(90, 78);
  }
  if (!mmio)
    return;
  if (a.order != Order::Relaxed || a.manner != Scoped ||
      a.scope != Scope::System)
    d.fail("'" + d.tree().spelling() + "': .mmio needs .relaxed.sys");
  a.manner = Mmio;
}

void takeSpace(Decoder &d, Access &a) {
  bool entry = d.peek("param::entry");
  a.space = d.space();
  bool allowed = true;
  if (a.instruction == Nc)
    allowed = a.space == Space::Global;
  else if (a.manner == Mmio || a.instruction == Ldu)
    allowed = a.isGlobal();
  else if (a.manner != Plain)
    allowed = a.isGlobal() || a.space == Space::Shared;
  else if (a.instruction == St)
    allowed = a.space != Space::Const && !entry;
  if (!allowed)
    d.fail("'" + d.tree().spelling() + "' does not support this state space");
}

void takeCacheWords(Decoder &d, Access &a) {
  bool had[4] = {};
  for (const CacheWord &word : cacheWords) {
    if (!(word.instructions & a.instruction) || had[word.group] ||
        !d.take(word.spelling))
      continue;
    had[word.group] = true;
    d.require(word.sm, word.ptx10);
    if (!(word.manners & a.manner) || !(word.anySpace || a.isGlobal()))
      d.fail("'" + d.tree().spelling() + "' does not take '." + word.spelling +
             "'");
  }
  a.evictsL2 = had[1];
  a.hasPolicy = had[3];
}

/// Which words go together follows the syntax of ld, ldu and st in the PTX ISA;
/// the tables above list each word once.
Access takeAccess(Decoder &d, uint8_t instruction) {
  Access a;
  a.instruction = instruction;
  if (instruction == Ld && d.take("nc"))
    a.instruction = Nc;
  else if (instruction != Ldu)
    takeOrder(d, a);
  takeSpace(d, a);
  takeCacheWords(d, a);
  return a;
}

// A function may only read its parameters and only write its return values.
void refuseWrongWay(Decoder &d, const AddressOperand &a, bool isStore) {
  using ptx::Symbol;
  if (a.isParameter &&
      a.symbol == (isStore ? Symbol::Parameter : Symbol::ReturnValue))
    d.fail("'" + d.tree().spelling() + "' cannot " +
           (isStore ? "write a parameter of the function"
                    : "read what the function returns"));
}

void decodeTransfer(Decoder &d, uint8_t instruction) {
  bool isStore = instruction == St;
  Access access = takeAccess(d, instruction);
  Transfer t;
  t.order = access.order;
  t.scope = access.scope;
  t.count = d.vector();
  Type type = d.type({Type::B8, Type::B16, Type::B32, Type::B64, Type::B128,
                      Type::U8, Type::U16, Type::U32, Type::U64, Type::S8,
                      Type::S16, Type::S32, Type::S64, Type::F32, Type::F64});
  t.bytes = ptx::bytesOf(type);
  t.isSigned = type == Type::S8 || type == Type::S16 || type == Type::S32;
  unsigned total = t.bytes * t.count;
  if (!total || total > 32)
    return d.fail("'" + d.tree().spelling() + "' does not support this size");
  if (total == 32) {
    d.require(100, 88);
    if (!access.isGlobal())
      d.fail("'" + d.tree().spelling() +
             "' moves 32 bytes in global memory only");
  }
  if (access.evictsL2 && total != 32)
    d.fail("'" + d.tree().spelling() + "': .L2::evict needs 32 bytes");
  if (access.manner == Mmio && t.count > 1)
    d.fail("'" + d.tree().spelling() + "': .mmio takes no vectors");
  if (instruction == Ldu && t.count > 4)
    d.fail("'" + d.tree().spelling() +
           "' reads vectors of 2 or 4 elements only");
  if (type == Type::B128)
    d.require(70, access.manner != Plain && access.manner != Volatile &&
                          access.scope == Scope::System
                      ? 84
                      : 83);
  d.begin(isStore ? store : load, isStore ? Class::Store : Class::Load,
          flagStrictReads | flagDefinesItself);
  size_t addressAt = isStore ? 0 : 1, valueAt = isStore ? 1 : 0;
  AddressOperand a = d.address(addressAt);
  refuseWrongWay(d, a, isStore);
  t.address = Address(d, a, access.space);
  d.pushSlot(a.slot);
  std::vector<const Operand *> values = d.elements(valueAt, t.count);
  const size_t firstValue = d.readCount();
  for (unsigned k = 0; k < t.count; ++k) {
    const Operand &o = *values[k];
    if (isStore)
      d.source(o, type, true);
    else
      d.result(o, type, true);
    t.registerBytes[k] =
        uint8_t(o.kind == Operand::Reg ? d.registerBytes(o) : slotBytes(type));
  }
  if (isStore)
    d.passes(firstValue);
  if (!isStore && d.isSink(valueAt))
    d.fail("'" + d.tree().spelling() +
           "' needs a destination register, not '_'");
  if (access.hasPolicy)
    d.source(2, Type::B64);
  t.move = moverOf(t, isStore);
  d.current().data = d.keep(t);
}

void decodeLoad(Decoder &d) { decodeTransfer(d, Ld); }
void decodeLoadUniform(Decoder &d) { decodeTransfer(d, Ldu); }
void decodeStore(Decoder &d) {
  if (d.take("async"))
    return decodeStoreAsync(d);
  decodeTransfer(d, St);
}

/// Hints change no value, and caches are not modelled. Their operands are still
/// checked while decoding.
Step nothing(Context &, const Instruction &) { return Step::Next; }

// The address operand of an instruction that accesses nothing.
void takeAddress(Decoder &d, size_t index, Space space,
                 std::initializer_list<Space> allowed) {
  if (std::find(allowed.begin(), allowed.end(), space) == allowed.end())
    d.fail("'" + d.tree().spelling() + "' does not support this state space");
  Address(d, d.address(index), space);
}

// prefetch{.space}.level [a], also for tensor maps. Only the operand is
// checked.
void decodePrefetch(Decoder &d) {
  bool isExact = !d.peek("param::entry") && !d.peek("param::func");
  Space space = d.space();
  d.begin(nothing, Class::Other);
  if (isExact && d.take("tensormap")) {
    d.require(90, 80);
    takeAddress(d, 0, space, {Space::Generic, Space::Param, Space::Const});
  } else if (d.oneOf({"L2::evict_last", "L2::evict_normal"}) >= 0) {
    d.require(80, 74);
    takeAddress(d, 0, space, {Space::Generic, Space::Global});
  } else {
    d.oneOf({"L1", "L2"}, true);
    takeAddress(d, 0, space, {Space::Generic, Space::Global, Space::Local});
  }
}

void decodePrefetchUniform(Decoder &d) {
  d.oneOf({"L1"}, true);
  d.begin(nothing, Class::Other);
  takeAddress(d, 0, Space::Generic, {Space::Generic});
}

// discard.global.L2 [a], 128;  applypriority.global.L2::evict_normal [a], 128
void decodeHint(Decoder &d, const char *level) {
  d.require(80, 74);
  Space space = d.space();
  d.oneOf({level}, true);
  d.begin(nothing, Class::Other);
  takeAddress(d, 0, space, {Space::Generic, Space::Global});
  if (d.immediate(1) != 128)
    d.fail("'" + d.tree().spelling() + "' takes 128 bytes");
}
void decodeDiscard(Decoder &d) { decodeHint(d, "L2"); }
void decodeApplyPriority(Decoder &d) { decodeHint(d, "L2::evict_normal"); }

Step makePolicy(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      c.lanes<uint64_t>(i.slots[0])[lane] = 1; // opaque: no cache is modelled
  return Step::Next;
}

// Eviction priorities: .primary{.secondary}.
void takePriorities(Decoder &d) {
  std::string primary = d.nextWord();
  if (primary != "L2::evict_last" && primary != "L2::evict_normal" &&
      primary != "L2::evict_first" && primary != "L2::evict_unchanged")
    d.fail("'" + d.tree().spelling() + "' needs a priority");
  d.oneOf({"L2::evict_first", "L2::evict_unchanged"});
}

// The fraction of cache lines; an immediate must be above 0.
void takeFraction(Decoder &d, size_t index) {
  d.source(index, Type::F32);
  const Operand &o = d.operand(index);
  if (o.kind != Operand::Immediate)
    return;
  double fraction;
  float narrow;
  std::memcpy(&fraction, &o.bits, sizeof fraction);
  std::memcpy(&narrow, &o.bits, sizeof narrow);
  if (o.isF32)
    fraction = double(narrow);
  if (!(fraction > 0 && fraction <= 1))
    d.fail("'" + d.tree().spelling() +
           "' expects a fraction greater than 0 and at most 1");
}

// createpolicy.fractional.primary{.secondary}.b64 p{, fraction};
// createpolicy.range{.global}.primary{.secondary}.b64 p, [a], size, total;
// createpolicy.cvt.L2.b64 p, access;
void decodeCreatePolicy(Decoder &d) {
  d.require(80, 74);
  int form = d.oneOf({"fractional", "range", "cvt"}, true);
  Space space = form == 1 ? d.space() : Space::Generic;
  if (form == 2)
    d.oneOf({"L2"}, true);
  else
    takePriorities(d);
  d.type({Type::B64});
  d.begin(makePolicy, Class::Other);
  d.result(0, Type::B64);
  if (form == 1) {
    takeAddress(d, 1, space, {Space::Generic, Space::Global});
    d.source(2, Type::U32);
    d.source(3, Type::U32);
  } else if (form == 2) {
    d.source(1, Type::B64);
  } else if (d.operandCount() > 1) {
    takeFraction(d, 1);
  }
}

} // namespace

void registerMemory(Families &f) {
  f["ld"] = decodeLoad;
  f["ldu"] = decodeLoadUniform;
  f["st"] = decodeStore;
  f["prefetch"] = decodePrefetch;
  f["prefetchu"] = decodePrefetchUniform;
  f["discard"] = decodeDiscard;
  f["applypriority"] = decodeApplyPriority;
  f["createpolicy"] = decodeCreatePolicy;
}

} // namespace act::runtime::sim
