// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, and the prefetch: boxes of
// tensors of one to five dimensions (TensorBox.h).
#include "runtime/sim/instructions/BulkCopies.h"
#include "runtime/sim/layout/TensorBox.h"
#include <cmath>
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr unsigned mapBytes = 128, mapAlign = 64, boxAlign = 128;

struct BoxCopy {
  unsigned rank = 1;
  Address map, from; // `from`: the source in shared memory, if out
  uint32_t coordinates[5];
  bool out = false;
  LandingOperands landing;
  std::optional<AtomicOp> reduction;
};

// The type that a reduction works in.
Type typeOf(TensorMapType t, AtomicOp op) {
  bool bits = op == AtomicOp::And || op == AtomicOp::Or || op == AtomicOp::Xor;
  switch (t) {
  case TensorMapType::U32:
    return bits ? Type::B32 : Type::U32;
  case TensorMapType::S32:
    return bits ? Type::B32 : Type::S32;
  case TensorMapType::U64:
    return bits ? Type::B64 : Type::U64;
  case TensorMapType::S64:
    return bits ? Type::B64 : Type::S64;
  case TensorMapType::F16:
    return Type::F16;
  case TensorMapType::BF16:
    return Type::BF16;
  case TensorMapType::F32:
  case TensorMapType::F32Ftz:
    return Type::F32;
  case TensorMapType::F64:
    return Type::F64;
  default:
    return Type::None;
  }
}

// The copy engine's conversion of elements on the way in. The rounding to tf32
// is undocumented; here to nearest, ties away from zero, as in cvt.rna.
uint32_t converted(TensorMapType type, uint32_t x) {
  bool ftz = type == TensorMapType::F32Ftz || type == TensorMapType::TF32Ftz;
  if (ftz && !(x & 0x7f800000))
    x &= 0x80000000;
  bool rounds = type == TensorMapType::TF32 || type == TensorMapType::TF32Ftz;
  if (rounds && (x & 0x7f800000) != 0x7f800000)
    x = (x + 0x1000) & 0xffffe000;
  return x;
}

class TensorCopy final : public BulkOperation {
public:
  TensorCopy(const TiledTensor &map, TensorBox where)
      : map(map), box(std::move(where)), places(box.rows.size()) {}
  TiledTensor map;
  TensorBox box;
  /// The first in-bounds element of each row; null: none, or reported.
  std::vector<std::byte *> places;
  Context::Target from; // out: shared memory
  std::optional<AtomicUpdate> reduction;

  /// The values of row r from its first in-bounds element on.
  const std::byte *valuesOf(size_t r) const {
    return values.data() + r * box.rowBytes() +
           uint64_t(box.rows[r].first) * box.elementBytes;
  }
  void read() override {
    // The NaN fill for out-of-bounds elements is all ones.
    values.assign(box.bytes, std::byte(map.fill ? 0xff : 0));
    if (inGroup) {
      if (from.data)
        eachChunk(from, [&](std::byte *inBox, std::byte *shared, size_t n) {
          std::memcpy(inBox, shared, n);
        });
      return;
    }
    eachRun([&](std::byte *inBox, std::byte *global, size_t n) {
      std::memcpy(inBox, global, n);
      convert(inBox, n);
    });
  }
  void write() override {
    if (inGroup)
      return eachRun([&](std::byte *inBox, std::byte *global, size_t n) {
        if (reduction)
          reduce(*reduction, global, inBox, n / box.elementBytes);
        else
          std::memcpy(global, inBox, n);
      });
    for (const Landing &l : landings)
      if (l.to.data)
        eachChunk(l.to, [&](std::byte *inBox, std::byte *shared, size_t n) {
          std::memcpy(shared, inBox, n);
        });
  }

  /// Calls run(place in global memory, offset in the shared region, bytes) for
  /// pieces contiguous in both. `shared`: where the box is.
  template <typename Run>
  void eachPair(const Context::Target &shared, const Run &run) {
    values.resize(box.bytes);
    eachRun([&](std::byte *inBox, std::byte *global, size_t n) {
      uint64_t first = uint64_t(inBox - values.data());
      for (uint64_t at = first; at < first + n;) {
        uint64_t chunk = at / 16 * 16, end = std::min(chunk + 16, first + n);
        uint64_t place =
            swizzled(uint32_t(shared.offset + chunk), box.swizzle) + at - chunk;
        if (place + (end - at) <= shared.region->bytes)
          run(global + (at - first), place, size_t(end - at));
        at = end;
      }
    });
  }

private:
  std::vector<std::byte> values; // of the box, not swizzled

