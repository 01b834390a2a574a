// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on f32 and f64 (PTX ISA 9.7.3). Rounding to nearest has a fast
// form; the other modes share one that reads the instruction's options.
#include "runtime/sim/arithmetic/Approximate.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <cmath>

namespace act::runtime::sim {

using ptx::Type;

namespace {

// ---- operations, by rounding

struct Add {
  template <typename T> static T of(Rounding r, T a, T b) {
    return addRounded(a, b, r);
  }
};
struct Sub {
  template <typename T> static T of(Rounding r, T a, T b) {
    return addRounded(a, -b, r);
  }
};
struct Mul {
  template <typename T> static T of(Rounding r, T a, T b) {
    return mulRounded(a, b, r);
  }
};
struct Fma {
  static float of(Rounding r, float a, float b, float c) {
    return fmaRounded(a, b, c, r);
  }
  static double of(Rounding r, double a, double b, double c) {
    return r == Rounding::Rn ? std::fma(a, b, c) : fmaRounded(a, b, c, r);
  }
};
struct Divide {
  template <typename T> static T of(Rounding r, T a, T b) {
    return divRounded(a, b, r);
  }
};
struct Reciprocal {
  template <typename T> static T of(Rounding r, T a) {
    return divRounded(T(1), a, r);
  }
};
struct SquareRoot {
  template <typename T> static T of(Rounding r, T a) {
    return sqrtRounded(a, r);
  }
};

enum : uint32_t { // options: the rounding in the low byte
  optionFtz = 0x100,
  optionSat = 0x200,
  optionNaN = 0x400,
  optionXorSign = 0x800,
};

/// Order matters: subnormal operands are flushed before the operation, its
/// result afterwards, and saturation comes last.
template <class Op, bool Ftz, bool Sat> struct Nearest : Plain {
  using Plain::Plain;
  template <typename... S> float operator()(S... s) const {
    float r = canonical(Op::of(Rounding::Rn, (Ftz ? flush(s) : s)...));
    if (Ftz)
      r = flush(r);
    return Sat ? saturate(r) : r;
  }
};
template <class Op> struct Nearest64 : Plain {
  using Plain::Plain;
  template <typename... S> double operator()(S... s) const {
    return Op::of(Rounding::Rn, s...);
  }
};
template <class Op> struct InMode {
  Rounding rounding;
  bool ftz, sat;
  explicit InMode(const Instruction &i)
      : rounding(Rounding(i.options & 0xff)), ftz(i.options & optionFtz),
        sat(i.options & optionSat) {}
  template <typename... S> float operator()(S... s) const {
    float r = canonical(Op::of(rounding, (ftz ? flush(s) : s)...));
    r = ftz ? flush(r) : r;
    return sat ? saturate(r) : r;
  }
};
template <class Op> struct InMode64 {
  Rounding rounding;
  explicit InMode64(const Instruction &i)
      : rounding(Rounding(i.options & 0xff)) {}
  template <typename... S> double operator()(S... s) const {
    return Op::of(rounding, s...);
  }
};

// The most frequent operation: uses the host's FMA instruction if available.
#if defined(__x86_64__)
/// Uses the host's fused multiply-add, where it has one. It rounds once, as
/// PTX's does.
template <bool Ftz>
__attribute__((target("avx2,fma"))) Step fmaByMachine(Context &c,
                                                      const Instruction &i) {
  const float *x = c.lanes<float>(i.slots[1]), *y = c.lanes<float>(i.slots[2]),
              *z = c.lanes<float>(i.slots[3]);
  alignas(64) float results[32];
  for (unsigned l = 0; l < 32; ++l) {
    float a = x[l], b = y[l], s = z[l];
    if (Ftz)
      a = flush(a), b = flush(b), s = flush(s);
    float r = canonical(__builtin_fmaf(a, b, s));
    results[l] = Ftz ? flush(r) : r;
  }
  put(c, i.slots[0], results);
  return Step::Next;
}
Handler machineFma(bool ftz) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return nullptr;
  return ftz ? &fmaByMachine<true> : &fmaByMachine<false>;
}
#else
Handler machineFma(bool) { return nullptr; }
#endif

/// The fastest handler for the type and options: flags that are off cost
/// nothing, because each combination has its own loop.
template <class Op, unsigned N> Handler arithmetic(Type t, uint32_t options) {
  bool nearest = Rounding(options & 0xff) == Rounding::Rn;
  if (t == Type::F64)
    return nearest ? uniform<Nearest64<Op>, double, N>()
                   : uniform<InMode64<Op>, double, N>();
  if (!nearest)
    return uniform<InMode<Op>, float, N>();
  bool ftz = options & optionFtz, sat = options & optionSat;
  if (std::is_same_v<Op, Fma> && !sat)
    if (Handler h = machineFma(ftz))
      return h;
  if (ftz)
    return sat ? uniform<Nearest<Op, true, true>, float, N>()
               : uniform<Nearest<Op, true, false>, float, N>();
  return sat ? uniform<Nearest<Op, false, true>, float, N>()
             : uniform<Nearest<Op, false, false>, float, N>();
}

/// Rn Rz Rm Rp; required if `byDefault` is None.
Rounding takeRounding(Decoder &d, Rounding byDefault) {
  Rounding r = d.rounding(byDefault);
  if (r == Rounding::None)
    d.fail("'" + d.tree().spelling() +
           "' needs a rounding mode: .rn, .rz, .rm or .rp");
  else if (r > Rounding::Rp)
    d.fail("'" + d.tree().spelling() +
           "' rounds with .rn, .rz, .rm or .rp only");
  return r;
}
/// .ftz and .sat; floatType() rejects them for f64.
uint32_t takeFlags(Decoder &d, bool withSat) {
  return (d.take("ftz") ? optionFtz : 0) |
         (withSat && d.take("sat") ? optionSat : 0);
}
Type floatType(Decoder &d, uint32_t flags) {
  if (d.peek("f16") || d.peek("bf16")) // mixed precision
    d.require(100, 86);
  Type t = d.type({Type::F32, Type::F64});
  if (t == Type::F64 && flags)
    d.fail("'" + d.tree().spelling() + "': .ftz and .sat are for f32");
  return t;
}

template <class Op, unsigned N, bool NeedsRounding, bool Saturates>
void decodeArithmetic(Decoder &d) {
  Rounding r = takeRounding(d, NeedsRounding ? Rounding::None : Rounding::Rn);
  uint32_t flags = takeFlags(d, Saturates);
  Type t = floatType(d, flags);
  uint32_t options = uint32_t(r) | flags;
  plainOperands(d, arithmetic<Op, N>(t, options),
                t == Type::F64 ? Class::Double : Class::Float, t, N);
  d.current().options = options;
}

// ---- approximations

/// options: the function, optionFtz
/// sin, cos, lg2, ex2, rcp, sqrt, rsqrt and tanh with .approx. PTX bounds their
/// error but not their bits. Normally the result is the exact one, rounded. A
/// seed draws it within the bound, so that a test finds kernels that depend on
/// more.
Step approximateLanes(Context &c, const Instruction &i) {
  auto function = Approximation(i.options & 0xff);
  bool ftz = i.options & optionFtz;
  const float *a = c.lanes<float>(i.slots[1]);
  Random &random = c.warp.random;
  float results[32] = {};
  if (function == Approximation::Ex2)
    c.warp.counters->exp2 += unsigned(__builtin_popcount(c.mask));
  if (function == Approximation::Ex2 && random.roundsPlainly()) {
    float x[32];
    for (unsigned l = 0; l < 32; ++l)
      x[l] = ftz ? flush(a[l]) : a[l];
    exp2Lanes(x, c.mask, results);
    for (float &r : results)
      r = ftz ? flush(r) : r;
    put(c, i.slots[0], results);
    return Step::Next;
  }
  for (unsigned l = 0; l < 32; ++l) {
    if (!c.active(l))
      continue;
    float x = ftz ? flush(a[l]) : a[l];
    double exact = exactValue(function, x);
    float r = random.roundsPlainly()
                  ? canonical(float(exact))
                  : as<float>(approximate<F32>(function, x, exact, random));
    results[l] = ftz ? flush(r) : r;
  }
  put(c, i.slots[0], results);
  return Step::Next;
}

/// div.approx and div.full: as approximateLanes, with two sources.
Step divideApproximately(Context &c, const Instruction &i) {
  auto function = Approximation(i.options & 0xff);
  bool ftz = i.options & optionFtz;
  const float *a = c.lanes<float>(i.slots[1]), *b = c.lanes<float>(i.slots[2]);
  float results[32] = {};
  for (unsigned l = 0; l < 32; ++l) {
    if (!c.active(l))
      continue;
    float x = ftz ? flush(a[l]) : a[l], y = ftz ? flush(b[l]) : b[l];
    double exact = double(x) / y;
    // The hardware computes x * (1 / y), and 1 / y is flushed for such large y.
    if (function == Approximation::Divide && std::fabs(y) > 0x1p126f &&
        !std::isinf(y))
      exact = double(x) * std::copysign(0.0, double(y));
    float r = as<float>(approximate<F32>(function, y, exact, c.warp.random));
    results[l] = ftz ? flush(r) : r;
  }
  put(c, i.slots[0], results);
  return Step::Next;
}

/// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: use and produce only the upper
/// word.
template <bool Root> struct Gross : Plain {
  using Plain::Plain;
  static uint64_t flushed(uint64_t u) {
    return u & 0x7ff0000000000000 ? u : u & 0x8000000000000000;
  }
  uint64_t operator()(uint64_t a) const {
    double x = as<double>(flushed(a & 0xffffffff00000000));
    double r = Root ? 1 / std::sqrt(x) : 1 / x;
    if (r != r)
      return 0x7fffffff00000000;
    // Round to nearest in 1.11.20 bits; a carry into the exponent is correct.
    uint64_t u = as<uint64_t>(r);
    if (!std::isinf(r))
      u += 0x80000000;
    return flushed(u & 0xffffffff00000000);
  }
};
struct ReciprocalRoot64 : Plain {
  using Plain::Plain;
  double operator()(double a) const { return 1 / std::sqrt(a); }
};

void approximation(Decoder &d, Handler handler, Approximation function,
                   unsigned sources) {
  bool ftz = d.take("ftz");
  plainOperands(d, handler, Class::Special, d.type({Type::F32}), sources);
  d.current().options = uint32_t(function) | (ftz ? optionFtz : 0);
}

void decodeDiv(Decoder &d) {
  int way = d.oneOf({"approx", "full"});
  if (way < 0)
    return decodeArithmetic<Divide, 2, true, false>(d);
  approximation(d, &divideApproximately,
                way ? Approximation::DivideFull : Approximation::Divide, 2);
}

template <bool Root> void decodeGross(Decoder &d) {
  d.type({Type::F64});
  if (!d.take("ftz"))
    d.fail("'" + d.tree().spelling() + "' needs .ftz");
  plainOperands(d, &map<Gross<Root>, uint64_t, uint64_t>, Class::Double,
                Type::F64, 1);
}
void decodeRcp(Decoder &d) {
  if (!d.take("approx"))
    return decodeArithmetic<Reciprocal, 1, true, false>(d);
  if (d.peek("f64"))
    return decodeGross<false>(d);
  approximation(d, &approximateLanes, Approximation::Rcp, 1);
}
void decodeSqrt(Decoder &d) {
  if (!d.take("approx"))
    return decodeArithmetic<SquareRoot, 1, true, false>(d);
  approximation(d, &approximateLanes, Approximation::Sqrt, 1);
}
bool needsApprox(Decoder &d) {
  if (d.take("approx"))
    return true;
  d.fail("'" + d.tree().spelling() + "' needs .approx");
  return false;
}
void decodeRsqrt(Decoder &d) {
  if (!needsApprox(d))
    return;
  if (!d.peek("f64"))
    return approximation(d, &approximateLanes, Approximation::Rsqrt, 1);
  if (d.peek("ftz"))
    return decodeGross<true>(d);
  d.type({Type::F64});
  plainOperands(d, &map<ReciprocalRoot64, double, double>, Class::Double,
                Type::F64, 1);
}
template <Approximation Function> void decodeApproximate(Decoder &d) {
  if (needsApprox(d))
    approximation(d, &approximateLanes, Function, 1);
}
void decodeTanh(Decoder &d) {
  if (!needsApprox(d))
    return;
  d.require(75, 70);
  d.type({Type::F32});
  plainOperands(d, &approximateLanes, Class::Special, Type::F32, 1);
  d.current().options = uint32_t(Approximation::Tanh);
}

// ---- signs, minimum and maximum

template <typename T> struct SignBit;
template <> struct SignBit<float> {
  using Bits = uint32_t;
  static constexpr Bits value = 0x80000000;
};
template <> struct SignBit<double> {
  using Bits = uint64_t;
  static constexpr Bits value = 0x8000000000000000;
};
template <typename T> T withSign(T magnitude, T sign) {
  using S = SignBit<T>;
  using Bits = typename S::Bits;
  return as<T>(
      Bits((as<Bits>(magnitude) & ~S::value) | (as<Bits>(sign) & S::value)));
}

struct Neg {
  template <typename T> static T of(T a) {
    using S = SignBit<T>;
    return as<T>(typename S::Bits(as<typename S::Bits>(a) ^ S::value));
  }
};
struct Abs {
  template <typename T> static T of(T a) { return withSign(a, T(0)); }
};
template <class Op, bool Ftz> struct OnSign : Plain {
  using Plain::Plain;
  float operator()(float a) const { return Op::of(Ftz ? flush(a) : a); }
  double operator()(double a) const { return Op::of(a); }
};
template <class Op> void decodeSign(Decoder &d) {
  uint32_t flags = takeFlags(d, false);
  Type t = floatType(d, flags);
  plainOperands(d,
                t == Type::F64 ? &map<OnSign<Op, false>, double, double>
                : flags        ? &map<OnSign<Op, true>, float, float>
                               : &map<OnSign<Op, false>, float, float>,
                t == Type::F64 ? Class::Double : Class::Float, t, 1);
}
struct CopySign : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a, T b) const { return withSign(b, a); }
};
void decodeCopysign(Decoder &d) {
  Type t = d.type({Type::F32, Type::F64});
  plainOperands(d,
                t == Type::F64 ? &map<CopySign, double, double, double>
                               : &map<CopySign, float, float, float>,
                t == Type::F64 ? Class::Double : Class::Float, t, 2);
}

