// SPDX-License-Identifier: Apache-2.0
//
// mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c{.op.popc}{.rnd} d, a, b, c
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/TileRegisters.h"
#include "runtime/sim/instructions/UndefinedProduct.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

struct Mma {
  Extent extent;
  Element a, b;
  Accumulation how;
  bool half = false;       // the accumulator is f16
  bool wideResult = false; // ... but the result f32 (m8n8k4)
  bool saturate = false, exclusiveOr = false;
  Rounding rounding = Rounding::Rn;
  unsigned products = 1; // m8n8k4 f16: four
  /// Layouts for products that do not use tiles, and for undefined operands.
  /// A of floats below 64 bits is by column.
  RegisterMatrix inA[4], inB[4], inC[4], inD[4];
  unsigned ofD, ofA, ofB, ofC; // first slot of each
  unsigned countD, countA, countB, countC;
};

/// Marks results undefined whose row of A, column of B or element of C is.
[[gnu::noinline]] void undefineResults(Context &c, const uint32_t *slots,
                                       const Mma &m) {
  std::vector<UndefinedProduct> parts;
  for (unsigned q = 0; q < m.products; ++q) {
    parts.emplace_back(m.extent.m, m.extent.n);
    parts[q].addA(c, slots + m.ofA, m.inA[q], m.countA);
    parts[q].addB(c, slots + m.ofB, m.inB[q], m.countB);
    parts[q].addC(c, slots + m.ofC, m.inC[q], m.countC);
  }
  for (unsigned i = 0; i < m.countD; ++i)
    c.define(slots[m.ofD + i], c.mask);
  for (unsigned q = 0; q < m.products; ++q)
    parts[q].undefine(c, slots + m.ofD, m.inD[q]);
}

/// Nearly always all operands are defined, which one test of their lanes shows.
void defineResults(Context &c, const Instruction &at, const Mma &m) {
  if (!c.checks)
    return;
  const uint32_t *slots = at.slots;
  // The slots of A, B and C are adjacent.
  if (undefinedLanes(c, slots + m.ofA, m.countA + m.countB + m.countC))
    return undefineResults(c, slots, m);
  for (unsigned i = 0; i < m.countD; ++i)
    c.define(slots[m.ofD + i], c.mask);
}

void count(Context &c, const Mma &m) {
  c.warp.counters->tensorFlops[unsigned(tensorKindOf(m.a))] +=
      uint64_t(2) * m.extent.m * m.extent.n * m.extent.k * m.products;
}

/// Operands as tiles, reused while their registers are unchanged.
struct Tiles {
  RecentTiles<LeftTile> left;
  RecentTiles<RightTile> right;
};
Tiles &recentTiles() {
  // `new` leaves the unpacked data uninitialised; takeApart() fills it in.
  thread_local const std::unique_ptr<Tiles> tiles(new Tiles);
  return *tiles;
}

/// The common way: operands are taken apart once and kept, since a loop
/// multiplies the same registers several times.
Step mmaTile(Context &c, const Instruction &at) {
  const Mma &m = *static_cast<const Mma *>(at.data);
  needsWholeWarp(c, at);
  Tiles &tiles = recentTiles();
  const uint32_t *slots = at.slots;
  const unsigned step = m.extent.m == 8 ? 2 : 1; // a tile has 16 rows
  const LeftTile &a =
      tiles.left.of(c.frame, m.a, m.extent.k, slots + m.ofA, m.countA, step);
  const RightTile &b =
      tiles.right.of(c.frame, m.b, m.extent.k, slots + m.ofB, m.countB);
  TileSums sums, results;
  takeSums(c.frame, slots + m.ofC, m.countC, m.half, sums);
  if (isFloating(m.a)) {
    Accumulation how = m.how;
    if (!c.warp.random.roundsPlainly())
      how = seededAccumulation(c.warp.random, m.extent.k, m.half);
    multiply(how, a, b, sums, results);
  } else {
    multiply(a, b, m.saturate, sums, results);
  }
  putSums(results, slots + m.ofD, m.countD, m.half, c.mask, c.frame);
  defineResults(c, at, m);
  count(c, m);
  return Step::Next;
}

/// m8n8k4 of f16: computes all four products before it writes any, since the
/// registers may overlap.
Step mmaSmall(Context &c, const Instruction &at) {
  const Mma &m = *static_cast<const Mma *>(at.data);
  needsWholeWarp(c, at);
  Accumulation how = m.how;
  if (!c.warp.random.roundsPlainly())
    how =
        seededAccumulation(c.warp.random, m.extent.k, m.half && !m.wideResult);
  uint32_t results[4][64];
  for (unsigned q = 0; q < m.products; ++q) {
    uint32_t a[8 * 4], b[4 * 8], *d = results[q];
    m.inA[q].gather(c.frame, at.slots + m.ofA, a);
    m.inB[q].gather(c.frame, at.slots + m.ofB, b);
    m.inC[q].gather(c.frame, at.slots + m.ofC, d);
    if (m.wideResult)
      for (uint32_t &x : results[q])
        x = as<uint32_t>(fromHalf(uint16_t(x)));
    multiply(how, m.extent, m.a, m.b, a, b, d);
  }
  for (unsigned q = 0; q < m.products; ++q)
    m.inD[q].scatter(c.frame, at.slots + m.ofD, c.mask, results[q]);
  defineResults(c, at, m);
  count(c, m);
  return Step::Next;
}

