// SPDX-License-Identifier: Apache-2.0
//
// The cells of Shadow.h and the checks on them. There are two ways through this
// file that must agree: access() looks at one access closely and reports, and
// the fast paths (accessLanes, readPlainly) record accesses that are certainly
// free of conflicts. Whatever a fast path is not sure of, it leaves to
// access().
#include "runtime/sim/Shadow.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

constexpr unsigned stripes = 64;

// A Manner in five bits, as cells store it. Bit 3 is set where the async proxy
// needs no proxy fence afterwards.
constexpr unsigned mannerBits = 5;
uint8_t encode(const Manner &m) {
  return uint8_t(m.strong | unsigned(m.scope) << 1 |
                 (m.async || m.anyProxy || m.object) << 3 |
                 (m.object && m.read) << 4);
}
bool isStrong(uint8_t m) { return m & 1; }
Scope scopeOf(uint8_t m) { return Scope(m >> 1 & 3); }
bool isAsync(uint8_t m) { return m >> 3 & 1; }
// An operation on an mbarrier, other than its init.
bool isObject(uint8_t m) { return m >> 4 & 1; }

// Fields of packed epochs: the agent, and its group of 32.
constexpr unsigned groupShift = tickBits + 5, ctaShift = tickBits + agentBits;
uint64_t agentOf(uint64_t epoch) { return epoch >> tickBits; }
uint64_t groupOf(uint64_t epoch) { return epoch >> groupShift; }
uint32_t laneOf(uint64_t epoch) { return agentOf(epoch) & 31; }
uint64_t ofLane(uint64_t epoch, unsigned lane) {
  return epoch + (uint64_t(lane) << tickBits);
}
// The same tick for the first agent of the group.
uint64_t ofFirst(uint64_t epoch) { return epoch & ~(uint64_t(31) << tickBits); }
uint32_t tickOf(uint64_t epoch) { return epoch & ((1u << tickBits) - 1); }

} // namespace

// Agents are handled in groups of 32, like the lanes of a warp. Groups whose
// same lanes read at the same tick by the same instruction share one Reader, if
// they are of the same aligned eight: neighbouring groups of a CTA, or the same
// group of eight neighbouring CTAs.
struct Shadow::Reader {
  uint64_t key;   // the packed epoch of the first agent of the first of the
                  // eight; the manner is stored in place of its lane
  uint32_t lanes; // of each group; 0: no reader
  uint32_t site : siteBits, ofCtas : 1, members : 8; // a bit per group

  Reader() = default;
  /// The reader for one group, given the packed epoch of any of its agents.
  Reader(uint64_t epoch, uint32_t lanes, uint32_t site, uint8_t manner)
      : key((epoch & ~(uint64_t(255) << tickBits)) | uint64_t(manner)
                                                         << tickBits),
        lanes(lanes), site(site), ofCtas(0),
        members(1u << (groupOf(epoch) & 7)) {}
  uint8_t manner() const { return key >> tickBits & 31; }
  /// The bit in `members` for an agent's group; 0: not one of the eight.
  uint32_t bitOf(uint64_t epoch) const {
    const uint64_t apart = groupOf(key ^ epoch);
    if (ofCtas)
      return apart & ~eightCtas ? 0 : 1u << (epoch >> ctaShift & 7);
    return apart & ~uint64_t(7) ? 0 : 1u << (groupOf(epoch) & 7);
  }
  bool has(uint64_t epoch) const {
    return (members & bitOf(epoch)) && lanes >> laneOf(epoch) & 1;
  }
  /// The same instruction at the same tick.
  bool isAlike(const Reader &r) const {
    constexpr uint64_t tickAndManner = (uint64_t(1) << groupShift) - 1;
    return !((key ^ r.key) & tickAndManner) && site == r.site;
  }
  /// The same groups, tick and manner.
  bool isOfGroups(const Reader &r) const {
    return key == r.key && members == r.members && ofCtas == r.ofCtas;
  }
  /// Merges r, the reader of the group of `epoch`, if possible.
  bool join(const Reader &r, uint64_t epoch) {
    return lanes == r.lanes && joinAlike(r, epoch);
  }
  /// The same for readers of equal lanes.
  [[gnu::always_inline]] bool joinAlike(const Reader &r, uint64_t epoch) {
    if (!isAlike(r))
      return false;
    const uint32_t bit = bitOf(epoch);
    members |= bit;
    return bit || joinCta(epoch);
  }
  /// Becomes r, a weak read, if r covers this reader: the same groups and at
  /// least its lanes. False when it does not, or not cheaply.
  bool replace(const Reader &r) { return replace(r, r.lanes); }
  /// The same, with `by` as the lanes of r.
  [[gnu::always_inline]] bool replace(const Reader &r, uint32_t by) {
    constexpr unsigned sameEight = groupShift + 3;
    if (lanes && (lanes & ~by || (key ^ r.key) >> sameEight ||
                  members != r.members || ofCtas))
      return false;
    *this = r;
    lanes = by;
    return true;
  }
  /// Calls of(packed epoch of the first agent) for each group until one returns
  /// false.
  template <typename Of> bool eachGroup(const Of &of) const {
    const uint64_t first = key & ~(uint64_t(31) << tickBits);
    const unsigned shift = ofCtas ? ctaShift : groupShift;
    for (uint32_t left = members; left; left &= left - 1)
      if (!of(first + (uint64_t(__builtin_ctz(left)) << shift)))
        return false;
    return true;
  }

private:
  static constexpr uint64_t eightCtas = uint64_t(7) << (ctaShift - groupShift);
  // join() of the same group of another CTA.
  bool joinCta(uint64_t epoch) {
    if (ofCtas || members & (members - 1))
      return false;
    uint64_t group = uint64_t(__builtin_ctz(members)) << groupShift;
    if (groupOf((key + group) ^ epoch) & ~eightCtas)
      return false;
    members = 1u << (key >> ctaShift & 7) | 1u << (epoch >> ctaShift & 7);
    key = (key + group) & ~(uint64_t(7) << ctaShift);
    ofCtas = 1;
    return true;
  }
};

