// SPDX-License-Identifier: Apache-2.0
//
// access() of Shadow.h: looks at one access closely and says what conflicts.
#include "runtime/sim/memory/ShadowCells.h"

namespace act::runtime::sim {

// Of locks, where host threads share a Shadow.
static constexpr unsigned stripes = 64;

void Shadow::Table::addToList(List &readers, Reader r, uint64_t epoch) {
  Reader *place = nullptr;
  for (size_t i = 0; i < readers.count; ++i) {
    Reader &other = readers.at(i);
    if (!other.lanes) {
      place = &other;
      continue;
    }
    const uint32_t bit = other.bitOf(epoch);
    if (!(other.members & bit) ||
        (isStrong(r.manner()) && !isStrong(other.manner())))
      continue;
    if (other.members == bit && other.isAlike(r))
      r.lanes |= other.lanes;
    if (!(other.lanes & ~r.lanes))
      other.members &= ~bit;
    else if (other.members == bit)
      other.lanes &= ~r.lanes;
    // Else both reads stay in the list, which does no harm.
    if (!other.members) {
      other.lanes = 0;
      place = &other;
    }
  }
  for (size_t i = 0; i < readers.count; ++i)
    if (readers.at(i).join(r, epoch))
      return;
  if (place)
    *place = r;
  else
    readers.add(r);
}

/// Compares an access to one cell with the last write and, if it writes, with
/// all reads since. Then records it. A write makes the reads before it
/// irrelevant: whoever is ordered after the write is ordered after those, or
/// they raced with it.
void Shadow::judge(Table &table, Cell &cell, const Observer &by,
                   uint64_t offset, Conflict &conflict) {
  const Manner &m = by.manner;
  auto race = [&](uint64_t epoch, uint32_t site, uint8_t manner, bool wrote) {
    if (conflict.kind >= Conflict::Race)
      return;
    Epoch e = unpack(epoch);
    // All proxies see an mbarrier. Data that reuses its bytes needs a fence,
    // except where it was only initialised: Triton does that, and it works.
    bool needsProxy =
        wrote && m.async && !m.object && (!isAsync(manner) || isObject(manner));
    // A fence.proxy.async::generic orders only for the async proxy, so its
    // effect is found in what is known with a fence.
    if (by.ordered(e, needsProxy) ||
        (m.async && !needsProxy && by.ordered(e, true)))
      return;
    if (m.strong && isStrong(manner) && by.inScope(e.cta, scopeOf(manner)))
      return;
    Conflict::Kind kind =
        needsProxy && by.ordered(e, false)
            ? Conflict::MissingProxyFence
            : by.weigh({e, site, wrote, isStrong(manner), isAsync(manner)});
    if (kind == Conflict::HeldToo)
      conflict.readers.push_back(e);
    if (kind <= conflict.kind)
      return;
    conflict.kind = kind;
    conflict.offset = offset;
    conflict.other = e;
    conflict.otherSite = site;
    conflict.otherWrote = wrote;
    conflict.otherAsync = isAsync(manner);
  };
  if (cell.write)
    race(cell.write, cell.writer.site, cell.writer.manner, true);
  uint64_t self = pack(by.self);
  if (!m.write) {
    table.addReader(cell, {self, 1u << laneOf(self), by.site, encode(m)}, self);
    return;
  }
  auto raceWithReader = [&](const Reader &r) {
    // If the writer is one of the readers, its warp's lanes do not race with
    // it: one load serves all its lanes before the store. Triton loads with all
    // lanes and writes back with one.
    const bool own = r.has(self);
    r.eachGroup([&](uint64_t first) {
      if (!own || groupOf(first) != groupOf(self))
        for (uint32_t lanes = r.lanes; lanes; lanes &= lanes - 1)
          race(ofLane(first, __builtin_ctz(lanes)), r.site, r.manner(), false);
      return true;
    });
  };
  if (cell.list()) {
    const Table::List &readers = table.list(cell.more);
    for (size_t i = 0; i < readers.count; ++i)
      raceWithReader(readers.at(i));
  } else {
    raceWithReader(cell.reader);
  }
  table.write(cell, self, {by.site, encode(m)});
}

Shadow::Shadow(uint64_t bytes, bool concurrent)
    : tables((bytes + stretchBytes - 1) / stretchBytes), defined(bytes) {
  if (concurrent)
    locks = std::make_unique<std::mutex[]>(stripes);
}

Shadow::~Shadow() = default;

std::unique_lock<std::mutex> Shadow::lockOf(uint64_t offset) const {
  return locks ? std::unique_lock(locks[offset / stretchBytes % stripes])
               : std::unique_lock<std::mutex>();
}

/// Handles the undefined bytes in [offset, offset + bytes), a part of an access
/// that begins at `first`.
void Shadow::judgeDefined(const Observer &by, uint64_t first, uint64_t offset,
                          uint64_t bytes, Conflict &conflict) {
  uint32_t undefined = 0;
  if (offset + bytes - first > 32) {
    undefined = ~0u;
  } else {
    for (uint64_t i = offset; i < offset + bytes; ++i)
      undefined |= uint32_t(!defined.all(i, 1)) << (i - first);
  }
  const uint32_t all = ~0u >> (32 - std::min<uint64_t>(bytes, 32));
  if (by.manner.passes ||
      (by.manner.partly && undefined != all << (offset - first))) {
    conflict.undefined |= undefined;
  } else if (conflict.kind < Conflict::Race) {
    conflict.kind = Conflict::Uninitialised;
    conflict.offset = defined.undefined(offset, bytes).front().offset;
  }
}

/// A part of an access that lies in one stretch, and so under one lock.
void Shadow::accessStretch(const Observer &by, uint64_t first, uint64_t offset,
                           uint64_t bytes, Conflict &conflict) {
  if (by.manner.write)
    changed();
  uint64_t index = offset / stretchBytes;
  std::unique_lock<std::mutex> lock = lockOf(offset);
  if (by.manner.read && !defined.all(offset, bytes))
    judgeDefined(by, first, offset, bytes, conflict);
  if (by.manner.write && !(by.manner.read && by.manner.passes))
    defined.define(offset, bytes);
  if (!tables[index])
    tables[index] = std::make_unique<Table>();
  Table &table = *tables[index];
  uint64_t end = offset + bytes;
  for (uint64_t at = offset; at < end;) {
    uint64_t first = at / cellBytes * cellBytes,
             next = std::min(end, first + cellBytes);
    table.visit(table.cells[at % stretchBytes / cellBytes],
                unsigned(at - first), unsigned(next - first), first,
                by.manner.write, [&](Cell &cell, uint64_t where) {
                  judge(table, cell, by, where, conflict);
                });
    at = next;
  }
}

template <typename Run>
void Shadow::byStretch(uint64_t offset, uint64_t bytes, const Run &run) const {
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t next = std::min(end, (offset / stretchBytes + 1) * stretchBytes);
    run(offset, next - offset);
    offset = next;
  }
}

