// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on f16, bf16 and pairs of them (PTX ISA 9.7.4).
//
// Operations are computed in f32 and rounded once more. For sums that is
// correct because f32 has at least 2 p + 2 bits; products are exact in f32; fma
// rounds to odd first.
#include "runtime/sim/arithmetic/Approximate.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <cmath>

namespace act::runtime::sim {

using ptx::Type;

namespace {

enum : uint32_t {
  optionFtz = 0x100,
  optionSat = 0x200,
  optionNaN = 0x400,
  optionXorSign = 0x800,
  optionRelu = 0x1000,
  optionOob = 0x2000,
};

struct Flags {
  bool ftz, sat, nan, xorSign, relu, oob;
  explicit Flags(const Instruction &i)
      : ftz(i.options & optionFtz), sat(i.options & optionSat),
        nan(i.options & optionNaN), xorSign(i.options & optionXorSign),
        relu(i.options & optionRelu), oob(i.options & optionOob) {}
};

/// An operation on one number: the format's bits in and out.
template <class F, class Op> struct Scalar {
  Flags flags;
  explicit Scalar(const Instruction &i) : flags(i) {}
  // Only f16 is ever flushed.
  uint16_t flushed(uint16_t a) const {
    return std::is_same_v<F, F16> && flags.ftz ? flushHalf(a) : a;
  }
  template <typename... S> uint16_t operator()(S... bits) const {
    float value = Op::of(widen<F>(flushed(bits))...);
    value = flags.sat ? saturate(value) : value;
    auto result = flushed(uint16_t(narrow<F>(value)));
    result = flags.relu ? uint16_t(relu<F>(result)) : result;
    bool outside = false;
    ((outside |= bits == oobNaN16), ...);
    return flags.oob && outside ? uint16_t(0) : result;
  }
};
struct Add {
  static float of(float a, float b) { return a + b; }
};
struct Sub {
  static float of(float a, float b) { return a - b; }
};
struct Mul {
  static float of(float a, float b) { return a * b; }
};
struct Fma {
  static float of(float a, float b, float c) {
    return toOdd(addOdd<float>(double(a) * double(b), double(c)));
  }
};

template <class F, bool Max> struct Extreme {
  Flags flags;
  explicit Extreme(const Instruction &i) : flags(i) {}
  uint16_t operator()(uint16_t a, uint16_t b) const {
    if (std::is_same_v<F, F16> && flags.ftz) {
      a = flushHalf(a);
      b = flushHalf(b);
    }
    uint16_t sign = (a ^ b) & 0x8000;
    uint16_t keep = flags.xorSign ? 0x7fff : 0xffff;
    float x = widen<F>(a & keep), y = widen<F>(b & keep);
    float m = Max ? greatest(x, y, flags.nan) : least(x, y, flags.nan);
    auto result = uint16_t(narrow<F>(m));
    return m == m && flags.xorSign ? uint16_t(result | sign) : result;
  }
};

template <class F, uint16_t And, uint16_t Xor> struct OnSign {
  bool ftz;
  explicit OnSign(const Instruction &i) : ftz(i.options & optionFtz) {}
  uint16_t operator()(uint16_t a) const {
    if (std::is_same_v<F, F16> && ftz)
      a = flushHalf(a);
    return uint16_t((a & And) ^ Xor);
  }
};
template <class F> using Neg = OnSign<F, 0xffff, 0x8000>;
template <class F> using Abs = OnSign<F, 0x7fff, 0>;

/// The same on both halves of a word.
template <class Op> struct Pair : Op {
  using Op::Op;
  template <typename... S> uint32_t operator()(S... words) const {
    uint32_t low = Op::operator()(uint16_t(words)...);
    uint32_t high = Op::operator()(uint16_t(words >> 16)...);
    return low | high << 16;
  }
};

bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }
bool isBFloat(Type t) { return t == Type::BF16 || t == Type::BF16x2; }

template <class OnHalf, class OnBFloat, unsigned N> Handler handlerOf(Type t) {
  if (isBFloat(t))
    return isPair(t) ? uniform<Pair<OnBFloat>, uint32_t, N>()
                     : uniform<OnBFloat, uint16_t, N>();
  return isPair(t) ? uniform<Pair<OnHalf>, uint32_t, N>()
                   : uniform<OnHalf, uint16_t, N>();
}

Type halfType(Decoder &d) {
  return d.type({Type::F16, Type::F16x2, Type::BF16, Type::BF16x2});
}
/// Rejects .ftz and .sat for bf16.
void refuse(Decoder &d, Type t, uint32_t options) {
  if (isBFloat(t) && (options & (optionFtz | optionSat)))
    d.fail("'" + d.tree().spelling() + "': .ftz and .sat are for f16");
}

template <class Op, unsigned N> void decodeArithmetic(Decoder &d) {
  constexpr bool isFma = N == 3;
  Rounding r = d.rounding(isFma ? Rounding::None : Rounding::Rn);
  if (r != Rounding::Rn)
    d.fail("'" + d.tree().spelling() + "' rounds with .rn" +
           (r == Rounding::None ? ", which must be spelled out" : " only"));
  uint32_t options =
      (d.take("ftz") ? optionFtz : 0) | (d.take("sat") ? optionSat : 0);
  if constexpr (isFma) {
    if (d.take("relu"))
      options |= optionRelu;
    if (d.take("oob")) {
      d.require(90, 81);
      options |= optionOob;
    }
    if ((options & optionSat) && (options & (optionRelu | optionOob)))
      d.fail("'" + d.tree().spelling() + "': .sat excludes .relu and .oob");
  }
  Type t = halfType(d);
  refuse(d, t, options);
  if (isBFloat(t))
    d.require(isFma ? 80 : 90, isFma ? 70 : 78);
  else
    d.require(options & optionRelu ? 80 : 53, options & optionRelu ? 70 : 42);
  plainOperands(d, handlerOf<Scalar<F16, Op>, Scalar<BF16, Op>, N>(t),
                Class::Half, t, N);
  d.current().options = options;
}

template <bool Max> void decodeExtreme(Decoder &d) {
  uint32_t options =
      (d.take("ftz") ? optionFtz : 0) | (d.take("NaN") ? optionNaN : 0);
  if (d.take("xorsign")) {
    if (!d.take("abs"))
      d.fail("'" + d.tree().spelling() + "': .xorsign needs .abs");
    d.require(86, 72);
    options |= optionXorSign;
  }
  Type t = halfType(d);
  refuse(d, t, options);
  d.require(80, 70);
  plainOperands(d, handlerOf<Extreme<F16, Max>, Extreme<BF16, Max>, 2>(t),
                Class::Half, t, 2);
  d.current().options = options;
}

template <template <class> class Op> void decodeSign(Decoder &d) {
  uint32_t options = d.take("ftz") ? optionFtz : 0;
  Type t = halfType(d);
  refuse(d, t, options);
  d.require(isBFloat(t) ? 80 : 53, isBFloat(t) ? 70 : 60);
  plainOperands(d, handlerOf<Op<F16>, Op<BF16>, 1>(t), Class::Half, t, 1);
  d.current().options = options;
}

// ---- ex2, tanh

/// options: the function, optionFtz
template <class F, bool IsPair>
Step approximateLanes(Context &c, const Instruction &i) {
  using Word = std::conditional_t<IsPair, uint32_t, uint16_t>;
  auto function = Approximation(i.options & 0xff);
  bool ftz = i.options & optionFtz;
  const Word *a = c.lanes<Word>(i.slots[1]);
  auto one = [&](uint16_t bits) -> uint32_t {
    float x = widen<F>(bits);
    x = ftz ? flush(x) : x; // bf16 has the exponents of f32
    uint16_t r =
        approximate<F>(function, x, exactValue(function, x), c.warp.random);
    return ftz && !(r & F::infinity) ? r & 0x8000 : r;
  };
  Word results[32] = {};
  for (unsigned l = 0; l < 32; ++l)
    if (c.active(l))
      results[l] =
          Word(one(uint16_t(a[l])) |
               (IsPair ? one(uint16_t(uint32_t(a[l]) >> 16)) << 16 : 0));
  put(c, i.slots[0], results);
  if (function == Approximation::Ex2Half ||
      function == Approximation::Ex2BFloat)
    c.warp.counters->exp2 +=
        unsigned(__builtin_popcount(c.mask)) * (IsPair ? 2 : 1);
  return Step::Next;
}
void approximation(Decoder &d, Type t, Approximation function, bool ftz) {
  Handler h = isBFloat(t) ? (isPair(t) ? &approximateLanes<BF16, true>
                                       : &approximateLanes<BF16, false>)
                          : (isPair(t) ? &approximateLanes<F16, true>
                                       : &approximateLanes<F16, false>);
  plainOperands(d, h, Class::Special, t, 1);
  d.current().options = uint32_t(function) | (ftz ? optionFtz : 0);
}
void decodeEx2(Decoder &d) {
  if (!d.take("approx"))
    d.fail("'" + d.tree().spelling() + "' needs .approx");
  bool ftz = d.take("ftz");
  Type t = halfType(d);
  if (ftz != isBFloat(t))
    d.fail("'" + d.tree().spelling() +
           "': bf16 needs .ftz, f16 does not take it");
  d.require(ftz ? 90 : 75, ftz ? 78 : 70);
  approximation(d, t, ftz ? Approximation::Ex2BFloat : Approximation::Ex2Half,
                ftz);
}
void decodeTanh(Decoder &d) {
  if (!d.take("approx"))
    d.fail("'" + d.tree().spelling() + "' needs .approx");
  Type t = halfType(d);
  bool b = isBFloat(t);
  d.require(b ? 90 : 75, b ? 78 : 70);
  approximation(d, t, b ? Approximation::TanhBFloat : Approximation::TanhHalf,
                false);
}

} // namespace

void registerHalf(Families &f) {
  f["add/half"] = decodeArithmetic<Add, 2>;
  f["sub/half"] = decodeArithmetic<Sub, 2>;
  f["mul/half"] = decodeArithmetic<Mul, 2>;
  f["fma/half"] = decodeArithmetic<Fma, 3>;
  f["neg/half"] = decodeSign<Neg>;
  f["abs/half"] = decodeSign<Abs>;
  f["min/half"] = decodeExtreme<false>;
  f["max/half"] = decodeExtreme<true>;
  f["ex2/half"] = decodeEx2;
  f["tanh/half"] = decodeTanh;
}

} // namespace act::runtime::sim