  // Runs of elements that are contiguous in the box and in global memory.
  template <typename Run> void eachRun(Run run) {
    uint64_t e = box.elementBytes;
    for (size_t r = 0; r < places.size(); ++r) {
      const TensorBox::Row &row = box.rows[r];
      if (!places[r])
        continue;
      auto *in = const_cast<std::byte *>(valuesOf(r));
      if (box.step == e) {
        run(in, places[r], (row.end - row.first) * e);
        continue;
      }
      for (uint32_t k = 0; k < row.end - row.first; ++k)
        run(in + k * e, places[r] + uint64_t(k) * box.step, e);
    }
  }
  template <typename Run> void eachChunk(const Context::Target &t, Run run) {
    const Region &shared = *t.region;
    for (uint64_t at = 0; at < box.bytes; at += 16) {
      uint64_t place = swizzled(uint32_t(t.offset + at), box.swizzle);
      uint64_t n = std::min<uint64_t>(16, box.bytes - at);
      if (place + n <= shared.bytes)
        run(values.data() + at, shared.data + place, n);
    }
  }
  void convert(std::byte *p, size_t n) const {
    if (map.type < TensorMapType::F32Ftz)
      return;
    for (size_t k = 0; k < n; k += 4) {
      uint32_t x;
      std::memcpy(&x, p + k, 4);
      x = converted(map.type, x);
      std::memcpy(p + k, &x, 4);
    }
  }
};

/// The tensor map of a lane; an error if it does not fit this copy.
Result<TiledTensor> mapOf(const BoxCopy &t, const Context::Target &where) {
  TensorMap raw;
  std::memcpy(raw.bytes, where.data, mapBytes);
  auto map = decodeTensorMap(raw);
  if (map && map->rank != t.rank)
    return Error{"tensor map: rank is " + std::to_string(map->rank) +
                     ", but the instruction has " + std::to_string(t.rank) +
                     (t.rank == 1 ? " dimension" : " dimensions"),
                 ""};
  return map;
}

// Finds and judges the rows in global memory. Returns whether undefined bytes
// are read.
bool aim(Context &c, const Instruction &i, unsigned lane, TensorCopy &op,
         Manner manner, Epoch self) {
  const TensorBox &box = op.box;
  bool undefined = false;
  Counters &n = *c.warp.counters;
  for (size_t r = 0; r < box.rows.size(); ++r) {
    const TensorBox::Row &row = box.rows[r];
    if (row.first == row.end)
      continue;
    uint64_t last = uint64_t(row.end - row.first - 1) * box.step;
    uint64_t bytes = last + box.elementBytes;
    Context::Target t =
        c.resolve(i, lane, Space::Global, row.global, bytes, 1, manner.write);
    op.places[r] = t.data;
    if (!t.data)
      continue;
    uint64_t sectors = (row.global + bytes - 1) / 32 - row.global / 32 + 1;
    (manner.write ? n.globalStoreSectors : n.globalLoadSectors) += sectors;
    (manner.write ? n.globalStoreBytes : n.globalLoadBytes) += bytes;
    uint64_t part = box.step == box.elementBytes ? bytes : box.elementBytes;
    const std::byte *values =
        c.checks && manner.write && !op.reduction ? op.valuesOf(r) : nullptr;
    for (uint64_t at = 0; at < bytes; at += box.step) {
      Context::Target element = t;
      element.data += at;
      element.offset += at;
      undefined |= judgeAsync(c, i, lane, element, row.global + at, part,
                              manner, self, values);
      if (part == bytes)
        break;
      values += values ? part : 0;
    }
  }
  return undefined;
}

// Judges the box in shared memory. Returns whether undefined bytes are read.
bool judgeBox(Context &c, const Instruction &i, unsigned lane,
              const TensorBox &box, const Context::Target &at, Manner manner,
              Epoch self) {
  bool undefined = false;
  if (!c.checks)
    return false;
  for (const TensorBox::Stretch &s : box.stretches(at.offset, !manner.write)) {
    if (s.offset + s.bytes > at.region->bytes)
      continue;
    Context::Target t = at;
    t.offset = s.offset;
    t.data = at.region->data + s.offset;
    uint64_t rank = t.owner == &c.cta ? 0 : t.owner->rank + 1;
    undefined |= judgeAsync(c, i, lane, t,
                            sharedWindow | rank << sharedRankShift | s.offset,
                            s.bytes, manner, self);
  }
  return undefined;
}

