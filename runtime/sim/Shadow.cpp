// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/Shadow.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

constexpr unsigned stripes = 64;

// A Manner in a byte, as cells keep it.
uint8_t encode(const Manner &m) {
  return uint8_t(m.strong | unsigned(m.scope) << 1 | m.async << 3 |
                 m.write << 4);
}
bool isStrong(uint8_t m) { return m & 1; }
Scope scopeOf(uint8_t m) { return Scope(m >> 1 & 3); }
bool isAsync(uint8_t m) { return m >> 3 & 1; }

} // namespace

struct Shadow::Reader {
  uint64_t epoch;
  uint32_t site;
  uint8_t manner;
};

struct Shadow::Cell {
  uint64_t write; // packed epoch, 0: never written in this launch
  uint64_t read;  // packed epoch of the only reader; unused with a list
  uint32_t writeSite, readSite;
  uint8_t writeManner, readManner;
  uint32_t list;  // index + 1 into Table::lists
  uint32_t split; // index + 1 into Table::splits
};

struct Shadow::Table {
  Cell cells[stretchBytes / 4] = {};
  struct Split {
    Cell bytes[4];
  };
  std::vector<Split> splits;
  std::vector<uint32_t> freeSplits;
  struct List {
    std::vector<Reader> readers;
    size_t oldest = 0;
  };
  std::vector<List> lists;
  std::vector<uint32_t> freeLists;

  uint32_t newList() {
    if (freeLists.empty()) {
      lists.emplace_back();
      return lists.size();
    }
    uint32_t index = freeLists.back();
    freeLists.pop_back();
    return index;
  }
  void dropList(Cell &cell) {
    if (!cell.list)
      return;
    lists[cell.list - 1].readers.clear();
    lists[cell.list - 1].oldest = 0;
    freeLists.push_back(cell.list);
    cell.list = 0;
  }
  void splitUp(Cell &cell) {
    uint32_t index;
    if (freeSplits.empty()) {
      splits.emplace_back();
      index = splits.size();
    } else {
      index = freeSplits.back();
      freeSplits.pop_back();
    }
    for (Cell &part : splits[index - 1].bytes) {
      part = cell;
      if (cell.list) {
        uint32_t list = newList();
        lists[list - 1] = lists[cell.list - 1];
        part.list = list;
      }
    }
    dropList(cell);
    cell.split = index;
  }
  void addReader(Cell &cell, Reader r);
};

void Shadow::Table::addReader(Cell &cell, Reader r) {
  // The same thread: its later read stands for the earlier, unless that was
  // weak and this one is not.
  auto replaces = [&](uint64_t epoch, uint8_t manner) {
    return epoch >> tickBits == r.epoch >> tickBits &&
           (isStrong(manner) || !isStrong(r.manner));
  };
  if (!cell.list) {
    if (!cell.read || replaces(cell.read, cell.readManner)) {
      cell.read = r.epoch;
      cell.readSite = r.site;
      cell.readManner = r.manner;
      return;
    }
    cell.list = newList();
    lists[cell.list - 1].readers.push_back(
        {cell.read, cell.readSite, cell.readManner});
    cell.read = 0;
  }
  List &list = lists[cell.list - 1];
  for (Reader &other : list.readers)
    if (replaces(other.epoch, other.manner)) {
      other = r;
      return;
    }
  if (list.readers.size() < maximumReaders)
    list.readers.push_back(r);
  else
    list.readers[list.oldest++ % maximumReaders] = r;
}