// How a cell was last written.
struct Shadow::Writer {
  uint32_t site : siteBits, manner : mannerBits;
};

// Two per cache line, since every access of every lane reads some.
struct alignas(32) Shadow::Cell {
  uint64_t write; // packed epoch, 0: never written in this launch
  Reader reader;  // the only one; unused with a list
  Writer writer;
  uint32_t more; // index + 1 into Table::lists, or into Table::splits

  static constexpr uint32_t isSplit = 1u << 31;
  bool hasParts() const { return more & isSplit; }
  uint32_t list() const { return more & isSplit ? 0 : more; }
  uint32_t split() const { return more & isSplit ? more & ~isSplit : 0; }
  /// For a cell without a list, or with an empty one.
  void setWrite(uint64_t epoch, Writer by) {
    reader.lanes = 0;
    write = epoch;
    writer = by;
  }
};

struct Shadow::Table {
  Cell cells[stretchBytes / cellBytes] = {};
  struct Split {
    Cell parts[4];
  };
  // In blocks, so that their addresses stay valid.
  static constexpr unsigned blockShift = 6;
  std::vector<std::unique_ptr<Split[]>> splits;
  uint32_t splitCount = 0;
  std::vector<uint32_t> freeSplits;
  // Most lists are short. The first few readers need no extra allocation; three
  // of them and the count fill one cache line.
  struct alignas(64) List {
    static constexpr unsigned few = 7;
    uint32_t count = 0, oldest = 0;
    std::unique_ptr<Reader[]> more;
    Reader first[few];
    Reader &at(size_t i) { return i < few ? first[i] : more[i - few]; }
    const Reader &at(size_t i) const {
      return i < few ? first[i] : more[i - few];
    }
    void add(Reader r) {
      if (count >= maximumReaders) {
        at(oldest++ % maximumReaders) = r;
        return;
      }
      if (count == few || count == 16 || count == 32)
        grow(count == few ? 16 : count == 16 ? 32 : maximumReaders);
      at(count++) = r;
    }
    void clear() {
      more.reset();
      count = oldest = 0;
    }
    void copy(const List &from) {
      clear();
      for (size_t i = 0; i < from.count; ++i)
        add(from.at(i));
      oldest = from.oldest;
    }

  private:
    void grow(size_t readers) {
      auto larger = std::make_unique<Reader[]>(readers - few);
      std::copy_n(more.get(), count - few, larger.get());
      more = std::move(larger);
    }
  };
  std::vector<std::unique_ptr<List[]>> lists; // like splits
  uint32_t listCount = 0;
  std::vector<uint32_t> freeLists;

