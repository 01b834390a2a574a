// SPDX-License-Identifier: Apache-2.0
//
// ldmatrix, stmatrix, movmatrix: move 8 × 8 matrices of 16-bit elements between
// shared memory and the register layout of mma. Lane 8 i + r gives the address
// of row r of matrix i.
#include "runtime/sim/arithmetic/Wide.h"
#include "runtime/sim/execute/Sectors.h"
#include "runtime/sim/instructions/AddressLanes.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include "runtime/sim/instructions/MatrixRegisters.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

struct Rows {
  Address base;
  unsigned count; // matrices
  bool transposed;
};

/// The places of the rows, and which of their bytes were undefined when read,
/// one bit per byte. Null: a bad address, reported.
struct Found {
  Context::Lanes all;
  std::vector<Context::Target> single; // of each row, where `all` is not set
  uint32_t some = 0;                   // rows with undefined bytes
  uint32_t undefined[32];
  std::byte *row(unsigned i) const {
    return single.empty() ? all.data + all.offsets[i] : single[i].data;
  }
  Context::Target at(const Context &c, unsigned row) const {
    return single.empty() ? c.targetOf(all, row) : single[row];
  }
};

/// Fast path: all rows at once. False if any is faulty or not in shared memory.
bool findAllRows(Context &c, const Instruction &at, const Rows &r,
                 const uint64_t (&addresses)[32], Manner manner,
                 uint64_t &wavefronts, Found &found) {
  Context some = c;
  some.mask = r.count == 4 ? ~0u : (1u << 8 * r.count) - 1;
  if ((c.mask & some.mask) != some.mask)
    return false;
  Context::Lanes &all = found.all;
  if (!some.resolveLanes(r.base.space, addresses, 16, manner.write, all) ||
      !all.region->isShared)
    return false;
  found.some =
      some.judgeLanes(at, all, addresses, 16, manner, nullptr, found.undefined);
  if (r.count == 4 && fillsWavefronts(all.offsets, 16)) {
    wavefronts += 4;
    return true;
  }
  for (unsigned i = 0; i < r.count; ++i) {
    uint32_t banks = 0; // groups of banks, 16 bytes wide
    for (unsigned lane = 8 * i; lane < 8 * i + 8; ++lane)
      banks |= 1u << all.offsets[lane] / 16 % 8;
    unsigned worst = 1;
    if (banks != 0xff) {
      uint64_t chunks[8];
      unsigned perBank[8] = {}, distinct = 0;
      for (unsigned lane = 8 * i; lane < 8 * i + 8; ++lane) {
        uint64_t chunk = all.offsets[lane] / 16;
        if (std::find(chunks, chunks + distinct, chunk) != chunks + distinct)
          continue; // the same row is read once
        chunks[distinct++] = chunk;
        worst = std::max(worst, ++perBank[chunk % 8]);
      }
    }
    wavefronts += worst;
    c.warp.counters->sharedConflicts += worst - 1;
  }
  return true;
}

/// Finds the rows. Counts bank conflicts: the eight rows of a matrix take one
/// wavefront if they touch all banks.
void findRows(Context &c, const Instruction &at, const Rows &r, bool write,
              Found &found) {
  needsWholeWarp(c, at);
  unsigned lanes = 8 * r.count;
  if (c.checks) {
    uint32_t slot = at.slots[0];
    uint32_t needed = r.count == 4 ? ~0u : (1u << lanes) - 1;
    if (uint32_t bad = needed & c.mask & ~c.definedLanes(slot)) {
      unsigned lane = unsigned(__builtin_ctz(bad));
      c.report(FindingKind::Uninitialised, at, lane,
               "uses " + c.neverWritten(slot, lane));
      c.define(slot, bad);
    }
  }
  Manner manner;
  manner.write = write;
  manner.read = !write;
  manner = c.passing(manner);
  uint64_t &wavefronts = write ? c.warp.counters->sharedStoreWavefronts
                               : c.warp.counters->sharedLoadWavefronts;
  uint64_t addresses[32];
  r.base.lanes(c, addresses);
  if (findAllRows(c, at, r, addresses, manner, wavefronts, found))
    return;
  found.single.resize(32);
  for (unsigned i = 0; i < r.count; ++i) {
    uint64_t chunks[8];
    unsigned perBank[8] = {}, worst = 0, distinct = 0;
    for (unsigned lane = 8 * i; lane < 8 * i + 8; ++lane) {
      if (!c.active(lane))
        continue;
      const uint64_t address = addresses[lane];
      Context::Target t =
          c.resolve(at, lane, r.base.space, address, 16, 16, write);
      if (t.data && !(t.region && t.region->isShared)) {
        c.reportAt(FindingKind::OutOfBounds, at, lane, address,
                   "takes the address of a row outside of shared memory");
        continue;
      }
      found.single[lane] = t;
      if (!t.data)
        continue;
      found.undefined[lane] = c.judge(at, lane, t, address, 16, manner);
      found.some |= uint32_t(found.undefined[lane] != 0) << lane;
      uint64_t chunk = address / 16;
      if (std::find(chunks, chunks + distinct, chunk) != chunks + distinct)
        continue; // the same row is read once
      chunks[distinct++] = chunk;
      worst = std::max(worst, ++perBank[chunk % 8]);
    }
    wavefronts += worst;
    c.warp.counters->sharedConflicts += worst ? worst - 1 : 0;
  }
}