void Shadow::judge(Table &table, Cell &cell, const Observer &by,
                   uint64_t offset, Conflict &conflict) {
  const Manner &m = by.manner;
  auto race = [&](uint64_t epoch, uint32_t site, uint8_t manner, bool wrote) {
    if (conflict.kind != Conflict::None)
      return;
    Epoch e = unpack(epoch);
    bool needsProxy = wrote && m.async && !isAsync(manner);
    if (by.ordered(e, needsProxy))
      return;
    if (m.strong && isStrong(manner) && by.inScope(e.cta, scopeOf(manner)))
      return;
    conflict.kind = needsProxy && by.ordered(e, false)
                        ? Conflict::MissingProxyFence
                        : Conflict::Race;
    conflict.offset = offset;
    conflict.other = e;
    conflict.otherSite = site;
    conflict.otherWrote = wrote;
  };
  if (cell.write)
    race(cell.write, cell.writeSite, cell.writeManner, true);
  uint64_t self = pack(by.self);
  if (!m.write) {
    table.addReader(cell, {self, by.site, encode(m)});
    return;
  }
  if (cell.list) {
    for (const Reader &r : table.lists[cell.list - 1].readers)
      race(r.epoch, r.site, r.manner, false);
    table.dropList(cell);
  } else if (cell.read) {
    race(cell.read, cell.readSite, cell.readManner, false);
  }
  cell.read = 0;
  cell.write = self;
  cell.writeSite = by.site;
  cell.writeManner = encode(m);
}

Shadow::Shadow(uint64_t bytes, bool concurrent)
    : tables((bytes + stretchBytes - 1) / stretchBytes),
      initialised((bytes + 63) / 64) {
  if (concurrent)
    locks = std::make_unique<std::mutex[]>(stripes);
}

Shadow::~Shadow() = default;

void Shadow::accessStretch(const Observer &by, uint64_t offset, uint64_t bytes,
                           Conflict &conflict) {
  uint64_t index = offset / stretchBytes;
  std::unique_lock<std::mutex> lock;
  if (locks)
    lock = std::unique_lock(locks[index % stripes]);
  if (by.manner.read && conflict.kind == Conflict::None &&
      !isInitialised(offset, bytes)) {
    conflict.kind = Conflict::Uninitialised;
    conflict.offset = offset;
    while (isInitialised(conflict.offset, 1))
      ++conflict.offset;
  }
  if (by.manner.write)
    setInitialised(offset, bytes, true);
  if (!tables[index])
    tables[index] = std::make_unique<Table>();
  Table &table = *tables[index];
  uint64_t end = offset + bytes;
  for (uint64_t at = offset; at < end;) {
    uint64_t next = std::min(end, (at | 3) + 1);
    Cell &cell = table.cells[at % stretchBytes / 4];
    bool whole = next - at == 4;
    if (!whole && !cell.split)
      table.splitUp(cell);
    if (!cell.split) {
      judge(table, cell, by, at, conflict);
    } else {
      uint32_t split = cell.split;
      for (uint64_t b = at; b < next; ++b)
        judge(table, table.splits[split - 1].bytes[b % 4], by, b, conflict);
      // A write of all four makes them one again.
      if (whole && by.manner.write) {
        cell = table.splits[split - 1].bytes[0];
        cell.split = 0;
        table.freeSplits.push_back(split);
      }
    }
    at = next;
  }
}

Conflict Shadow::access(const Observer &by, uint64_t offset, uint64_t bytes) {
  Conflict conflict;
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t next = std::min(end, (offset / stretchBytes + 1) * stretchBytes);
    accessStretch(by, offset, next - offset, conflict);
    offset = next;
  }
  return conflict;
}

void Shadow::forgetAccesses() {
  for (auto &table : tables)
    table.reset();
}

void Shadow::reset() {
  forgetAccesses();
  std::fill(initialised.begin(), initialised.end(), 0);
}

void Shadow::setInitialised(uint64_t offset, uint64_t bytes, bool value) {
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    uint64_t count = std::min<uint64_t>(64 - at % 64, end - at);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1)
                    << at % 64;
    uint64_t &word = initialised[at / 64];
    word = value ? word | mask : word & ~mask;
    at += count;
  }
}

bool Shadow::isInitialised(uint64_t offset, uint64_t bytes) const {
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    uint64_t count = std::min<uint64_t>(64 - at % 64, end - at);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1)
                    << at % 64;
    if ((initialised[at / 64] & mask) != mask)
      return false;
    at += count;
  }
  return true;
}

} // namespace act::runtime::sim
