// SPDX-License-Identifier: Apache-2.0
//
// ld, ldu, st, prefetch, prefetchu, discard, applypriority, createpolicy.
//
// Slots of ld: address base, then results. Of st: address base, then values.
#include "runtime/sim/Machine.h"
#include "runtime/sim/MemoryOrder.h"
#include "runtime/sim/Sectors.h"
#include "runtime/sim/decode/AddressLanes.h"
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/decode/FrameLayout.h"
#include "runtime/sim/decode/Lanes.h"
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Transfer {
  /// Moves the elements of all lanes; null where one by one is the only way.
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

// All lanes at once; Memory and Register: an element there.
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

/// For elements whose registers are all of a kind; null for others.
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

Step load(Context &c, const Instruction &i) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  uint64_t addresses[32];
  t.address.lanes(c, addresses);
  unsigned total = t.bytes * t.count;
  Context::Lanes all;
  if (t.move && t.order == Order::Weak &&
      c.resolveLanes(t.address.space, addresses, total, false, all)) {
    c.judgeLanes(i, all, addresses, total, {false, true});
    t.move(c, i, t.count, all);
    Sectors::count(*c.warp.counters, *all.region, all.offsets, c.mask, total,
                   false);
    defineAll(c, i, t.count);
    return Step::Next;
  }
  Sectors sectors;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    std::byte buffer[64] = {};
    Context::Target from = c.resolve(i, lane, t.address.space, addresses[lane],
                                     total, total, false);
    if (from.data) {
      if (t.order == Order::Weak) {
        c.judge(i, lane, from, addresses[lane], total, {false, true});
        std::memcpy(buffer, from.data, total);
      } else {
        loadOrdered(c, i, lane, from, addresses[lane], buffer, total, t.order,
                    t.scope);
      }
      sectors.add(from, addresses[lane], total);
    }
    for (unsigned k = 0; k < t.count; ++k)
      put(c, i.slots[1 + k], t.registerBytes[k], lane, buffer + k * t.bytes,
          t.bytes, t.isSigned);
  }
  sectors.count(*c.warp.counters, false);
  defineAll(c, i, t.count);
  return Step::Next;
}

// What a lane of st writes.
void gather(const Context &c, const Instruction &i, unsigned lane,
            std::byte (&buffer)[64]) {
  const Transfer &t = *static_cast<const Transfer *>(i.data);
  for (unsigned k = 0; k < t.count; ++k)
    get(c, i.slots[1 + k], t.registerBytes[k], lane, buffer + k * t.bytes,
        t.bytes);
}

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

// Cache and eviction words change no value.
void takeHints(Decoder &d, bool isStore) {
  for (const char *word : {"ca", "cg", "cs", "lu", "cv", "wb", "wt"})
    d.take(word);
  for (const char *level : {"L1::", "L2::"})
    for (const char *word : {"evict_normal", "evict_unchanged", "evict_first",
                             "evict_last", "no_allocate"})
      if (d.take((std::string(level) + word).c_str()))
        d.require(level[1] == '1' ? 70 : 100, 74);
  for (const char *word : {"L2::64B", "L2::128B", "L2::256B"})
    if (d.take(word))
      d.require(80, 74);
}

// {.weak, .volatile, .relaxed.scope, .acquire.scope, .release.scope, .mmio}
Order takeOrder(Decoder &d, Scope &scope) {
  static const std::pair<const char *, Order> words[] = {
      {"weak", Order::Weak},
      {"volatile", Order::Relaxed},
      {"relaxed", Order::Relaxed},
      {"acquire", Order::Acquire},
      {"release", Order::Release}};
  scope = Scope::System;
  d.take("mmio");
  for (auto &[word, order] : words)
    if (d.take(word)) {
      if (order != Order::Weak && std::string(word) != "volatile")
        scope = d.scope(Scope::System);
      return order;
    }
  return Order::Weak;
}

