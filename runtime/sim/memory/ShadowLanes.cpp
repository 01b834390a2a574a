// SPDX-License-Identifier: Apache-2.0
//
// The fast paths of Shadow.h: lanes of a warp at once, and plain reads of
// stretches. They record accesses that are certainly free of conflicts and
// leave all others to access(), with which they must agree (ShadowTest).
#include "runtime/sim/memory/ShadowCells.h"

namespace act::runtime::sim {

// The fast check of some lanes: what they all know without a closer look. It
// suffices for most accesses.
struct Shadow::Sure {
  explicit Sure(WarpObserver &by)
      : by(by), self(pack(by.self)),
        reader(self, 0, by.site, encode(by.manner)),
        writer{by.site, reader.manner()}, ownFirst(!by.manner.deferred) {}
  WarpObserver &by;
  uint64_t self; // of lane 0
  Reader reader; // of no lanes yet
  Writer writer;
  // Only a thread's own accesses are ordered among themselves; those of an
  // asynchronous agent are not.
  bool ownFirst;
  // Neighbouring cells are mostly alike. The last write that was found known,
  // its group with a tick known of all its agents, and readers that were found
  // known, by their groups.
  uint64_t knownWrite = 0, knownGroup = 0;
  uint32_t knownTick = 0;
  Reader knownReaders[4] = {};