/// Marks undefined elements in the lanes' words of matrix i.
void undefineWords(const Context &c, const Instruction &at, const Rows &r,
                   unsigned i, const Found &found) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t bits = 0;
    uint32_t origin = noSlot;
    for (unsigned half = 0; half < 2 && c.active(lane); ++half) {
      unsigned g = lane / 4, t = lane % 4 * 2 + half;
      unsigned row = 8 * i + (r.transposed ? t : g), col = r.transposed ? g : t;
      uint32_t bytes =
          found.some >> row & 1 ? found.undefined[row] >> 2 * col & 3 : 0;
      if (!bytes)
        continue;
      bits |= uint64_t((bytes & 1) * 0xff | (bytes >> 1) * 0xff00) << 16 * half;
      origin = c.originAt(at, found.at(c, row), 2 * col + !(bytes & 1));
    }
    if (bits)
      c.frame.defined.setUndefinedBits(at.slots[1 + i], lane, bits, origin);
  }
}

/// If all rows are in bounds of one allocation, they are read at their offsets;
/// otherwise row by row, where a bad row reads as zeros.
Step loadMatrix(Context &c, const Instruction &at) {
  const Rows &r = *static_cast<const Rows *>(at.data);
  Found found;
  findRows(c, at, r, false, found);
  for (unsigned i = 0; i < r.count; ++i) {
    // Lane 4 g + t holds elements 2 t and 2 t + 1 of row g.
    EightHalves m[8];
    for (unsigned row = 0; found.single.empty() && row < 8; ++row)
      std::memcpy(&m[row], found.all.data + found.all.offsets[8 * i + row], 16);
    for (unsigned row = 0; !found.single.empty() && row < 8; ++row)
      if (const std::byte *p = found.single[8 * i + row].data)
        std::memcpy(&m[row], p, 16);
      else
        m[row] = {};
    if (r.transposed)
      transpose(m);
    if (c.mask == ~0u) {
      std::memcpy(c.lanes<uint32_t>(at.slots[1 + i]), m, sizeof m);
    } else {
      uint32_t words[32];
      std::memcpy(words, m, sizeof words);
      put(c, at.slots[1 + i], words);
    }
    c.define(at.slots[1 + i], c.mask);
    if (found.some >> 8 * i & 0xff)
      undefineWords(c, at, r, i, found);
  }
  return Step::Next;
}

/// Marks the stored rows of matrix i undefined where the lanes' words are.
void handOn(const Context &c, const Instruction &at, const Rows &r, unsigned i,
            const Found &found) {
  const uint32_t slot = at.slots[1 + i];
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t bits = c.frame.defined.undefinedBits(slot, lane);
    for (unsigned half = 0; half < 2 && bits; ++half) {
      unsigned g = lane / 4, t = lane % 4 * 2 + half;
      Context::Target to = found.at(c, 8 * i + (r.transposed ? t : g));
      unsigned col = r.transposed ? g : t;
      if (!to.data)
        continue;
      to.data += 2 * col;
      to.offset += 2 * col;
      uint64_t low = bits >> 16 * half & 0xff,
               high = bits >> 16 * half & 0xff00;
      c.put(at, lane, to, 2, uint64_t(low != 0) | uint64_t(high != 0) << 1,
            c.originOf(slot, lane), slot);
    }
  }
}