  Split &split(uint32_t index) {
    return splits[(index - 1) >> blockShift]
                 [(index - 1) & ((1u << blockShift) - 1)];
  }
  List &list(uint32_t index) const {
    return lists[(index - 1) >> blockShift]
                [(index - 1) & ((1u << blockShift) - 1)];
  }
  uint32_t newList() {
    if (freeLists.empty()) {
      if (listCount >> blockShift == lists.size())
        lists.push_back(std::make_unique<List[]>(1u << blockShift));
      return ++listCount;
    }
    uint32_t index = freeLists.back();
    freeLists.pop_back();
    return index;
  }
  void dropList(Cell &cell) {
    if (!cell.list())
      return;
    list(cell.more).clear();
    freeLists.push_back(cell.more);
    cell.more = 0;
  }
  void splitUp(Cell &cell) {
    uint32_t index;
    if (freeSplits.empty()) {
      if (splitCount >> blockShift == splits.size())
        splits.push_back(std::make_unique<Split[]>(1u << blockShift));
      index = ++splitCount;
    } else {
      index = freeSplits.back();
      freeSplits.pop_back();
    }
    for (Cell &part : split(index).parts) {
      part = cell;
      if (cell.list()) {
        part.more = newList();
        list(part.more).copy(list(cell.more));
      }
    }
    dropList(cell);
    cell.more = index | Cell::isSplit;
  }
  // Call it after a write of all four parts, which are then not split.
  void join(Cell &cell) {
    uint32_t index = cell.split();
    cell = split(index).parts[0];
    cell.more = 0;
    freeSplits.push_back(index);
  }
  Cell *partsOf(const Cell &cell) { return split(cell.split()).parts; }

  /// Visits the cells for bytes [begin, end) of a cell of `size` bytes at
  /// `offset`, splitting as needed; `writes` merges cells that are covered.
  template <unsigned size = cellBytes, typename Visit>
  void visit(Cell &cell, unsigned begin, unsigned end, uint64_t offset,
             bool writes, const Visit &each) {
    const bool whole = begin == 0 && end == size;
    if constexpr (size == 1) {
      each(cell, offset);
    } else {
      if (!cell.split()) {
        if (whole)
          return each(cell, offset);
        splitUp(cell);
      }
      Cell *parts = partsOf(cell);
      constexpr unsigned part = size / 4;
      for (unsigned i = begin / part, at = i * part; at < end; ++i, at += part)
        visit<part>(parts[i], std::max(begin, at) - at,
                    std::min(end, at + part) - at, offset + at, writes, each);
      if (whole && writes)
        join(cell);
    }
  }
  /// Whether `is` holds for all their cells as they are now.
  template <unsigned size = cellBytes, typename Is>
  bool all(const Cell &cell, unsigned begin, unsigned end, const Is &is) {
    if constexpr (size > 1)
      if (cell.split()) {
        const Cell *parts = partsOf(cell);
        constexpr unsigned part = size / 4;
        for (unsigned i = begin / part, at = i * part; at < end;
             ++i, at += part)
          if (!all<part>(parts[i], std::max(begin, at) - at,
                         std::min(end, at + part) - at, is))
            return false;
        return true;
      }
    return is(cell);
  }
  /// r: the reader of the group of `epoch`, which is packed.
  void addReader(Cell &cell, const Reader &r, uint64_t epoch);
  static void addToList(List &readers, Reader r, uint64_t epoch);
  void write(Cell &cell, uint64_t epoch, Writer by) {
    dropList(cell);
    cell.setWrite(epoch, by);
  }
};

// A thread's later read replaces its earlier one, unless the earlier was weak
// and the later is strong: a strong read conflicts with fewer writes.
inline void Shadow::Table::addReader(Cell &cell, const Reader &r,
                                     uint64_t epoch) {
  if (!cell.list()) {
    Reader &only = cell.reader;
    if (!only.lanes) {
      only = r;
      return;
    }
    if (only.join(r, epoch))
      return;
    if (only.members == only.bitOf(epoch)) {
      if (only.isAlike(r)) {
        only.lanes |= r.lanes;
        return;
      }
      if (!(only.lanes & ~r.lanes) &&
          (!isStrong(r.manner()) || isStrong(only.manner()))) {
        only = r;
        return;
      }
    }
    cell.more = newList();
    list(cell.more).add(only);
  }
  addToList(list(cell.more), r, epoch);
}

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

// ---- lanes of a warp at once

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