/// min and max. Without .NaN a NaN loses against a number; with it, it wins.
/// .xorsign compares magnitudes and gives the result the product of the signs.
template <bool Max> struct Extreme {
  bool ftz, nan, xorSign;
  explicit Extreme(const Instruction &i)
      : ftz(i.options & optionFtz), nan(i.options & optionNaN),
        xorSign(i.options & optionXorSign) {}
  float operator()(float a, float b) const {
    a = ftz ? flush(a) : a;
    b = ftz ? flush(b) : b;
    float sign = as<float>(as<uint32_t>(a) ^ as<uint32_t>(b));
    a = xorSign ? std::fabs(a) : a;
    b = xorSign ? std::fabs(b) : b;
    float m = Max ? greatest(a, b, nan) : least(a, b, nan);
    float r = xorSign ? withSign(m, sign) : m;
    return m != m ? as<float>(uint32_t(F32::nan)) : r;
  }
  double operator()(double a, double b) const {
    return Max ? greatest(a, b, false) : least(a, b, false);
  }
};
template <bool Max> void decodeExtreme(Decoder &d) {
  uint32_t options = takeFlags(d, false);
  if (d.take("NaN")) {
    d.require(80, 70);
    options |= optionNaN;
  }
  if (d.take("xorsign")) {
    d.require(86, 72);
    if (!d.take("abs"))
      d.fail("'" + d.tree().spelling() + "': .xorsign needs .abs");
    options |= optionXorSign;
  }
  Type t = floatType(d, options);
  if (d.operandCount() == 4) // three sources
    d.require(100, 88);
  plainOperands(d,
                t == Type::F64 ? &map<Extreme<Max>, double, double, double>
                               : &map<Extreme<Max>, float, float, float>,
                t == Type::F64 ? Class::Double : Class::Float, t, 2);
  d.current().options = options;
}

