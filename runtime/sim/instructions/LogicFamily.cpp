// SPDX-License-Identifier: Apache-2.0
//
// Logic and shifts (PTX ISA 9.7.8), bits and bit fields (9.7.1.14 to 9.7.1.22),
// prmt (9.7.9.7).
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Type;

namespace {

struct And : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct Xor : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a) const { return T(~a); }
};
struct Cnot : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a) const { return a == 0; }
};

// Shift amounts beyond the width shift out all bits.
struct ShiftLeft : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, uint32_t n) const {
    uint32_t within = n & (8 * sizeof(T) - 1);
    return n < 8 * sizeof(T) ? T(a << within) : T(0);
  }
};
struct ShiftRight : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, uint32_t n) const {
    constexpr uint32_t width = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return T(a >> (n < width ? n : width - 1));
    else
      return n < width ? T(a >> (n & (width - 1))) : T(0);
  }
};
/// shf: shifts the 64-bit value high:low and returns one half, the upper one
/// for a left shift. With equal words it is a rotation.
template <bool Left, bool Clamp> struct Funnel : Plain {
  using Plain::Plain;
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t n) const {
    n = Clamp ? (n < 32 ? n : 32) : n & 31;
    uint64_t both = uint64_t(high) << 32 | low;
    return uint32_t(Left ? both << n >> 32 : both >> n);
  }
};

/// Any function of three bits, given by its truth table: bit 4 a + 2 b + c.
struct Lop3 {
  // Each entry of the table as a mask of all ones or zeros, so that the choice
  // below works on all 32 bits at once.
  uint32_t masks[8];
  explicit Lop3(const Instruction &i) {
    for (unsigned k = 0; k < 8; ++k)
      masks[k] = 0u - (uint32_t(i.immediate) >> k & 1);
  }
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t notC = ~c;
    uint32_t b0a0 = (masks[0] & notC) | (masks[1] & c);
    uint32_t b1a0 = (masks[2] & notC) | (masks[3] & c);
    uint32_t b0a1 = (masks[4] & notC) | (masks[5] & c);
    uint32_t b1a1 = (masks[6] & notC) | (masks[7] & c);
    return (~a & ((~b & b0a0) | (b & b1a0))) | (a & ((~b & b0a1) | (b & b1a1)));
  }
};

struct PopCount : Plain {
  using Plain::Plain;
  template <typename T> uint32_t operator()(T a) const {
    return uint32_t(__builtin_popcountll(a));
  }
};
struct LeadingZeros : Plain {
  using Plain::Plain;
  template <typename T> uint32_t operator()(T a) const {
    return a ? uint32_t(__builtin_clzll(a)) - (64 - 8 * sizeof(T))
             : uint32_t(8 * sizeof(T));
  }
};
/// bfind: the highest bit that is not a copy of the sign; all ones if there is
/// none.
template <bool ShiftAmount> struct FindLeading : Plain {
  using Plain::Plain;
  template <typename T> uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U u = a < 0 ? U(~a) : U(a);
    if (u == 0)
      return ~0u;
    uint32_t place = 63 - uint32_t(__builtin_clzll(u));
    return ShiftAmount ? uint32_t(8 * sizeof(T)) - 1 - place : place;
  }
};
/// fns: the n-th set bit from `base` on, upwards or downwards; all ones if
/// there is none.
struct FindNth : Plain {
  using Plain::Plain;
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    base &= 31; // larger values are undefined
    if (offset == 0)
      return mask >> base & 1 ? base : ~0u;
    int step = offset > 0 ? 1 : -1;
    uint32_t left = offset > 0 ? uint32_t(offset) : 0 - uint32_t(offset);
    for (int at = int(base); at >= 0 && at < 32; at += step)
      if ((mask >> at & 1) && --left == 0)
        return uint32_t(at);
    return ~0u;
  }
};
struct Reverse : Plain {
  using Plain::Plain;
  uint32_t operator()(uint32_t a) const { return __builtin_bitreverse32(a); }
  uint64_t operator()(uint64_t a) const { return __builtin_bitreverse64(a); }
};

