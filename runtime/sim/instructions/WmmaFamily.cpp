// SPDX-License-Identifier: Apache-2.0
//
// wmma.load, wmma.store, wmma.mma: moves whole matrices between memory and
// fragments, whose layout PTX leaves unspecified (Fragments.h).
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/UndefinedProduct.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

/// The known products, and the target and PTX version that each needs.
struct Known {
  Element type; // S8, S4: also the unsigned ones
  uint8_t m, n, k, sm, ptx;
};
const Known known[] = {
    {Element::F16, 16, 16, 16, 70, 60}, {Element::F16, 8, 32, 16, 70, 61},
    {Element::F16, 32, 8, 16, 70, 61},  {Element::BF16, 16, 16, 16, 80, 70},
    {Element::BF16, 8, 32, 16, 80, 70}, {Element::BF16, 32, 8, 16, 80, 70},
    {Element::TF32, 16, 16, 8, 80, 70}, {Element::S8, 16, 16, 16, 72, 63},
    {Element::S8, 8, 32, 16, 72, 63},   {Element::S8, 32, 8, 16, 72, 63},
    {Element::S4, 8, 8, 32, 75, 63},    {Element::B1, 8, 8, 128, 75, 63},
    {Element::F64, 8, 8, 4, 80, 70},
};

Element groupOf(Element e) {
  return e == Element::U8 ? Element::S8 : e == Element::U4 ? Element::S4 : e;
}

const Known *find(Element type, const Extent &x) {
  const Known *k =
      std::find_if(std::begin(known), std::end(known), [&](const Known &e) {
        return e.type == groupOf(type) && e.m == x.m && e.n == x.n &&
               e.k == x.k;
      });
  return k == std::end(known) ? nullptr : k;
}

/// How many times a fragment's registers hold each element: f16 operands are
/// stored twice.
unsigned copiesOf(Element type, Role role, const Extent &x) {
  if (type != Element::F16 || role == Role::Accumulator)
    return 1;
  unsigned elements = role == Role::A ? x.m * x.k : x.k * x.n;
  return 512 / elements;
}

RegisterMatrix fragment(Role role, unsigned bits, unsigned rows, unsigned cols,
                        bool byColumn = false) {
  return RegisterMatrix::make(
      rows, cols, bits, byColumn, [=](unsigned row, unsigned col) {
        return placeInWmma(role, bits, rows, cols, row, col);
      });
}

// ---- load and store

struct Transfer {
  AddressOperand base;
  ptx::Space space;
  unsigned rows, cols, bits, count; // registers of one copy
  unsigned copies = 1;
  bool columnMajor, fragmentByColumn, store;
  bool hasStride = false;
};

/// The offset from the matrix's start, in elements, of element `index` in the
/// fragment's order.
uint64_t offsetOf(const Transfer &t, unsigned index, uint64_t stride) {
  unsigned row = t.fragmentByColumn ? index % t.rows : index / t.cols;
  unsigned col = t.fragmentByColumn ? index / t.rows : index % t.cols;
  return t.columnMajor ? col * stride + row : row * stride + col;
}

/// Marks bytes of a register and its copies that a load found undefined.
void undefine(const Context &c, const Instruction &at, unsigned lane,
              const Context::Target &from, uint32_t bytes, unsigned reg,
              unsigned first) {
  const Transfer &t = *static_cast<const Transfer *>(at.data);
  Definedness &defined = c.frame.defined;
  uint32_t origin = c.originAt(at, from, uint64_t(__builtin_ctz(bytes)));
  uint64_t bits = 0;
  for (; bytes; bytes &= bytes - 1)
    bits |= uint64_t(255) << 8 * (first + unsigned(__builtin_ctz(bytes)));
  for (unsigned copy = 0; copy < t.copies; ++copy) {
    uint32_t slot = at.slots[2 + reg + copy * t.count];
    defined.setUndefinedBits(slot, lane,
                             defined.undefinedBits(slot, lane) | bits, origin);
  }
}

/// Marks stored bytes undefined where the register is: `bytes` from `first` on.
void handOn(const Context &c, const Instruction &at, unsigned lane,
            const Context::Target &to, unsigned bytes, unsigned reg,
            unsigned first) {
  uint32_t slot = at.slots[2 + reg];
  uint64_t bits = c.frame.defined.undefinedBits(slot, lane) >> 8 * first,
           undefined = 0;
  for (unsigned byte = 0; byte < bytes; ++byte)
    undefined |= uint64_t((bits >> 8 * byte & 255) != 0) << byte;
  c.put(at, lane, to, bytes, undefined, c.originOf(slot, lane), slot);
}