void decodeTransfer(Decoder &d, bool isStore) {
  Transfer t;
  t.order = takeOrder(d, t.scope);
  if ((isStore && t.order == Order::Acquire) ||
      (!isStore && t.order == Order::Release))
    return d.fail("'" + d.tree().spelling() + "' has an order that only " +
                  (isStore ? "loads" : "stores") + " have");
  Space space = d.space();
  takeHints(d, isStore);
  bool hint = d.take("L2::cache_hint");
  if (hint)
    d.require(80, 74);
  d.take("nc");
  d.take("unified");
  t.count = d.vector();
  Type type = d.type();
  t.bytes = ptx::bytesOf(type);
  t.isSigned = type == Type::S8 || type == Type::S16 || type == Type::S32;
  if (!t.bytes || t.bytes * t.count > 32)
    return d.fail("'" + d.tree().spelling() + "' moves no such size");
  if (t.bytes * t.count == 32)
    d.require(100, 88);
  if (type == Type::B128)
    d.require(70, 83);
  d.begin(isStore ? store : load, isStore ? Class::Store : Class::Load,
          flagStrictReads | flagDefinesItself);
  size_t addressAt = isStore ? 0 : 1, valueAt = isStore ? 1 : 0;
  AddressOperand a = d.address(addressAt);
  t.address = Address(d, a, space);
  d.pushSlot(a.slot);
  const Operand &value = d.operand(valueAt);
  if ((value.kind == Operand::Vector ? value.elements.size() : 1) != t.count)
    return d.fail("'" + d.tree().spelling() + "' moves " +
                  std::to_string(t.count) + " elements");
  for (unsigned k = 0; k < t.count; ++k) {
    const Operand &o =
        value.kind == Operand::Vector ? value.elements[k] : value;
    if (isStore)
      d.source(o, type, true);
    else
      d.result(o, type, true);
    t.registerBytes[k] =
        uint8_t(o.kind == Operand::Reg ? d.registerBytes(o) : slotBytes(type));
  }
  if (hint)
    d.source(2, Type::B64);
  t.move = moverOf(t, isStore);
  d.current().data = d.keep(t);
}

void decodeLoad(Decoder &d) { decodeTransfer(d, false); }
void decodeStore(Decoder &d) { decodeTransfer(d, true); }

Step nothing(Context &, const Instruction &) { return Step::Next; }

// prefetch{.space}.level [a]; the tensor map's form too. Nothing to do, but the
// address must be one.
void decodePrefetch(Decoder &d) {
  d.space();
  if (d.take("tensormap"))
    d.require(90, 80);
  else
    d.oneOf({"L1", "L2", "L2::evict_last", "L2::evict_normal"}, true);
  d.begin(nothing, Class::Other);
  d.address(0);
}

void decodePrefetchUniform(Decoder &d) {
  d.oneOf({"L1"}, true);
  d.begin(nothing, Class::Other);
  d.address(0);
}

// discard.global.L2 [a], 128;  applypriority.global.L2::evict_normal [a], 128
void decodeHint(Decoder &d) {
  d.require(80, 74);
  d.space();
  d.oneOf({"L2", "L2::evict_normal"}, true);
  d.begin(nothing, Class::Other);
  d.address(0);
  if (d.immediate(1) != 128)
    d.fail("'" + d.tree().spelling() + "' takes 128 bytes");
}

Step makePolicy(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      c.lanes<uint64_t>(i.slots[0])[lane] = 1; // opaque: no cache is modelled
  return Step::Next;
}

void decodeCreatePolicy(Decoder &d) {
  d.require(80, 74);
  bool fractional = d.take("fractional"), range = d.take("range"),
       convert = d.take("cvt");
  if (fractional + range + convert != 1)
    return d.fail("'createpolicy' needs .fractional, .range or .cvt");
  d.take("global");
  for (int k = 0; k < 2; ++k)
    d.oneOf({"L2::evict_last", "L2::evict_normal", "L2::evict_first",
             "L2::evict_unchanged", "L2"});
  d.type({Type::B64});
  d.begin(makePolicy, Class::Other);
  d.result(0, Type::B64);
  if (range) {
    d.address(1);
    d.source(2, Type::B32);
    d.source(3, Type::B32);
  } else if (convert) {
    d.source(1, Type::B64);
  } else if (d.operandCount() > 1) {
    d.source(1, Type::F32);
  }
}

} // namespace

void registerMemory(Families &f) {
  f["ld"] = decodeLoad;
  f["ldu"] = decodeLoad;
  f["st"] = decodeStore;
  f["prefetch"] = decodePrefetch;
  f["prefetchu"] = decodePrefetchUniform;
  f["discard"] = decodeHint;
  f["applypriority"] = decodeHint;
  f["createpolicy"] = decodeCreatePolicy;
}

} // namespace act::runtime::sim
