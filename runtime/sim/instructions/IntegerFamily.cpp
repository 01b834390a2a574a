// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic (PTX ISA 9.7.1) and extended precision (9.7.2). All of it
// wraps around; nothing traps. Division by zero returns what GPUs do: a
// quotient of all ones, and the dividend as remainder.
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Type;

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;
template <typename T> struct TwiceOf;
template <> struct TwiceOf<uint16_t> {
  using Type = uint32_t;
};
template <> struct TwiceOf<int16_t> {
  using Type = int32_t;
};
template <> struct TwiceOf<uint32_t> {
  using Type = uint64_t;
};
template <> struct TwiceOf<int32_t> {
  using Type = int64_t;
};
template <> struct TwiceOf<uint64_t> {
  using Type = unsigned __int128;
};
template <> struct TwiceOf<int64_t> {
  using Type = __int128;
};
template <typename T> using Twice = typename TwiceOf<T>::Type;

template <typename T> constexpr unsigned bitsOf = 8 * sizeof(T);

// Sums and products use unsigned types that C++ does not promote to int, so
// that they wrap.
template <typename T>
using Wrap = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <typename T> T productLow(T a, T b) {
  return T(Wrap<T>(a) * Wrap<T>(b));
}
template <typename T> T productHigh(T a, T b) {
  return T(Twice<T>(a) * Twice<T>(b) >> bitsOf<T>);
}

struct Add : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    return T(Wrap<T>(a) + Wrap<T>(b));
  }
};
struct Sub : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    return T(Wrap<T>(a) - Wrap<T>(b));
  }
};
int32_t clampToInt(int64_t x) {
  return int32_t(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX));
}
struct AddSaturated : Plain {
  using Plain::Plain;
  int32_t operator()(int32_t a, int32_t b) const {
    return clampToInt(int64_t(a) + b);
  }
};
struct SubSaturated : Plain {
  using Plain::Plain;
  int32_t operator()(int32_t a, int32_t b) const {
    return clampToInt(int64_t(a) - b);
  }
};
struct MulLow : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    return productLow(a, b);
  }
};
struct MulHigh : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    return productHigh(a, b);
  }
};
struct MulWide : Plain {
  using Plain::Plain;
  template <typename T> Twice<T> operator()(T a, T b) const {
    return Twice<T>(a) * Twice<T>(b);
  }
};
struct MadLow : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b, T c) const {
    return T(Wrap<T>(productLow(a, b)) + Wrap<T>(c));
  }
};
struct MadHigh : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b, T c) const {
    return T(Wrap<T>(productHigh(a, b)) + Wrap<T>(c));
  }
};
struct MadHighSaturated : Plain {
  using Plain::Plain;
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return clampToInt(int64_t(productHigh(a, b)) + c);
  }
};
struct MadWide : Plain {
  using Plain::Plain;
  template <typename T> Twice<T> operator()(T a, T b, Twice<T> c) const {
    using U = Unsigned<Twice<T>>;
    return Twice<T>(U(Twice<T>(a) * Twice<T>(b)) + U(c));
  }
};

/// mul24, mad24: products of the low 24 bits of each.
template <typename T> int64_t product24(T a, T b) {
  T x = T(uint32_t(a) << 8) >> 8, y = T(uint32_t(b) << 8) >> 8;
  return int64_t(uint64_t(int64_t(x)) * uint64_t(int64_t(y)));
}
template <bool High> struct Mul24 : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    return T(product24(a, b) >> (High ? 16 : 0));
  }
};
template <bool High> struct Mad24 : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b, T c) const {
    return T(uint32_t(product24(a, b) >> (High ? 16 : 0)) + uint32_t(c));
  }
};
struct Mad24Saturated : Plain {
  using Plain::Plain;
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return clampToInt(int64_t(int32_t(product24(a, b) >> 16)) + c);
  }
};