Step transfer(Context &c, const Instruction &at) {
  const Transfer &t = *static_cast<const Transfer *>(at.data);
  needsWholeWarp(c, at);
  const bool contiguous = t.columnMajor == t.fragmentByColumn;
  const unsigned perRegister = t.bits >= 32 ? 1 : 32 / t.bits;
  const unsigned width = t.bits == 64 ? 8 : 4;
  Manner manner;
  manner.write = t.store;
  manner.read = !t.store;
  manner = c.passing(manner);
  // A register of the operand, and a byte offset in it.
  struct Place {
    unsigned reg, byte;
  };
  if (!t.store)
    for (unsigned r = 0; r < t.count * t.copies; ++r)
      c.define(at.slots[2 + r], c.mask);
  auto move = [&](unsigned lane, uint64_t address, unsigned bytes,
                  std::byte *reg, Place place) {
    Context::Target where =
        c.resolve(at, lane, t.space, address, bytes, bytes, t.store);
    if (!where.data) {
      if (!t.store)
        std::memset(reg, 0, bytes);
      return;
    }
    uint32_t undefined = c.judge(at, lane, where, address, bytes, manner);
    if (t.store)
      std::memcpy(where.data, reg, bytes);
    else
      std::memcpy(reg, where.data, bytes);
    if (undefined)
      undefine(c, at, lane, where, undefined, place.reg, place.byte);
    if (t.store && c.passes)
      handOn(c, at, lane, where, bytes, place.reg, place.byte);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    uint64_t base = t.base.bytes == 4 ? c.lanes<uint32_t>(at.slots[0])[lane]
                                      : c.lanes<uint64_t>(at.slots[0])[lane];
    base += uint64_t(t.base.offset);
    uint64_t stride = t.hasStride     ? c.lanes<uint32_t>(at.slots[1])[lane]
                      : t.columnMajor ? t.rows
                                      : t.cols;
    for (unsigned r = 0; r < t.count; ++r) {
      std::byte *reg =
          c.frame.registers + at.slots[2 + r] + size_t(lane) * width;
      unsigned first = (r * 32 + lane) * perRegister;
      if (contiguous || perRegister == 1) {
        move(lane, base + offsetOf(t, first, stride) * t.bits / 8, width, reg,
             {r, 0});
      } else {
        for (unsigned e = 0; e < perRegister; ++e)
          move(lane, base + offsetOf(t, first + e, stride) * t.bits / 8,
               t.bits / 8, reg + e * t.bits / 8, {r, e * t.bits / 8});
      }
      for (unsigned copy = 1; copy < t.copies; ++copy)
        std::memcpy(c.frame.registers + at.slots[2 + r + copy * t.count] +
                        size_t(lane) * width,
                    reg, width);
    }
  }
  if (t.store)
    c.eventGlobal();
  return Step::Next;
}

/// .sync{.aligned}: implied before PTX 6.3
bool takeSync(Decoder &d) {
  uint32_t version = d.module().versionMajor * 10 + d.module().versionMinor;
  if (d.take("sync") && (d.take("aligned") || version < 63))
    return true;
  d.fail("'" + d.tree().spelling() + "' must be .sync.aligned");
  return false;
}

void decodeTransfer(Decoder &d, bool store) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  int which = store ? (d.take("d") ? 2 : -1) : d.oneOf({"a", "b", "c"}, true);
  if (which < 0)
    return d.fail(spelling + " needs the matrix, .a .b .c or .d");
  if (!takeSync(d))
    return;
  Transfer t;
  t.store = store;
  int layout = d.oneOf({"row", "col"}, true);
  t.columnMajor = layout == 1;
  t.space = d.space();
  if (t.space != ptx::Space::Generic && t.space != ptx::Space::Global &&
      t.space != ptx::Space::Shared)
    return d.fail(spelling + " works on global and shared memory only");
  std::string shape, type;
  for (std::string w = d.nextWord(); !w.empty(); w = d.nextWord())
    (w[0] == 'm' && shape.empty() ? shape : type) = w;
  Extent x = extentNamed(shape);
  Role role = Role(which);
  Element element = Element::F16;
  const Known *shapeOf = nullptr;
  if (role == Role::Accumulator) {
    // The accumulator's type and shape say which products it may belong to.
    for (const Known &k : known) {
      bool fits = type == "s32"   ? !isFloating(k.type)
                  : type == "f64" ? k.type == Element::F64
                  : type == "f16" ? k.type == Element::F16
                                  : type == "f32" && isFloating(k.type) &&
                                        k.type != Element::F64;
      if (fits && k.m == x.m && k.n == x.n && k.k == x.k && !shapeOf)
        shapeOf = &k;
    }
    t.bits = type == "f16" ? 16 : type == "f64" ? 64 : 32;
    t.rows = x.m;
    t.cols = x.n;
  } else if (elementNamed(type, element)) {
    shapeOf = find(element, x);
    t.bits = bitsOf(element);
    t.rows = role == Role::A ? x.m : x.k;
    t.cols = role == Role::A ? x.k : x.n;
  }
  if (!shapeOf)
    return d.fail("there is no fragment of type ." + type + " for the shape ." +
                  shape);
  d.require(shapeOf->sm, shapeOf->ptx);
  t.fragmentByColumn = role == Role::B;
  if (t.bits < 8 && role != Role::Accumulator &&
      t.columnMajor != t.fragmentByColumn)
    return d.fail(spelling + ": elements of less than a byte lie along K only");
  unsigned width = t.bits >= 32 ? 1 : 32 / t.bits;
  t.count = t.rows * t.cols / width / 32;
  t.copies = copiesOf(element, role, x);
  d.begin(transfer, store ? Class::Store : Class::Load,
          flagAligned | flagStrictReads | flagDefinesItself);
  t.base = d.address(store ? 0 : 1);
  if (t.base.space != ptx::Space::Generic && t.space == ptx::Space::Generic)
    t.space = t.base.space;
  d.pushSlot(t.base.slot);
  t.hasStride = d.operandCount() > 2;
  if (t.hasStride)
    d.source(2, ptx::Type::U32);
  else
    d.pushSlot(t.base.slot); // a placeholder, never read
  unsigned bits = t.bits == 64 ? 64 : 32;
  const size_t firstValue = d.readCount();
  if (store)
    matrixSources(d, 1, t.count, bits);
  d.passes(firstValue);
  if (!store)
    matrixResults(d, 0, t.count * t.copies, bits);
  d.current().data = d.keep(t);
}