  bool knows(uint64_t epoch, uint32_t agents) {
    KnownTicks::Entry &of = by.known->at(groupOf(epoch), agents);
    if (of.group != groupOf(epoch) || of.agents != agents)
      of = {groupOf(epoch), agents,
            by.knownTick(unpack(ofFirst(epoch)), agents)};
    return tickOf(epoch) <= of.tick;
  }
  // `lanes`: those that access the cell.
  bool afterWrite(const Cell &cell, uint32_t lanes) {
    return cell.write == knownWrite ||
           (groupOf(cell.write) == knownGroup &&
            tickOf(cell.write) <= knownTick) ||
           looksKnown(cell.write) || isOwn(cell, lanes);
  }
  bool looksKnown(uint64_t write) {
    if (knows(write, ~0u)) {
      knownGroup = groupOf(write);
      knownTick = tickOf(write);
    } else if (!knows(write, 1u << laneOf(write))) {
      return false;
    }
    knownWrite = write;
    return true;
  }
  bool isOwn(const Cell &cell, uint32_t lanes) const {
    return ownFirst && groupOf(cell.write) == groupOf(self) &&
           lanes == 1u << laneOf(cell.write);
  }
  bool afterReader(const Reader &r, uint32_t lanes) {
    Reader &last = knownReaders[r.members % 4];
    return !r.lanes || (last.isOfGroups(r) && !(r.lanes & ~last.lanes)) ||
           looksAfter(r, last, lanes);
  }
  [[gnu::noinline]] bool looksAfter(const Reader &r, Reader &last,
                                    uint32_t lanes) {
    bool isKnown = true, isWholly = true; // whatever its lanes
    const bool after = r.eachGroup([&](uint64_t first) {
      const bool wholly = knows(first, ~0u),
                 some = wholly || knows(first, r.lanes);
      isWholly &= wholly;
      isKnown &= some;
      return some || (ownFirst && groupOf(first) == groupOf(self) &&
                      !(r.lanes & ~lanes));
    });
    if (after && isKnown) {
      last = r;
      last.lanes |= isWholly ? ~0u : 0;
    }
    return after;
  }
  // Whether the lane may write the cell. `lane`: a mask of one bit.
  [[gnu::always_inline]] bool afterAll(const Table &table, const Cell &cell,
                                       uint32_t lane) {
    if (!afterWrite(cell, lane))
      return false;
    if (!cell.list())
      return afterReader(cell.reader, lane);
    const Table::List &readers = table.list(cell.more);
    for (size_t i = 0; i < readers.count; ++i)
      if (!afterReader(readers.at(i), lane))
        return false;
    return true;
  }
};

/// Looks at all cells before it records anything: what it is not sure of must
/// be judged as if it had not been here.
bool Shadow::accessSurely(Table &table, Sure &sure, uint64_t offset,
                          unsigned bytes, uint32_t lanes) {
  const bool write = sure.by.manner.write;
  if (write && (lanes & (lanes - 1)))
    return false;
  if (!write && !defined.all(offset, bytes))
    return false;
  auto mayGo = [&](const Cell &cell) {
    return write ? sure.afterAll(table, cell, lanes)
                 : sure.afterWrite(cell, lanes);
  };
  Reader reader = sure.reader;
  reader.lanes = lanes;
  auto go = [&](Cell &cell, uint64_t) {
    if (!write)
      return table.addReader(cell, reader, sure.self);
    table.write(cell, ofLane(sure.self, unsigned(__builtin_ctz(lanes))),
                sure.writer);
  };
  // At most two cells, since offsets are multiples of the size.
  Cell *const cells = table.cells + offset % stretchBytes / cellBytes;
  const unsigned begin = offset % cellBytes,
                 count = (begin + bytes + cellBytes - 1) / cellBytes;
  const unsigned end = std::min<unsigned>(cellBytes, begin + bytes);
  for (unsigned i = 0; i < count; ++i)
    if (!table.all(cells[i], begin, end, mayGo))
      return false;
  if (write)
    defined.define(offset, bytes);
  for (unsigned i = 0; i < count; ++i)
    table.visit(cells[i], begin, end, offset - begin + i * cellBytes, write,
                go);
  return true;
}

// Does accessSurely() for lanes that access whole cells, until one leaves the
// stretch of the table. Removes those lanes from `lanes`; returns the unsure.
template <bool write>
uint32_t Shadow::accessCells(Table &table, Sure &sure, const uint64_t *offsets,
                             uint32_t &lanes) {
  uint32_t left = lanes, unsure = 0;
  uint64_t offset = offsets[__builtin_ctz(left)];
  const uint64_t inStretch = offset;
  for (;;) {
    const unsigned lane = unsigned(__builtin_ctz(left));
    uint32_t same = left & -left;
    left &= left - 1;
    uint64_t next = offset; // the offset of the next lane
    while (left && (next = offsets[__builtin_ctz(left)]) == offset) {
      same |= left & -left;
      left &= left - 1;
    }
    Cell &cell = table.cells[offset % stretchBytes / cellBytes];
    bool isSure;
    if (cell.hasParts()) {
      isSure = accessSurely(table, sure, offset, cellBytes, same);
    } else if constexpr (!write) {
      isSure = defined.holdsCell(offset) && sure.afterWrite(cell, same);
      if (isSure &&
          (cell.more || !(cell.reader.replace(sure.reader, same) ||
                          (cell.reader.lanes == same &&
                           cell.reader.joinAlike(sure.reader, sure.self))))) {
        Reader r = sure.reader;
        r.lanes = same;
        table.addReader(cell, r, sure.self);
      }
    } else {
      isSure = !(same & (same - 1)) && sure.afterAll(table, cell, same);
      if (isSure) {
        defined.defineCell(offset);
        // A cell that is read and written in turn keeps its list allocated.
        if (cell.more)
          table.list(cell.more).clear();
        cell.setWrite(ofLane(sure.self, lane), sure.writer);
      }
    }
    if (!isSure)
      unsure |= same;
    if (!left || (next ^ inStretch) >= stretchBytes)
      break;
    offset = next;
  }
  lanes = left;
  return unsure;
}

/// Neighbouring lanes mostly access one stretch, so its lock and table are
/// taken once for all of them.
uint32_t Shadow::accessLanes(WarpObserver &by, const uint64_t *offsets,
                             uint32_t lanes, unsigned bytes) {
  if (by.manner.write)
    changed();
  Sure sure(by);
  uint32_t unsure = 0;
  while (lanes) {
    const uint64_t offset = offsets[__builtin_ctz(lanes)];
    auto lock = lockOf(offset);
    auto &table = tables[offset / stretchBytes];
    if (!table)
      table = std::make_unique<Table>();
    if (bytes == cellBytes) {
      unsure |= by.manner.write
                    ? accessCells<true>(*table, sure, offsets, lanes)
                    : accessCells<false>(*table, sure, offsets, lanes);
      continue;
    }
    for (uint64_t at = offset; at / stretchBytes == offset / stretchBytes;) {
      uint32_t same = 0;
      do {
        same |= lanes & -lanes;
        lanes &= lanes - 1;
      } while (lanes && offsets[__builtin_ctz(lanes)] == at);
      if (!accessSurely(*table, sure, at, bytes, same))
        unsure |= same;
      if (!lanes)
        break;
      at = offsets[__builtin_ctz(lanes)];
    }
  }
  return unsure;
}

bool Shadow::readPlainly(const Observer &by, uint32_t agents,
                         const std::vector<Stretch> &stretches,
                         std::vector<Stretch> &unsure) {
  if (locks) {
    unsure.insert(unsure.end(), stretches.begin(), stretches.end());
    return false;
  }
  bool heardAll = true;
  // Caches. Threads and their cp.async are many at one tick: keep the known
  // tick per group, and whether its writes are by the generic proxy. For other
  // agents keep only the last write that was found known.
  struct Heard {
    uint64_t group = ~uint64_t(0);
    uint32_t tick = 0;
    bool generic = false;
  } groups[8], last;
  uint64_t knownWrite = 0;
  uint8_t knownManner = 0;
  auto generic = [](const Cell &cell) {
    return !isAsync(cell.writer.manner) || isObject(cell.writer.manner);
  };
  auto knows = [&](const Cell &cell) {
    const uint64_t write = cell.write;
    if (!write || (write == knownWrite && cell.writer.manner == knownManner))
      return true;
    const bool needsProxy = generic(cell);
    Heard &of = groups[groupOf(write) % 8];
    if (of.group != groupOf(write) || of.generic != needsProxy)
      of = {groupOf(write), by.heardTick(unpack(ofFirst(write)), needsProxy),
            needsProxy};
    if (tickOf(write) <= of.tick) {
      last = of;
      return true;
    }
    const Epoch e = unpack(write);
    if (!by.heard(e, needsProxy) && !by.heard(e, true)) {
      heardAll = false;
      if (!by.ordered(e, needsProxy) && !by.ordered(e, true))
        return false;
    }
    knownWrite = write;
    knownManner = cell.writer.manner;
    return true;
  };
  const uint64_t self = pack(by.self);
  const Reader reader(self, agents, by.site, encode(by.manner));
  auto read = [&](Table &table, Cell &cell, uint64_t at) {
    if (!table.all(cell, 0, cellBytes, knows))
      return false;
    table.visit(cell, 0, cellBytes, at, false, [&](Cell &part, uint64_t) {
      table.addReader(part, reader, self);
    });
    return true;
  };
  // Nearly all cells resemble the one before: written by the same group or the
  // same copy, and last read by the current reader.
  auto isLikeLast = [&](Cell &cell) {
    if (cell.more)
      return false;
    const bool known =
        groupOf(cell.write) == last.group
            ? tickOf(cell.write) <= last.tick && generic(cell) == last.generic
            : cell.write == knownWrite && cell.writer.manner == knownManner;
    return known && cell.reader.replace(reader);
  };
  const bool allDefined =
      !stretches.empty() &&
      defined.all(stretches.front().first,
                  stretches.back().second - stretches.front().first);
  const size_t before = unsure.size();
  for (auto stretch : stretches) {
    const auto [from, to] = stretch;
    bool plain = !((from | to) % cellBytes) &&
                 (allDefined || defined.all(from, to - from));
    for (uint64_t at = from; plain && at < to;) {
      auto &table = tables[at / stretchBytes];
      if (!table)
        table = std::make_unique<Table>();
      Cell *cell = table->cells + at % stretchBytes / cellBytes;
      const uint64_t end =
          std::min<uint64_t>(to, (at / stretchBytes + 1) * stretchBytes);
      for (; plain && at < end; at += cellBytes, ++cell)
        plain = isLikeLast(*cell) || read(*table, *cell, at);
    }
    if (!plain)
      unsure.push_back(stretch);
  }
  return heardAll && unsure.size() == before;
}

} // namespace act::runtime::sim