struct Sad : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b, T c) const {
    Wrap<T> x = Wrap<T>(a), y = Wrap<T>(b);
    return T(Wrap<T>(c) + (a < b ? y - x : x - y));
  }
};
/// C++ leaves INT_MIN / -1 undefined, and x86 traps on it, as on a division by
/// zero. On a GPU neither traps.
struct Div : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (b == T(-1) && std::is_signed_v<T>)
      return T(Wrap<T>(0) - Wrap<T>(a)); // INT_MIN stays INT_MIN
    return T(a / b);
  }
};
struct Rem : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (b == T(-1) && std::is_signed_v<T>)
      return 0;
    return T(a % b);
  }
};
struct Abs : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a) const {
    return a < 0 ? T(Wrap<T>(0) - Wrap<T>(a)) : a;
  }
};
struct Neg : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a) const {
    return T(Wrap<T>(0) - Wrap<T>(a));
  }
};
struct Min : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Max : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class Op> struct Relu : Op {
  using Op::Op;
  template <typename T> T operator()(T a, T b) const {
    T m = Op::operator()(a, b);
    return m > 0 ? m : T(0);
  }
};

/// Op on both halves of a 32-bit word, as H.
template <class Op, typename H> struct Halves : Op {
  using Op::Op;
  uint32_t operator()(uint32_t a, uint32_t b) const {
    H low = Op::operator()(H(a), H(b));
    H high = Op::operator()(H(a >> 16), H(b >> 16));
    return uint32_t(uint16_t(low)) | uint32_t(uint16_t(high)) << 16;
  }
};
template <class Op, typename H>
constexpr Handler halves = &map<Halves<Op, H>, uint32_t, uint32_t, uint32_t>;

/// Takes .u16x2 or .s16x2 if present; else null.
Handler takeHalves(Decoder &d, Handler ofUnsigned, Handler ofSigned) {
  bool isSigned = d.take("s16x2");
  if (!isSigned && !d.take("u16x2"))
    return nullptr;
  d.require(90, 80);
  return isSigned ? ofSigned : ofUnsigned;
}

// ---- extended precision: the carry of each lane is a bit of Frame::carry

enum : uint32_t { takesCarry = 1, givesCarry = 2, subtracts = 4 };

template <typename T>
void addWithCarry(Context &c, const Instruction &i, const T *a, const T *b,
                  uint32_t options) {
  T results[32];
  uint32_t carry = 0;
  for (unsigned l = 0; l < 32; ++l) {
    T in = T(options & takesCarry ? c.frame.carry >> l & 1 : 0);
    T first, second;
    // Two steps, and either may carry: the sum of the operands, then the carry
    // that comes in. At most one of them does. Subtraction uses the bit
    // as a borrow.
    bool out = options & subtracts
                   ? bool(int(__builtin_sub_overflow(a[l], b[l], &first)) |
                          int(__builtin_sub_overflow(first, in, &second)))
                   : bool(int(__builtin_add_overflow(a[l], b[l], &first)) |
                          int(__builtin_add_overflow(first, in, &second)));
    results[l] = second;
    carry |= uint32_t(out) << l;
  }
  put(c, i.slots[0], results);
  // Only active lanes write their bit: the carry is per thread, like a
  // register.
  if (options & givesCarry)
    c.frame.carry = (c.frame.carry & ~c.mask) | (carry & c.mask);
}
template <typename T> Step extendedAdd(Context &c, const Instruction &i) {
  addWithCarry(c, i, c.lanes<T>(i.slots[1]), c.lanes<T>(i.slots[2]), i.options);
  return Step::Next;
}
/// The signedness of S matters to the high half only.
template <typename S, bool High>
Step extendedMad(Context &c, const Instruction &i) {
  const S *a = c.lanes<S>(i.slots[1]), *b = c.lanes<S>(i.slots[2]);
  Unsigned<S> products[32];
  for (unsigned l = 0; l < 32; ++l)
    products[l] =
        Unsigned<S>(High ? productHigh(a[l], b[l]) : productLow(a[l], b[l]));
  addWithCarry(c, i, products, c.lanes<Unsigned<S>>(i.slots[3]), i.options);
  return Step::Next;
}

const std::initializer_list<Type> carryTypes = {Type::U32, Type::S32, Type::U64,
                                                Type::S64};

void decodeCarryAdd(Decoder &d, uint32_t options) {
  Type t = d.type(carryTypes);
  plainOperands(
      d, ptx::bytesOf(t) == 4 ? &extendedAdd<uint32_t> : &extendedAdd<uint64_t>,
      Class::Integer, t, 2);
  d.current().options = options;
}
template <bool High> Handler extendedMadOf(Type t) {
  switch (t) {
  case Type::U32:
    return &extendedMad<uint32_t, High>;
  case Type::S32:
    return &extendedMad<int32_t, High>;
  case Type::U64:
    return &extendedMad<uint64_t, High>;
  default:
    return &extendedMad<int64_t, High>;
  }
}
void decodeCarryMad(Decoder &d, uint32_t options) {
  bool high = d.oneOf({"lo", "hi"}, true) == 1;
  Type t = d.type(carryTypes);
  plainOperands(d, high ? extendedMadOf<true>(t) : extendedMadOf<false>(t),
                Class::Integer, t, 3);
  d.current().options = options;
}