// ---- testp

enum class Property : uint8_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal,
  Subnormal
};
template <Property P, typename T> struct Test : Plain {
  using Plain::Plain;
  bool operator()(T a) const {
    using Limits = std::numeric_limits<T>;
    T m = std::fabs(a);
    switch (P) {
    case Property::Finite:
      return m <= Limits::max();
    case Property::Infinite:
      return m > Limits::max();
    case Property::Number:
      return a == a;
    case Property::NotANumber:
      return a != a;
    case Property::Normal: // zeros count as normal
      return (m >= Limits::min() && m <= Limits::max()) || m == 0;
    case Property::Subnormal:
      return m < Limits::min() && m > 0;
    }
    return false;
  }
};
template <Property P, typename T>
Step testLane(Context &c, const Instruction &i) {
  putPredicate(
      c, i.slots[0],
      testLanes<Test<P, T>, T>(c, i, 1, std::make_index_sequence<1>()));
  return Step::Next;
}
template <typename T> Handler testOf(int property) {
  static const Handler handlers[] = {
      &testLane<Property::Finite, T>, &testLane<Property::Infinite, T>,
      &testLane<Property::Number, T>, &testLane<Property::NotANumber, T>,
      &testLane<Property::Normal, T>, &testLane<Property::Subnormal, T>};
  return handlers[property < 0 ? 0 : property];
}
void decodeTestp(Decoder &d) {
  int property = d.oneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"},
      true);
  Type t = d.type({Type::F32, Type::F64});
  d.begin(t == Type::F64 ? testOf<double>(property) : testOf<float>(property),
          Class::Compare);
  d.result(0, Type::Pred);
  d.source(1, t);
}

} // namespace