/// bfe. Position and length have 8 bits. A field that reaches beyond the word
/// is filled with the word's top bit, if the type is signed (PTX ISA, bfe).
struct Extract : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T a, uint32_t position, uint32_t length) const {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t width = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (length == 0)
      return 0;
    bool sign = std::is_signed_v<T> &&
                (U(a) >> std::min(position + length - 1, width - 1) & 1);
    U fill = sign ? U(~U(0)) : U(0);
    U field = position < width ? U(a) >> position : U(0);
    uint32_t have = position < width ? std::min(length, width - position) : 0;
    U keep = have >= width ? U(~U(0)) : U((U(1) << have) - 1);
    return T((field & keep) | (fill & U(~keep)));
  }
};
/// bfi: puts the low bits of a into b. Bits beyond the word are dropped.
struct Insert : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T a, T b, uint32_t position, uint32_t length) const {
    constexpr uint32_t width = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (position >= width)
      return b;
    T field = length >= width ? T(~T(0)) : T((T(1) << length) - 1);
    return (b & ~T(field << position)) | T((a & field) << position);
  }
};
/// szext: extends the low n bits, by sign or by zeros, as the type says. The
/// shift to the right is of the value's own type, so it copies the sign of a
/// signed one.
template <bool Clamp> struct Extend : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, uint32_t n) const {
    uint32_t bits = n & 31;
    if (Clamp && n >= 32)
      return a;
    if (bits == 0)
      return 0;
    return T(T(uint32_t(a) << (32 - bits)) >> (32 - bits));
  }
};
/// bmsk: `length` ones from `position` on.
template <bool Clamp> struct Mask : Plain {
  using Plain::Plain;
  uint32_t operator()(uint32_t position, uint32_t length) const {
    if (Clamp && position >= 32)
      return 0;
    bool all = Clamp && length >= 32;
    position &= 31;
    length &= 31;
    uint32_t from = ~0u << position;
    if (all || position + length >= 32)
      return from;
    return from & ~(~0u << (position + length));
  }
};

/// Modes of prmt, by the selector's low two bits: the source byte of each
/// result byte, four bits each, d.b3 first.
const uint16_t permutations[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
};
/// prmt: each nibble of the selector picks one of eight source bytes. Its top
/// bit asks for the byte's sign in all eight bits instead of the byte.
struct Permute {
  const uint16_t *table; // null: no mode, the selector gives each byte
  explicit Permute(const Instruction &i)
      : table(i.options ? permutations[i.options - 1] : nullptr) {}
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    uint64_t bytes = uint64_t(b) << 32 | a;
    if (table)
      selector = table[selector & 3];
    uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      uint32_t select = selector >> (4 * k) & 15;
      uint32_t byte = uint32_t(bytes >> (8 * (select & 7))) & 255;
      if (select & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  }
};

// ---- predicates: all lanes at once

enum : uint32_t { negateFirst = 1, negateSecond = 2 };

uint32_t predicateOf(const Context &c, const Instruction &i, unsigned slot,
                     uint32_t flag) {
  uint32_t p = c.predicate(i.slots[slot]);
  return i.options & flag ? ~p : p;
}
template <class Op> Step onPredicates(Context &c, const Instruction &i) {
  putPredicate(c, i.slots[0],
               Op(i)(predicateOf(c, i, 1, negateFirst),
                     predicateOf(c, i, 2, negateSecond)));
  return Step::Next;
}
Step notPredicate(Context &c, const Instruction &i) {
  putPredicate(c, i.slots[0], ~predicateOf(c, i, 1, negateFirst));
  return Step::Next;
}

/// Operands that are all predicates.
void predicates(Decoder &d, Handler handler, unsigned sources) {
  d.begin(handler, Class::Logic);
  d.result(0, Type::Pred);
  uint32_t options = 0;
  for (unsigned s = 1; s <= sources; ++s) {
    bool negated = false;
    d.sourcePredicate(s, &negated);
    options |= uint32_t(negated) << (s - 1);
  }
  d.current().options = options;
}

// ---- decoding

const std::initializer_list<Type> bitTypes = {Type::Pred, Type::B16, Type::B32,
                                              Type::B64};

template <class Op> void decodeBinary(Decoder &d) {
  Type t = d.type(bitTypes);
  if (t == Type::Pred)
    return predicates(d, &onPredicates<Op>, 2);
  plainOperands(d, overIntegers<Op, 2>(t), Class::Logic, t, 2);
  d.byBits();
}
void decodeNot(Decoder &d) {
  Type t = d.type(bitTypes);
  if (t == Type::Pred)
    return predicates(d, &notPredicate, 1);
  plainOperands(d, overIntegers<Not, 1>(t), Class::Logic, t, 1);
  d.byBits();
}
void decodeCnot(Decoder &d) {
  Type t = d.type({Type::B16, Type::B32, Type::B64});
  plainOperands(d, overIntegers<Cnot, 1>(t), Class::Logic, t, 1);
}