// Copies undefinedness from the source of the box to its target. Out-of-bounds
// bytes are filled, so they are defined. `own`: for a reduction, keeps what was
// undefined in global memory already.
void copyUndefinedBox(const Context &c, const Instruction &i, unsigned lane,
                      TensorCopy &op, const Context::Target &shared,
                      bool own = false) {
  const unsigned adds = op.reduction ? op.reduction->bytes : 0;
  op.eachPair(shared, [&](std::byte *inGlobal, uint64_t inShared, size_t n) {
    Context::Target s = shared, g;
    s.offset = inShared;
    s.data = shared.region->data + inShared;
    g.region = c.grid.memory->find(reinterpret_cast<uint64_t>(inGlobal));
    if (!g.region)
      return;
    g.data = inGlobal;
    g.offset = uint64_t(inGlobal - g.region->data);
    op.inGroup ? c.copyUndefined(i, lane, g, own ? g : s, n, adds)
               : c.copyUndefined(i, lane, s, g, n);
  });
}

/// One lane's box: reads the map, finds the box, judges it row by row and
/// issues the copy. The map is read when the copy is issued, as the bytes of
/// the operand are.
void copyBox(Context &c, const Instruction &i, unsigned lane, const BoxCopy &t,
             uint64_t mapAddress, uint64_t from) {
  Context::Target where =
      c.resolve(i, lane, t.map.space, mapAddress, mapBytes, mapAlign, false);
  if (!where.data)
    return;
  if (where.region && where.region->isShared)
    return c.reportAt(FindingKind::InvalidOperation, i, lane, mapAddress,
                      "takes a tensor map in shared memory, expected .global, "
                      ".const or a kernel's parameter");
  auto map = mapOf(t, where);
  if (!map)
    return c.reportAt(FindingKind::InvalidOperation, i, lane, mapAddress,
                      "cannot use its " + map.error().message);
  int32_t start[5] = {0, 0, 0, 0, 0};
  for (unsigned d = 0; d < t.rank; ++d)
    start[d] = c.lanes<int32_t>(t.coordinates[d])[lane];
  const uint64_t bytes = bytesOfBox(*map);
  if (bytes % 16 || bytes > c.cta.shared.bytes)
    return c.reportAt(FindingKind::InvalidOperation, i, lane, mapAddress,
                      "moves a box of " + std::to_string(bytes) +
                          " bytes, expected a multiple of 16 and no more than "
                          "the " +
                          std::to_string(c.cta.shared.bytes) +
                          " of shared memory");
  auto op = std::make_unique<TensorCopy>(*map, TensorBox(*map, start));
  const TensorBox &box = op->box;
  if (box.swizzle != Swizzle::None && box.rowBytes() < rowBytes(box.swizzle))
    c.reportAt(FindingKind::InvalidOperation, i, lane, mapAddress,
               "moves rows of " + std::to_string(box.rowBytes()) +
                   " bytes with a swizzle of " +
                   std::to_string(rowBytes(box.swizzle)) +
                   " bytes, whose layout is unspecified");
  Manner reads, writes;
  reads.read = reads.async = writes.write = writes.async = true;
  reads = c.passing(reads);
  Counters &n = *c.warp.counters;
  if (t.out) {
    op->inGroup = true;
    if (t.reduction) {
      AtomicUpdate how;
      how.op = *t.reduction;
      how.type = typeOf(map->type, how.op);
      how.bytes = box.elementBytes;
      how.ftz = how.type == Type::F32;
      if (!reduces(how.op, how.type, false))
        return c.reportAt(
            FindingKind::InvalidOperation, i, lane, mapAddress,
            "reduces elements of a type that does not support this reduction");
      op->reduction = how;
      writes.scope = Scope::Gpu;
      writes = c.updating(writes, how.isFloatSum());
    }
    bool undefined = false;
    Epoch reader = groupReader(c, lane);
    judgeTensorMap(c, i, lane, where, mapAddress, reader);
    op->from = c.resolve(i, lane, Space::Shared, from, bytes, boxAlign, false);
    if (op->from.data) {
      if (op->from.owner != &c.cta)
        c.reportAt(FindingKind::InvalidOperation, i, lane, from,
                   "reads .shared::cta, but at an address of another CTA");
      undefined = judgeBox(c, i, lane, box, op->from, reads, reader);
    }
    countShared(n, bytes, /*isStore=*/false);
    if (c.checks)
      op->read(); // the values to judge the write with
    if (aim(c, i, lane, *op, writes, groupWriter(c, lane)))
      copyUndefinedBox(c, i, lane, *op, op->from, /*own=*/true);
    if (undefined)
      copyUndefinedBox(c, i, lane, *op, op->from);
  } else {
    op->landings = landingsOf(c, i, lane, t.landing, bytes, boxAlign);
    checkInitFences(c, i, lane, op->landings);
    Epoch reader = readerOf(c, lane, op->landings);
    judgeTensorMap(c, i, lane, where, mapAddress, reader);
    const bool undefined = aim(c, i, lane, *op, reads, reader);
    for (const Landing &l : op->landings) {
      countShared(n, bytes, /*isStore=*/true);
      if (l.to.data)
        judgeBox(c, i, lane, box, l.to, writes, l.self);
      if (l.to.data && undefined)
        copyUndefinedBox(c, i, lane, *op, l.to);
    }
  }
  issue(c, i, lane, bytes, std::move(op));
}

