// SPDX-License-Identifier: Apache-2.0
//
// Undefined values in memory: loads of undefined bytes, and stores and copies
// of undefined values.
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/memory/Origins.h"
#include <cstring>

namespace act::runtime::sim {

uint32_t Grid::numberFor(uint32_t site, uint32_t origin,
                         const std::function<uint32_t()> &make) {
  std::lock_guard lock(numbering);
  auto [it, isNew] = numbers.try_emplace(uint64_t(site) << 32 | origin);
  if (isNew)
    it->second = make();
  return it->second;
}

std::string Context::nameOfOrigin(uint32_t origin) const {
  if (!Definedness::isSlot(origin))
    return grid.memory->origins.text(Definedness::numberOf(origin));
  std::string name = grid.program->registerAt(*frame.function, origin);
  return (name.empty() ? "a register" : name) + ", which was never written";
}

std::string Context::neverWritten(uint32_t slot, unsigned lane) const {
  uint32_t from = originOf(slot, lane);
  std::string name = grid.program->registerAt(*frame.function, slot);
  if (from == slot || name.empty())
    return nameOfOrigin(from);
  return name + ", computed from " + nameOfOrigin(from);
}

// ---- loads

namespace {

uint64_t placeOf(const Warp &w, const Context::Target &local) {
  return uint64_t(local.data - w.local);
}

bool isLocal(const Warp &w, const Context::Target &where) {
  return !where.region && w.local && where.data >= w.local &&
         where.data < w.local + 32 * localLimit;
}

/// The address as the kernel sees it, for messages.
uint64_t addressOf(const Context &c, const Context::Target &where,
                   uint64_t offset) {
  if (!where.owner)
    return reinterpret_cast<uint64_t>(where.region->data + offset);
  uint64_t rank = where.owner == &c.cta ? 0 : where.owner->rank + 1;
  return sharedWindow | rank << sharedRankShift | offset;
}

// A key for operands that read memory never written. It is no origin's number;
// it is odd so that noOrigin - 2 * operand is no slot either.
constexpr uint32_t noOrigin = ~uint32_t(0);

/// The origin of undefined bytes that `at` reads. `store`: the store that put
/// them there, 0 for none.
uint32_t originOfPart(const Context &c, const Instruction &at,
                      const Context::Target &where, uint64_t offset,
                      uint32_t store, unsigned operand = 0) {
  Origins &origins = c.grid.memory->origins;
  if (store)
    return Definedness::fromNumber(origins.store(store).origin);
  auto make = [&] {
    return origins.add("memory that was never written (such as " +
                       c.grid.describe(c.cta, addressOf(c, where, offset)) +
                       "), read by " + c.grid.program->site(at.site).str());
  };
  return Definedness::fromNumber(
      c.grid.numberFor(at.site, noOrigin - 2 * operand, make));
}

} // namespace

uint32_t Context::undefinedLocals(const Target &where, uint64_t bytes) const {
  uint32_t undefined = 0;
  if (warp.undefinedLocals.empty() || !isLocal(warp, where))
    return 0;
  for (uint64_t i = 0; i < bytes; ++i)
    undefined |= uint32_t(warp.undefinedLocals.count(placeOf(warp, where) + i))
                 << i;
  return undefined;
}

uint32_t Context::originAt(const Instruction &at, const Target &where,
                           uint64_t byte, unsigned operand) const {
  if (!where.region)
    return warp.undefinedLocals.at(placeOf(warp, where) + byte);
  auto parts = where.region->shadow->undefined(where.offset + byte, 1);
  return originOfPart(*this, at, where, where.offset + byte,
                      parts.empty() ? 0 : parts.front().store, operand);
}

// ---- stores

namespace {

/// The number (Origins.h) of the store `at`.
uint32_t storeOf(const Context &c, const Instruction &at, unsigned lane,
                 uint32_t origin, uint32_t slot) {
  return c.grid.numberFor(at.site, origin, [&] {
    Origins &origins = c.grid.memory->origins;
    std::string from = c.nameOfOrigin(origin);
    uint32_t number = Definedness::isSlot(origin)
                          ? origins.add(from)
                          : Definedness::numberOf(origin);
    std::string what = slot == noSlot ? "copies " + from
                                      : "stores " + c.neverWritten(slot, lane);
    return origins.add(
        {c.finding(FindingKind::Uninitialised, at, lane, what), number});
  });
}

} // namespace

void Context::put(const Instruction &at, unsigned lane, const Target &where,
                  uint64_t bytes, uint64_t undefined, uint32_t origin,
                  uint32_t slot) const {
  if (isLocal(warp, where)) {
    for (uint64_t i = 0; i < bytes; ++i)
      if (undefined >> i & 1)
        warp.undefinedLocals[placeOf(warp, where) + i] =
            Definedness::isSlot(origin)
                ? Definedness::fromNumber(
                      grid.memory->origins.add(nameOfOrigin(origin)))
                : origin;
      else
        warp.undefinedLocals.erase(placeOf(warp, where) + i);
    return;
  }
  if (!where.region || !where.region->shadow)
    return;
  Shadow &shadow = *where.region->shadow;
  shadow.define(where.offset, bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    if (undefined >> i & 1)
      shadow.undefine(where.offset + i, 1,
                      storeOf(*this, at, lane, origin, slot));
}

void Context::copyUndefined(const Instruction &at, unsigned lane,
                            const Target &to, const Target &from,
                            uint64_t bytes, unsigned adds) const {
  if (!to.region || !from.region || !to.region->shadow || !from.region->shadow)
    return;
  for (auto &part : from.region->shadow->undefined(from.offset, bytes)) {
    uint32_t origin = originOfPart(*this, at, from, part.offset, part.store);
    uint64_t begin = part.offset - from.offset, end = begin + part.bytes;
    if (adds) {
      begin = begin / adds * adds;
      end = alignTo(end, adds);
    }
    to.region->shadow->undefine(to.offset + begin, end - begin,
                                storeOf(*this, at, lane, origin, noSlot));
  }
}

// ---- local memory

void Warp::copyLocals(uint64_t to, uint64_t from, uint64_t bytes) {
  std::memcpy(local + to, local + from, bytes);
  if (undefinedLocals.empty())
    return;
  for (uint64_t i = 0; i < bytes; ++i) {
    auto it = undefinedLocals.find(from + i);
    if (it == undefinedLocals.end())
      undefinedLocals.erase(to + i);
    else
      undefinedLocals[to + i] = uint32_t(it->second);
  }
}

void Warp::forgetLocals(unsigned lane, uint64_t begin, uint64_t end) {
  begin += lane * localLimit;
  end += lane * localLimit;
  // Erase by key: a frame is small, while deep calls may hold many entries.
  while (begin < end)
    undefinedLocals.erase(begin++);
}

} // namespace act::runtime::sim