// ---- the product

struct Product {
  Extent extent;
  Element a, b;
  Accumulation how;
  bool halfC = false, halfD = false, saturate = false, exclusiveOr = false;
  Rounding rounding = Rounding::Rn;
  RegisterMatrix inA, inB, inC, inD;
  unsigned ofA, ofB, ofC; // first slots; D's is 0
  unsigned countA, countB, countC, countD;
};

Step product(Context &c, const Instruction &at) {
  const Product &p = *static_cast<const Product *>(at.data);
  needsWholeWarp(c, at);
  const uint32_t *slots = at.slots;
  if (p.a == Element::F64) {
    double a[32], b[32], d[64];
    uint64_t raw[64];
    auto read = [&](const RegisterMatrix &m, unsigned first, double *out) {
      m.gather(c.frame, slots + first, raw);
      std::memcpy(out, raw, 8 * m.elements.size());
    };
    read(p.inA, p.ofA, a);
    read(p.inB, p.ofB, b);
    read(p.inC, p.ofC, d);
    multiply(p.extent, a, b, d, p.rounding);
    p.inD.scatter(c.frame, slots, c.mask, d);
  } else if (isFloating(p.a)) {
    uint32_t a[512], b[512], d[256];
    p.inA.gather(c.frame, slots + p.ofA, a);
    p.inB.gather(c.frame, slots + p.ofB, b);
    p.inC.gather(c.frame, slots + p.ofC, d);
    Accumulation how = p.how;
    if (!c.warp.random.roundsPlainly())
      how = seededAccumulation(c.warp.random, p.extent.k, p.halfD);
    // Mixed widths: the sum has the result's type.
    for (uint32_t &x : d)
      if (p.halfC && !p.halfD)
        x = as<uint32_t>(fromHalf(uint16_t(x)));
      else if (p.halfD && !p.halfC)
        x = toHalf(as<float>(x));
    multiply(how, p.extent, p.a, p.b, a, b, d);
    p.inD.scatter(c.frame, slots, c.mask, d);
  } else if (p.a == Element::B1) {
    uint32_t a[32], b[32];
    int32_t d[64];
    p.inA.gather(c.frame, slots + p.ofA, a);
    p.inB.gather(c.frame, slots + p.ofB, b);
    p.inC.gather(c.frame, slots + p.ofC, d);
    multiplyBits(p.extent, a, b, d, p.exclusiveOr);
    p.inD.scatter(c.frame, slots, c.mask, d);
  } else {
    int32_t a[512], b[512], d[256];
    bool isSigned = p.a == Element::S8 || p.a == Element::S4;
    p.inA.gatherIntegers(c.frame, slots + p.ofA, isSigned, a);
    p.inB.gatherIntegers(c.frame, slots + p.ofB, isSigned, b);
    p.inC.gather(c.frame, slots + p.ofC, d);
    multiply(p.extent, a, b, d, p.saturate);
    p.inD.scatter(c.frame, slots, c.mask, d);
  }
  uint32_t bad = undefinedLanes(c, slots + p.ofA, p.countA) |
                 undefinedLanes(c, slots + p.ofB, p.countB) |
                 undefinedLanes(c, slots + p.ofC, p.countC);
  UndefinedProduct undefined(p.extent.m, p.extent.n);
  if (bad && c.checks) {
    undefined.addA(c, slots + p.ofA, p.inA, p.countA);
    undefined.addB(c, slots + p.ofB, p.inB, p.countB);
    undefined.addC(c, slots + p.ofC, p.inC, p.countC);
  }
  for (unsigned i = 0; i < p.countD; ++i)
    c.define(slots[i], c.mask);
  if (bad && c.checks)
    undefined.undefine(c, slots, p.inD);
  c.warp.counters->tensorFlops[unsigned(tensorKindOf(p.a))] +=
      uint64_t(2) * p.extent.m * p.extent.n * p.extent.k;
  return Step::Next;
}