template <class Op, typename T>
constexpr Handler shift = &map<Op, T, T, uint32_t>;
template <class Op> Handler shiftOf(Type t) {
  switch (t) {
  case Type::U16:
  case Type::B16:
    return shift<Op, uint16_t>;
  case Type::S16:
    return shift<Op, int16_t>;
  case Type::S32:
    return shift<Op, int32_t>;
  case Type::U64:
  case Type::B64:
    return shift<Op, uint64_t>;
  case Type::S64:
    return shift<Op, int64_t>;
  default:
    return shift<Op, uint32_t>;
  }
}
void shiftOperands(Decoder &d, Handler handler, Type t) {
  d.begin(handler, Class::Logic);
  d.result(0, t);
  d.source(1, t);
  d.source(2, Type::U32);
  d.byBits(1);
}
void decodeShl(Decoder &d) {
  Type t = d.type({Type::B16, Type::B32, Type::B64});
  shiftOperands(d, shiftOf<ShiftLeft>(t), t);
}
void decodeShr(Decoder &d) {
  Type t = d.type({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                   Type::U64, Type::S16, Type::S32, Type::S64});
  shiftOperands(d, shiftOf<ShiftRight>(t), t);
}
void decodeShf(Decoder &d) {
  bool right = d.oneOf({"l", "r"}, true) == 1;
  bool wrap = d.oneOf({"clamp", "wrap"}, true) == 1;
  d.type({Type::B32});
  static const Handler handlers[2][2] = {
      {uniform<Funnel<true, true>, uint32_t, 3>(),
       uniform<Funnel<true, false>, uint32_t, 3>()},
      {uniform<Funnel<false, true>, uint32_t, 3>(),
       uniform<Funnel<false, false>, uint32_t, 3>()}};
  plainOperands(d, handlers[right][wrap], Class::Logic, Type::B32, 2);
  d.source(3, Type::U32);
  d.byBits(2);
}

/// lop3.BoolOp d|p: p := (d != 0) op q. slots: d, a, b, c, p, q
Step lop3Predicate(Context &c, const Instruction &i) {
  mapLanes<Lop3, uint32_t, uint32_t, uint32_t, uint32_t>(
      c, i, std::make_index_sequence<3>());
  const uint32_t *d = c.lanes<uint32_t>(i.slots[0]);
  uint32_t bits = 0;
  for (unsigned l = 0; l < 32; ++l)
    bits |= uint32_t(d[l] != 0) << l;
  uint32_t q = c.predicate(i.slots[5]);
  if (i.options & 2)
    q = ~q;
  putPredicate(c, i.slots[4], i.options & 1 ? bits & q : bits | q);
  return Step::Next;
}
void decodeLop3(Decoder &d) {
  int boolean = d.oneOf({"or", "and"});
  d.type({Type::B32});
  int64_t table = d.immediate(4) & 255; // ptxas drops the higher bits
  if (boolean < 0) {
    plainOperands(d, &map<Lop3, uint32_t, uint32_t, uint32_t, uint32_t>,
                  Class::Logic, Type::B32, 3);
    d.byBits();
  } else {
    d.require(70, 82);
    const ptx::Operand &pair = d.operand(0);
    if (pair.kind != ptx::Operand::PredPair || pair.elements.size() != 2)
      return d.fail(
          "'" + d.tree().spelling() +
          "' expects a result of the form d|p (a register and a predicate)");
    d.begin(&lop3Predicate, Class::Logic);
    d.result(pair.elements[0], Type::B32);
    for (unsigned s = 1; s <= 3; ++s)
      d.source(s, Type::B32);
    d.resultPredicate(pair.elements[1]);
    bool negated = false;
    d.sourcePredicate(5, &negated);
    d.current().options = uint32_t(boolean) | uint32_t(negated) << 1;
  }
  d.current().immediate = table;
}