Step mmaDouble(Context &c, const Instruction &at) {
  const Mma &m = *static_cast<const Mma *>(at.data);
  needsWholeWarp(c, at);
  uint64_t a[16 * 16], b[16 * 8], d[16 * 8];
  double x[16 * 16], y[16 * 8], z[16 * 8];
  m.inA[0].gather(c.frame, at.slots + m.ofA, a);
  m.inB[0].gather(c.frame, at.slots + m.ofB, b);
  m.inC[0].gather(c.frame, at.slots + m.ofC, d);
  std::memcpy(x, a, 8 * m.inA[0].elements.size());
  std::memcpy(y, b, 8 * m.inB[0].elements.size());
  std::memcpy(z, d, 8 * m.inC[0].elements.size());
  multiply(m.extent, x, y, z, m.rounding);
  m.inD[0].scatter(c.frame, at.slots + m.ofD, c.mask, z);
  defineResults(c, at, m);
  count(c, m);
  return Step::Next;
}

Step mmaBits(Context &c, const Instruction &at) {
  const Mma &m = *static_cast<const Mma *>(at.data);
  needsWholeWarp(c, at);
  uint32_t a[16 * 8], b[8 * 8];
  int32_t d[16 * 8];
  m.inA[0].gather(c.frame, at.slots + m.ofA, a);
  m.inB[0].gather(c.frame, at.slots + m.ofB, b);
  m.inC[0].gather(c.frame, at.slots + m.ofC, d);
  multiplyBits(m.extent, a, b, d, m.exclusiveOr);
  m.inD[0].scatter(c.frame, at.slots + m.ofD, c.mask, d);
  defineResults(c, at, m);
  count(c, m);
  return Step::Next;
}

/// The known shapes, and the target and PTX version that each needs.
struct Known {
  Element type; // S8 for both 8-bit integers, S4, E4M3 likewise
  uint8_t m, n;
  uint16_t k;
  uint8_t sm, ptx;
};
const Known known[] = {
    {Element::F16, 8, 8, 4, 70, 64},    {Element::F16, 16, 8, 8, 75, 65},
    {Element::F16, 16, 8, 16, 80, 70},  {Element::BF16, 16, 8, 8, 80, 70},
    {Element::BF16, 16, 8, 16, 80, 70}, {Element::TF32, 16, 8, 4, 80, 70},
    {Element::TF32, 16, 8, 8, 80, 70},  {Element::F64, 8, 8, 4, 80, 70},
    {Element::F64, 16, 8, 4, 90, 78},   {Element::F64, 16, 8, 8, 90, 78},
    {Element::F64, 16, 8, 16, 90, 78},  {Element::S8, 8, 8, 16, 75, 65},
    {Element::S8, 16, 8, 16, 80, 70},   {Element::S8, 16, 8, 32, 80, 70},
    {Element::S4, 8, 8, 32, 75, 65},    {Element::S4, 16, 8, 32, 80, 70},
    {Element::S4, 16, 8, 64, 80, 70},   {Element::B1, 8, 8, 128, 75, 70},
    {Element::B1, 16, 8, 128, 80, 70},  {Element::B1, 16, 8, 256, 80, 70},
    {Element::E4M3, 16, 8, 32, 89, 84}, {Element::E4M3, 16, 8, 16, 89, 87},
};

Element groupOf(Element e) {
  return e == Element::U8     ? Element::S8
         : e == Element::U4   ? Element::S4
         : e == Element::E5M2 ? Element::E4M3
                              : e;
}

/// The modifiers after .sync.aligned, sorted.
struct Words {
  std::string shape;
  std::vector<std::string> layouts, types;
};

Words wordsOf(Decoder &d) {
  Words w;
  for (std::string word = d.nextWord(); !word.empty(); word = d.nextWord()) {
    if (word == "row" || word == "col")
      w.layouts.push_back(word);
    else if (word[0] == 'm' && w.shape.empty())
      w.shape = word;
    else
      w.types.push_back(word);
  }
  return w;
}