Conflict Shadow::access(const Observer &by, uint64_t first, uint64_t bytes) {
  Conflict conflict;
  byStretch(first, bytes, [&](uint64_t offset, uint64_t count) {
    accessStretch(by, first, offset, count, conflict);
  });
  return conflict;
}

void Shadow::forgetAccesses() {
  changed();
  for (auto &table : tables)
    table.reset();
}

void Shadow::reset() {
  forgetAccesses();
  defined.reset();
}

void Shadow::define(uint64_t offset, uint64_t bytes) {
  byStretch(offset, bytes, [&](uint64_t at, uint64_t count) {
    auto lock = lockOf(at);
    defined.define(at, count);
  });
}

void Shadow::undefine(uint64_t offset, uint64_t bytes, uint32_t store) {
  changed();
  byStretch(offset, bytes, [&](uint64_t at, uint64_t count) {
    auto lock = lockOf(at);
    defined.undefine(at, count, store);
  });
}

bool Shadow::isDefined(uint64_t offset, uint64_t bytes) const {
  bool all = true;
  byStretch(offset, bytes, [&](uint64_t at, uint64_t count) {
    auto lock = lockOf(at);
    all = all && defined.all(at, count);
  });
  return all;
}

std::vector<DefinedBytes::Part> Shadow::undefined(uint64_t offset,
                                                  uint64_t bytes) const {
  std::vector<DefinedBytes::Part> parts;
  byStretch(offset, bytes, [&](uint64_t at, uint64_t count) {
    auto lock = lockOf(at);
    for (const DefinedBytes::Part &part : defined.undefined(at, count))
      parts.push_back(part);
  });
  return parts;
}

} // namespace act::runtime::sim