/// One source of 32 or 64 bits, a result of 32 (or as wide).
template <class Op, bool SameWidth> void decodeBits(Decoder &d) {
  Type t = d.type({Type::B32, Type::B64});
  bool wide = t == Type::B64;
  if constexpr (SameWidth)
    d.begin(wide ? &map<Op, uint64_t, uint64_t> : &map<Op, uint32_t, uint32_t>,
            Class::Integer);
  else
    d.begin(wide ? &map<Op, uint32_t, uint64_t> : &map<Op, uint32_t, uint32_t>,
            Class::Integer);
  d.result(0, SameWidth ? t : Type::U32);
  d.source(1, t);
  if (SameWidth)
    d.byBits();
}
template <class Op> Handler leadingOf(Type t) {
  return t == Type::U32   ? &map<Op, uint32_t, uint32_t>
         : t == Type::S32 ? &map<Op, uint32_t, int32_t>
         : t == Type::U64 ? &map<Op, uint32_t, uint64_t>
                          : &map<Op, uint32_t, int64_t>;
}
void decodeBfind(Decoder &d) {
  bool amount = d.take("shiftamt");
  Type t = d.type({Type::U32, Type::S32, Type::U64, Type::S64});
  d.begin(amount ? leadingOf<FindLeading<true>>(t)
                 : leadingOf<FindLeading<false>>(t),
          Class::Integer);
  d.result(0, Type::U32);
  d.source(1, t);
}
void decodeFns(Decoder &d) {
  d.type({Type::B32});
  plainOperands(d, &map<FindNth, uint32_t, uint32_t, uint32_t, int32_t>,
                Class::Integer, Type::B32, 3);
}

template <typename T>
constexpr Handler extract = &map<Extract, T, T, uint32_t, uint32_t>;
void decodeBfe(Decoder &d) {
  Type t = d.type({Type::U32, Type::S32, Type::U64, Type::S64});
  d.begin(t == Type::U32   ? extract<uint32_t>
          : t == Type::S32 ? extract<int32_t>
          : t == Type::U64 ? extract<uint64_t>
                           : extract<int64_t>,
          Class::Integer);
  d.result(0, t);
  d.source(1, t);
  d.source(2, Type::U32);
  d.source(3, Type::U32);
  d.byBits(1);
}
template <typename T>
constexpr Handler insert = &map<Insert, T, T, T, uint32_t, uint32_t>;
void decodeBfi(Decoder &d) {
  Type t = d.type({Type::B32, Type::B64});
  d.begin(t == Type::B32 ? insert<uint32_t> : insert<uint64_t>, Class::Integer);
  d.result(0, t);
  d.source(1, t);
  d.source(2, t);
  d.source(3, Type::U32);
  d.source(4, Type::U32);
  d.byBits(2);
}
template <bool Clamp> Handler extendOf(Type t) {
  return t == Type::U32 ? shift<Extend<Clamp>, uint32_t>
                        : shift<Extend<Clamp>, int32_t>;
}
void decodeSzext(Decoder &d) {
  bool wrap = d.oneOf({"clamp", "wrap"}, true) == 1;
  Type t = d.type({Type::U32, Type::S32});
  d.require(70, 76);
  plainOperands(d, wrap ? extendOf<false>(t) : extendOf<true>(t),
                Class::Integer, t, 2);
  d.byBits(1);
}
void decodeBmsk(Decoder &d) {
  bool wrap = d.oneOf({"clamp", "wrap"}, true) == 1;
  d.type({Type::B32});
  d.require(70, 76);
  plainOperands(d,
                wrap ? uniform<Mask<false>, uint32_t, 2>()
                     : uniform<Mask<true>, uint32_t, 2>(),
                Class::Integer, Type::B32, 2);
}
void decodePrmt(Decoder &d) {
  d.type({Type::B32});
  int mode = d.oneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  plainOperands(d, uniform<Permute, uint32_t, 3>(), Class::Logic, Type::B32, 3);
  d.byBits(2);
  d.current().options = uint32_t(mode + 1);
}

} // namespace

void registerLogic(Families &f) {
  f["and"] = decodeBinary<And>;
  f["or"] = decodeBinary<Or>;
  f["xor"] = decodeBinary<Xor>;
  f["not"] = decodeNot;
  f["cnot"] = decodeCnot;
  f["shl"] = decodeShl;
  f["shr"] = decodeShr;
  f["shf"] = decodeShf;
  f["lop3"] = decodeLop3;
  f["popc"] = decodeBits<PopCount, false>;
  f["clz"] = decodeBits<LeadingZeros, false>;
  f["brev"] = decodeBits<Reverse, true>;
  f["bfind"] = decodeBfind;
  f["fns"] = decodeFns;
  f["bfe"] = decodeBfe;
  f["bfi"] = decodeBfi;
  f["szext"] = decodeSzext;
  f["bmsk"] = decodeBmsk;
  f["prmt"] = decodePrmt;
}

} // namespace act::runtime::sim