// ---- decoding

template <class Op, class Saturated, uint32_t CarryOptions>
void decodeSum(Decoder &d) {
  if (d.take("cc"))
    return decodeCarryAdd(d, CarryOptions | givesCarry);
  if (!(CarryOptions & subtracts)) // there is no sub.u16x2
    if (Handler h = takeHalves(d, halves<Op, uint16_t>, halves<Op, int16_t>))
      return plainOperands(d, h, Class::Integer, Type::B32, 2);
  if (d.take("sat"))
    return plainOperands(d, &map<Saturated, int32_t, int32_t, int32_t>,
                         Class::Integer, d.type({Type::S32}), 2);
  Type t = d.type(integerTypes);
  plainOperands(d, overIntegers<Op, 2>(t), Class::Integer, t, 2);
  d.current().flags |= flagUpward;
}

template <uint32_t Options> void decodeSumWithCarry(Decoder &d) {
  decodeCarryAdd(d, Options | (d.take("cc") ? givesCarry : 0));
}

Type twiceAsWide(Type t) {
  switch (t) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}
template <class Op, bool Third, typename T> constexpr Handler wideOf() {
  if constexpr (Third)
    return &map<Op, Twice<T>, T, T, Twice<T>>;
  else
    return &map<Op, Twice<T>, T, T>;
}
template <class Op, bool Third> void decodeWide(Decoder &d) {
  Type t = d.type({Type::U16, Type::S16, Type::U32, Type::S32});
  d.begin(t == Type::U16   ? wideOf<Op, Third, uint16_t>()
          : t == Type::S16 ? wideOf<Op, Third, int16_t>()
          : t == Type::U32 ? wideOf<Op, Third, uint32_t>()
                           : wideOf<Op, Third, int32_t>(),
          Class::Integer);
  d.result(0, twiceAsWide(t));
  d.source(1, t);
  d.source(2, t);
  if (Third)
    d.source(3, twiceAsWide(t));
  d.current().flags |= flagUpward;
}

void decodeMul(Decoder &d) {
  int mode = d.oneOf({"lo", "hi", "wide"}, true);
  if (mode == 2)
    return decodeWide<MulWide, false>(d);
  Type t = d.type(integerTypes);
  plainOperands(d,
                mode ? overIntegers<MulHigh, 2>(t) : overIntegers<MulLow, 2>(t),
                Class::Integer, t, 2);
  d.current().flags |= mode ? 0 : flagUpward;
}

void decodeMad(Decoder &d) {
  if (d.take("cc"))
    return decodeCarryMad(d, givesCarry);
  int mode = d.oneOf({"lo", "hi", "wide"}, true);
  if (mode == 2)
    return decodeWide<MadWide, true>(d);
  if (mode == 1 && d.take("sat"))
    return plainOperands(
        d, &map<MadHighSaturated, int32_t, int32_t, int32_t, int32_t>,
        Class::Integer, d.type({Type::S32}), 3);
  Type t = d.type(integerTypes);
  plainOperands(d,
                mode ? overIntegers<MadHigh, 3>(t) : overIntegers<MadLow, 3>(t),
                Class::Integer, t, 3);
  d.current().flags |= mode ? 0 : flagUpward;
}
void decodeMadc(Decoder &d) {
  bool gives = d.take("cc");
  decodeCarryMad(d, takesCarry | (gives ? givesCarry : 0));
}

template <class Low, class High, unsigned N> void decode24(Decoder &d) {
  int mode = d.oneOf({"lo", "hi"}, true);
  if constexpr (N == 3)
    if (mode == 1 && d.take("sat"))
      return plainOperands(
          d, &map<Mad24Saturated, int32_t, int32_t, int32_t, int32_t>,
          Class::Integer, d.type({Type::S32}), 3);
  Type t = d.type({Type::U32, Type::S32});
  plainOperands(d,
                mode ? (t == Type::U32 ? uniform<High, uint32_t, N>()
                                       : uniform<High, int32_t, N>())
                     : (t == Type::U32 ? uniform<Low, uint32_t, N>()
                                       : uniform<Low, int32_t, N>()),
                Class::Integer, t, N);
}

