// SPDX-License-Identifier: Apache-2.0
//
// The cells that a Shadow consists of: what one holds, and how readers share an
// entry. ShadowJudge.cpp judges one access at a time, ShadowLanes.cpp the lanes
// of a warp.
#ifndef ACT_RUNTIME_SIM_MEMORY_SHADOWCELLS_H
#define ACT_RUNTIME_SIM_MEMORY_SHADOWCELLS_H
#include "runtime/sim/memory/Shadow.h"
#include <algorithm>

namespace act::runtime::sim {

// A Manner in five bits, as cells store it. Bit 3 is set where the async proxy
// needs no proxy fence afterwards.
constexpr unsigned mannerBits = 5;
inline uint8_t encode(const Manner &m) {
  return uint8_t(m.strong | unsigned(m.scope) << 1 |
                 (m.async || m.anyProxy || m.object) << 3 |
                 (m.object && m.read) << 4);
}
inline bool isStrong(uint8_t m) { return m & 1; }
inline Scope scopeOf(uint8_t m) { return Scope(m >> 1 & 3); }
inline bool isAsync(uint8_t m) { return m >> 3 & 1; }
// An operation on an mbarrier, other than its init.
inline bool isObject(uint8_t m) { return m >> 4 & 1; }

// Fields of packed epochs: the agent, and its group of 32.
constexpr unsigned groupShift = tickBits + 5, ctaShift = tickBits + agentBits;
inline uint64_t agentOf(uint64_t epoch) { return epoch >> tickBits; }
inline uint64_t groupOf(uint64_t epoch) { return epoch >> groupShift; }
inline uint32_t laneOf(uint64_t epoch) { return agentOf(epoch) & 31; }
inline uint64_t ofLane(uint64_t epoch, unsigned lane) {
  return epoch + (uint64_t(lane) << tickBits);
}
// The same tick for the first agent of the group.
inline uint64_t ofFirst(uint64_t epoch) {
  return epoch & ~(uint64_t(31) << tickBits);
}
inline uint32_t tickOf(uint64_t epoch) {
  return epoch & ((1u << tickBits) - 1);
}

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

} // namespace act::runtime::sim
#endif