void registerFloat(Families &f) {
  f["add/float"] = decodeArithmetic<Add, 2, false, true>;
  f["sub/float"] = decodeArithmetic<Sub, 2, false, true>;
  f["mul/float"] = decodeArithmetic<Mul, 2, false, true>;
  f["fma/float"] = decodeArithmetic<Fma, 3, true, true>;
  f["mad/float"] = decodeArithmetic<Fma, 3, true, true>;
  f["div/float"] = decodeDiv;
  f["rcp"] = decodeRcp;
  f["sqrt"] = decodeSqrt;
  f["rsqrt"] = decodeRsqrt;
  f["sin"] = decodeApproximate<Approximation::Sin>;
  f["cos"] = decodeApproximate<Approximation::Cos>;
  f["lg2"] = decodeApproximate<Approximation::Lg2>;
  f["ex2/float"] = decodeApproximate<Approximation::Ex2>;
  f["tanh/float"] = decodeTanh;
  f["neg/float"] = decodeSign<Neg>;
  f["abs/float"] = decodeSign<Abs>;
  f["copysign"] = decodeCopysign;
  f["min/float"] = decodeExtreme<false>;
  f["max/float"] = decodeExtreme<true>;
  f["testp"] = decodeTestp;
}

} // namespace act::runtime::sim