Step tensor(Context &c, const Instruction &i) {
  const BoxCopy &t = *static_cast<const BoxCopy *>(i.data);
  uint64_t map[32], from[32] = {};
  t.map.lanes(c, map);
  if (t.out)
    t.from.lanes(c, from);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      copyBox(c, i, lane, t, map[lane], from[lane]);
  return Step::Next;
}

Step nothing(Context &, const Instruction &) { return Step::Next; }

// [map, {c0, c1 ...}]
void takeCoordinates(Decoder &d, size_t index, BoxCopy &t) {
  const Operand &o = d.operand(index);
  if (d.failed())
    return;
  if (o.kind != Operand::Tensor || o.elements.size() != 2 ||
      o.elements[1].kind != Operand::Vector)
    return d.fail("'" + d.tree().spelling() +
                  "' expects a tensor map and coordinates: [map, {x, y}]");
  t.map = Address(d, d.address(o.elements[0]), Space::Generic);
  const auto &list = o.elements[1].elements;
  if (list.size() != t.rank)
    return d.fail("'" + d.tree().spelling() + "' expects " +
                  std::to_string(t.rank) + " coordinates, found " +
                  std::to_string(list.size()));
  for (unsigned k = 0; k < t.rank; ++k)
    t.coordinates[k] = d.source(list[k], Type::S32);
}

} // namespace

void decodeTensor(Decoder &d, bool reduce, bool prefetch) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  BoxCopy t;
  t.rank = unsigned(d.oneOf({"1d", "2d", "3d", "4d", "5d"}, true)) + 1;
  std::vector<std::string> spaces;
  for (const std::string &word : d.tree().modifiers)
    if (word == "global" || word.rfind("shared", 0) == 0) {
      spaces.push_back(word);
      d.take(word.c_str());
    }
  const std::string first = spaces.empty() ? "" : spaces[0],
                    second = spaces.size() == 2 ? spaces[1] : "";
  t.out = !prefetch && first == "global";
  t.landing.ownOnly = first == "shared::cta";
  bool known = prefetch ? first == "global" && second.empty()
               : t.out  ? second == "shared::cta"
                        : !reduce && second == "global" &&
                              (first == "shared::cluster" || t.landing.ownOnly);
  if (!known)
    return d.fail(spelling + " cannot copy between these state spaces");
  if (t.landing.ownOnly)
    d.require(90, 86);
  for (const char *mode :
       {"im2col", "im2col_no_offs", "im2col::w", "im2col::w::128"})
    if (d.peek(mode))
      return d.fail(spelling + ": mode ." + mode +
                    " is not simulated, only .tile is");
  for (const char *word :
       {"tile::gather4", "tile::scatter4", "cta_group::1", "cta_group::2"})
    if (d.peek(word))
      return d.requireSuffix(100, 'a', 86);
  d.take("tile");
  if (reduce && !(t.reduction = takeReduction(d)))
    return d.fail(spelling + " needs one of .and, .or, .xor, .add, .inc, .dec, "
                             ".min, .max");
  bool multicast = false;
  if (t.out) {
    d.oneOf({"bulk_group"}, true);
  } else if (!prefetch) {
    d.oneOf({"mbarrier::complete_tx::bytes"}, true);
    multicast = !t.landing.ownOnly && d.take("multicast::cluster");
  }
  bool hint = d.take("L2::cache_hint");
  if (d.failed())
    return;

  d.begin(prefetch ? nothing : tensor, Class::AsyncCopy, flagStrictReads);
  size_t next = 0;
  if (!t.out && !prefetch)
    t.landing.to = Address(d, d.address(next++), Space::Shared);
  takeCoordinates(d, next++, t);
  if (t.out)
    t.from = Address(d, d.address(next++), Space::Shared);
  else if (!prefetch)
    t.landing.barrier = Address(d, d.address(next++), Space::Shared);
  if (multicast)
    t.landing.ctaMask = d.source(next++, Type::B16);
  if (hint)
    d.source(next++, Type::B64);
  d.current().data = d.keep(t);
}

} // namespace act::runtime::sim