Step storeMatrix(Context &c, const Instruction &at) {
  const Rows &r = *static_cast<const Rows *>(at.data);
  Found found;
  findRows(c, at, r, true, found);
  for (unsigned i = 0; i < r.count; ++i) {
    uint32_t slot = at.slots[1 + i];
    if (uint32_t bad = c.mask & ~c.definedLanes(slot); bad && c.checks) {
      if (c.grid.passesUndefined) {
        handOn(c, at, r, i, found);
      } else {
        unsigned lane = unsigned(__builtin_ctz(bad));
        c.report(FindingKind::Uninitialised, at, lane,
                 "stores " + c.neverWritten(slot, lane));
        c.define(slot, bad);
      }
    }
    const uint32_t *s = c.lanes<uint32_t>(slot);
    EightHalves m[8];
    std::memcpy(m, s, sizeof m);
    if (r.transposed)
      transpose(m);
    for (unsigned row = 0; row < 8; ++row)
      if (std::byte *p = found.row(8 * i + row))
        std::memcpy(p, &m[row], 16);
  }
  c.event();
  return Step::Next;
}

Step moveMatrix(Context &c, const Instruction &at) {
  needsWholeWarp(c, at);
  const uint32_t *s = c.lanes<uint32_t>(at.slots[1]);
  uint32_t *d = c.lanes<uint32_t>(at.slots[0]);
  const Definedness &defined = c.frame.defined;
  uint32_t results[32], origins[32];
  uint64_t undefined[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4 * 2; // element (t, g), (t + 1, g)
    unsigned from = t * 4 + g / 2, shift = g % 2 * 16;
    results[lane] =
        (s[from] >> shift & 0xffff) | (s[from + 4] >> shift & 0xffff) << 16;
    uint64_t low = defined.undefinedBits(at.slots[1], from) >> shift & 0xffff,
             high =
                 defined.undefinedBits(at.slots[1], from + 4) >> shift & 0xffff;
    undefined[lane] = low | high << 16;
    origins[lane] = c.originOf(at.slots[1], low ? from : from + 4);
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      d[lane] = results[lane];
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane) && c.checks)
      c.frame.defined.setUndefinedBits(at.slots[0], lane, undefined[lane],
                                       origins[lane]);
  return Step::Next;
}

/// .sync.aligned.m8n8, in any order with the rest
void takeFixed(Decoder &d) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  if (!d.take("sync") || !d.take("aligned"))
    return d.fail(spelling + " must be .sync.aligned");
  for (const char *shape : {"m16n16", "m8n16", "m16n8"})
    if (d.peek(shape))
      return d.fail(spelling + ": the shape ." + shape +
                    " needs sm_100a or another newer target");
  if (!d.take("m8n8"))
    d.fail(spelling + " needs the shape .m8n8");
  else if (!d.take("b16"))
    d.fail(spelling + " needs the type .b16");
}

void decodeRows(Decoder &d, bool store) {
  d.require(store ? 90 : 75, store ? 78 : 65);
  takeFixed(d);
  Rows r;
  int number = d.oneOf({"x1", "x2", "x4"}, true);
  r.count = number < 0 ? 1 : 1u << number;
  r.transposed = d.take("trans");
  const ptx::Space space = d.space();
  if ((space != ptx::Space::Shared && space != ptx::Space::Generic) ||
      d.tookClusterSpace())
    d.fail("'" + d.tree().spelling() +
           "' works on shared memory of its own CTA only");
  d.begin(store ? storeMatrix : loadMatrix, Class::MatrixLoad,
          flagAligned | flagDefinesItself);
  r.base = Address(d, d.address(store ? 0 : 1), space);
  d.pushSlot(r.base.slot);
  if (d.operand(store ? 1 : 0).kind != ptx::Operand::Vector)
    d.fail("'" + d.tree().spelling() + "' takes its registers in braces");
  if (store)
    matrixSources(d, 1, r.count, 32);
  else
    matrixResults(d, 0, r.count, 32);
  d.current().data = d.keep(r);
}

void decodeLoad(Decoder &d) { decodeRows(d, false); }
void decodeStore(Decoder &d) { decodeRows(d, true); }

void decodeMove(Decoder &d) {
  d.require(75, 78);
  takeFixed(d);
  if (!d.take("trans"))
    d.fail("'" + d.tree().spelling() + "' must be .trans");
  d.begin(moveMatrix, Class::Shuffle, flagAligned | flagDefinesItself);
  d.result(0, ptx::Type::B32);
  d.source(1, ptx::Type::B32);
}

} // namespace

void registerMatrix(Families &f) {
  f["ldmatrix"] = decodeLoad;
  f["stmatrix"] = decodeStore;
  f["movmatrix"] = decodeMove;
  registerMma(f);
  registerWmma(f);
}

} // namespace act::runtime::sim