void layOut(Mma &m, bool alongA, bool alongB, bool halfC, bool halfD) {
  unsigned bits = bitsOf(m.a);
  Extent x = m.extent;
  unsigned bitsC = halfC ? 16 : bits == 64 ? 64 : 32;
  unsigned bitsD = halfD ? 16 : bits == 64 ? 64 : 32;
  bool narrow = isFloating(m.a) && m.a != Element::F64;
  for (unsigned q = 0; q < m.products; ++q) {
    auto placeOf = [&](Role role, unsigned width, bool along) {
      return [=, &m](unsigned row, unsigned col) {
        return m.products > 1 ? placeInMma884(role, width, along, q, row, col)
                              : placeInMma(role, width, row, col);
      };
    };
    m.inA[q] = RegisterMatrix::make(x.m, x.k, bits, narrow,
                                    placeOf(Role::A, bits, alongA));
    m.inB[q] = RegisterMatrix::make(x.k, x.n, bits, bits == 1, // along K
                                    placeOf(Role::B, bits, alongB));
    m.inC[q] = RegisterMatrix::make(x.m, x.n, bitsC, false,
                                    placeOf(Role::Accumulator, bitsC, true));
    m.inD[q] = RegisterMatrix::make(x.m, x.n, bitsD, false,
                                    placeOf(Role::Accumulator, bitsD, true));
  }
  m.countA = m.inA[0].registers;
  m.countB = m.inB[0].registers;
  m.countC = m.inC[0].registers;
  m.countD = m.inD[0].registers;
  m.ofD = 0;
  m.ofA = m.countD;
  m.ofB = m.ofA + m.countA;
  m.ofC = m.ofB + m.countB;
}

void decodeMma(Decoder &d) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  if (!d.take("sync") || !d.take("aligned"))
    return d.fail(spelling + " must be .sync.aligned");
  Mma m;
  m.saturate = d.take("satfinite");
  bool exclusiveOr = d.take("xor"), conjunction = d.take("and");
  bool popc = d.take("popc");
  Rounding rounding = d.rounding(Rounding::None);
  Words w = wordsOf(d);
  m.extent = extentNamed(w.shape);
  if (!m.extent.m)
    return d.fail(spelling + " needs a shape such as .m16n8k16");
  if (w.types.size() != 4 || !elementNamed(w.types[1], m.a) ||
      !elementNamed(w.types[2], m.b))
    return d.fail(spelling + " needs the types of d, a, b and c that a matrix "
                             "product has");
  Element group = groupOf(m.a);
  const Known *shape =
      std::find_if(std::begin(known), std::end(known), [&](const Known &k) {
        return k.type == group && k.m == m.extent.m && k.n == m.extent.n &&
               k.k == m.extent.k;
      });
  if (shape == std::end(known) || group != groupOf(m.b))
    return d.fail("there is no mma of shape ." + w.shape + " for ." +
                  w.types[1] + " and ." + w.types[2]);
  d.require(shape->sm, shape->ptx);
  const std::string &dType = w.types[0], &cType = w.types[3];
  bool small = group == Element::F16 && m.extent.m == 8; // m8n8k4 f16
  bool eight = group == Element::E4M3;
  bool typesFit;
  if (group == Element::F16 || eight) {
    typesFit = (dType == "f16" || dType == "f32") &&
               (cType == "f16" || cType == "f32") &&
               (dType == cType || (small && dType == "f32"));
    if (group == Element::F16)
      typesFit &= m.a == m.b;
  } else {
    const char *wanted = group == Element::F64 ? "f64"
                         : isFloating(group)   ? "f32"
                                               : "s32";
    typesFit = dType == wanted && cType == wanted;
  }
  if (!typesFit)
    return d.fail("the types of " + spelling + " cannot be combined");
  if (eight && dType == "f16")
    d.require(89, 87);
  bool integers = group == Element::S8 || group == Element::S4;
  if ((m.saturate && !integers) ||
      (rounding != Rounding::None && group != Element::F64))
    return d.fail(spelling + " takes neither .satfinite nor a rounding mode "
                             "with these types");
  if ((group == Element::B1) != popc || exclusiveOr + conjunction != int(popc))
    return d.fail(
        spelling +
        ": .b1 needs .xor.popc or .and.popc, and other types take neither");
  if (conjunction)
    d.require(80, 71);
  if (w.layouts.size() != 2 ||
      (!small && (w.layouts[0] != "row" || w.layouts[1] != "col")))
    return d.fail(spelling + " needs the layouts .row.col");

  m.exclusiveOr = exclusiveOr;
  m.rounding = rounding;
  m.products = small ? 4 : 1;
  m.half = cType == "f16";
  m.wideResult = m.half && dType == "f32";
  if (isFloating(group))
    m.how = accumulationOf(d.target().sm, small ? Unit::Mma884 : Unit::Mma, m.a,
                           dType == "f16");
  const Mma *plan = d.shared<Mma>([&] {
    layOut(m, w.layouts[0] == "row", w.layouts[1] == "col", m.half,
           dType == "f16");
    return std::move(m);
  });
  d.begin(group == Element::F64  ? mmaDouble
          : group == Element::B1 ? mmaBits
          : small                ? mmaSmall
                                 : mmaTile,
          Class::Matrix, flagAligned | flagDefinesItself);
  unsigned bits = bitsOf(plan->a);
  matrixResults(d, 0, plan->countD, bits);
  matrixSources(d, 1, plan->countA, bits);
  matrixSources(d, 2, plan->countB, bits);
  matrixSources(d, 3, plan->countC, bits);
  d.current().data = plan;
}

} // namespace

void registerMma(Families &f) { f["mma"] = decodeMma; }

} // namespace act::runtime::sim