void decodeProduct(Decoder &d) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  Product p;
  bool exclusiveOr = d.take("xor"), conjunction = d.take("and");
  bool popc = d.take("popc");
  if (!takeSync(d))
    return;
  p.saturate = d.take("satfinite");
  Rounding rounding = d.rounding(Rounding::None);
  std::vector<std::string> layouts, types;
  std::string shape;
  for (std::string w = d.nextWord(); !w.empty(); w = d.nextWord())
    if (w == "row" || w == "col")
      layouts.push_back(w);
    else if (w[0] == 'm' && shape.empty())
      shape = w;
    else
      types.push_back(w);
  if (layouts.size() != 2)
    return d.fail(spelling + " needs the layouts of a and b");
  // With two types, those of d and c, the operands are f16.
  if (types.size() == 2)
    types.insert(types.begin() + 1, {"f16", "f16"});
  p.extent = extentNamed(shape);
  const Known *k = nullptr;
  if (types.size() == 4 && elementNamed(types[1], p.a) &&
      elementNamed(types[2], p.b) && p.a == p.b)
    k = find(p.a, p.extent);
  if (!k)
    return d.fail("there is no product of shape ." + shape + " as " + spelling);
  d.require(k->sm, k->ptx);
  auto isAccumulator = [&](const std::string &t) {
    if (p.a == Element::F16)
      return t == "f16" || t == "f32";
    return t == (p.a == Element::F64 ? "f64" : isFloating(p.a) ? "f32" : "s32");
  };
  if (!isAccumulator(types[0]) || !isAccumulator(types[3]))
    return d.fail("the types of " + spelling + " cannot be combined");
  bool single = p.a == Element::B1;
  if (popc != single || exclusiveOr + conjunction != int(single))
    return d.fail(
        spelling +
        ": .b1 needs .xor.popc or .and.popc, and other types take neither");
  if (conjunction)
    d.require(80, 71);
  if ((p.saturate && (isFloating(p.a) || single)) ||
      (rounding != Rounding::None && p.a != Element::F64))
    return d.fail(spelling + " takes neither .satfinite nor a rounding mode "
                             "with these types");
  if (bitsOf(p.a) < 8 && (layouts[0] != "row" || layouts[1] != "col"))
    return d.fail(spelling + " needs the layouts .row.col");
  p.exclusiveOr = exclusiveOr;
  p.rounding = rounding;
  p.halfC = types[3] == "f16";
  p.halfD = types[0] == "f16";
  if (isFloating(p.a))
    p.how = accumulationOf(d.target().sm, Unit::Mma, p.a, p.halfD);
  const Extent &x = p.extent;
  unsigned bits = bitsOf(p.a), full = bits == 64 ? 64 : 32;
  p.inA = fragment(Role::A, bits, x.m, x.k, isFloating(p.a) && bits != 64);
  p.inB = fragment(Role::B, bits, x.k, x.n, single);
  p.inC = fragment(Role::Accumulator, p.halfC ? 16 : full, x.m, x.n);
  p.inD = fragment(Role::Accumulator, p.halfD ? 16 : full, x.m, x.n);
  p.countD = p.inD.registers;
  p.countA = p.inA.registers * copiesOf(p.a, Role::A, x);
  p.countB = p.inB.registers * copiesOf(p.a, Role::B, x);
  p.countC = p.inC.registers;
  p.ofA = p.countD;
  p.ofB = p.ofA + p.countA;
  p.ofC = p.ofB + p.countB;
  d.begin(product, Class::Matrix, flagAligned | flagDefinesItself);
  matrixResults(d, 0, p.countD, bits);
  matrixSources(d, 1, p.countA, bits);
  matrixSources(d, 2, p.countB, bits);
  matrixSources(d, 3, p.countC, bits);
  d.current().data = d.keep(std::move(p));
}

void decodeWmma(Decoder &d) {
  switch (d.oneOf({"load", "store", "mma"}, true)) {
  case 0:
    return decodeTransfer(d, false);
  case 1:
    return decodeTransfer(d, true);
  case 2:
    return decodeProduct(d);
  default:
    return;
  }
}

} // namespace

void registerWmma(Families &f) { f["wmma"] = decodeWmma; }

} // namespace act::runtime::sim