template <class Op, unsigned N> void decodeOver(Decoder &d) {
  Type t = d.type(integerTypes);
  plainOperands(d, overIntegers<Op, N>(t), Class::Integer, t, N);
}
template <class Op> void decodeOverSigned(Decoder &d) {
  Type t = d.type({Type::S16, Type::S32, Type::S64});
  plainOperands(d, overIntegers<Op, 1>(t), Class::Integer, t, 1);
  if (std::is_same_v<Op, Neg>)
    d.current().flags |= flagUpward;
}

template <class Op> void decodeExtreme(Decoder &d) {
  bool relu = d.take("relu");
  if (relu)
    d.require(90, 80);
  if (Handler h =
          takeHalves(d, relu ? nullptr : halves<Op, uint16_t>,
                     relu ? halves<Relu<Op>, int16_t> : halves<Op, int16_t>))
    return plainOperands(d, h, Class::Integer, Type::B32, 2);
  Type t = relu ? d.type({Type::S32}) : d.type(integerTypes);
  plainOperands(d,
                relu ? &map<Relu<Op>, int32_t, int32_t, int32_t>
                     : overIntegers<Op, 2>(t),
                Class::Integer, t, 2);
}

// ---- dot products

/// A and B: int8_t or uint8_t, the type of the elements.
template <typename A, typename B> struct Dot4 : Plain {
  using Plain::Plain;
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned k = 0; k < 32; k += 8)
      c += uint32_t(int32_t(A(a >> k)) * int32_t(B(b >> k)));
    return c;
  }
};
template <typename A, typename B> struct Dot2 {
  unsigned shift;
  explicit Dot2(const Instruction &i) : shift(i.options ? 16 : 0) {}
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    b >>= shift;
    return c + uint32_t(int32_t(A(a)) * int32_t(B(b))) +
           uint32_t(int32_t(A(a >> 16)) * int32_t(B(b >> 8)));
  }
};
template <class Op>
constexpr Handler dot = &map<Op, uint32_t, uint32_t, uint32_t, uint32_t>;

void decodeDot(Decoder &d, const Handler (&handlers)[2][2]) {
  Type a = d.type({Type::U32, Type::S32}), b = d.type({Type::U32, Type::S32});
  d.require(61, 50);
  plainOperands(d, handlers[a == Type::S32][b == Type::S32], Class::Integer,
                Type::B32, 3);
}
void decodeDp4a(Decoder &d) {
  decodeDot(d, {{dot<Dot4<uint8_t, uint8_t>>, dot<Dot4<uint8_t, int8_t>>},
                {dot<Dot4<int8_t, uint8_t>>, dot<Dot4<int8_t, int8_t>>}});
}
void decodeDp2a(Decoder &d) {
  bool high = d.oneOf({"lo", "hi"}, true) == 1;
  decodeDot(d, {{dot<Dot2<uint16_t, uint8_t>>, dot<Dot2<uint16_t, int8_t>>},
                {dot<Dot2<int16_t, uint8_t>>, dot<Dot2<int16_t, int8_t>>}});
  d.current().options = high;
}

} // namespace

void registerInteger(Families &f) {
  f["add/int"] = decodeSum<Add, AddSaturated, 0>;
  f["sub/int"] = decodeSum<Sub, SubSaturated, subtracts>;
  f["addc"] = decodeSumWithCarry<takesCarry>;
  f["subc"] = decodeSumWithCarry<takesCarry | subtracts>;
  f["mul/int"] = decodeMul;
  f["mad/int"] = decodeMad;
  f["madc"] = decodeMadc;
  f["mul24"] = decode24<Mul24<false>, Mul24<true>, 2>;
  f["mad24"] = decode24<Mad24<false>, Mad24<true>, 3>;
  f["sad"] = decodeOver<Sad, 3>;
  f["div/int"] = decodeOver<Div, 2>;
  f["rem"] = decodeOver<Rem, 2>;
  f["abs/int"] = decodeOverSigned<Abs>;
  f["neg/int"] = decodeOverSigned<Neg>;
  f["min/int"] = decodeExtreme<Min>;
  f["max/int"] = decodeExtreme<Max>;
  f["dp4a"] = decodeDp4a;
  f["dp2a"] = decodeDp2a;
}

} // namespace act::runtime::sim
