// SPDX-License-Identifier: Apache-2.0
//
// Formats are checked against an oracle that knows nothing of bit tricks: the
// list of all numbers of the format, made by ldexp from its definition, and a
// search for a number's two neighbours in it. Directed arithmetic is checked
// against the machine's, with its rounding mode set.
#include "runtime/sim/arithmetic/Numerics.h"
#include "runtime/sim/arithmetic/Random.h"
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace act::runtime::sim;

namespace {

const Rounding modes[] = {Rounding::Rn, Rounding::Rz, Rounding::Rm,
                          Rounding::Rp, Rounding::Rna};

/// The value of a bit pattern by the definition of the format.
template <class F> double valueOf(uint32_t bits) {
  uint32_t mantissa = bits & ((1u << F::mantissaBits) - 1);
  uint32_t e = bits >> F::mantissaBits & ((1u << F::exponentBits) - 1);
  double sign = bits >> (F::exponentBits + F::mantissaBits) & 1 ? -1 : 1;
  uint32_t top = (1u << F::exponentBits) - 1;
  if (F::hasInfinity && e == top)
    return mantissa ? NAN : sign * INFINITY;
  if (!F::hasInfinity && e == top && mantissa == (1u << F::mantissaBits) - 1)
    return NAN;
  int scale = 1 - F::bias - int(F::mantissaBits);
  return e == 0 ? sign * std::ldexp(double(mantissa), scale)
                : sign * std::ldexp(double(mantissa + (1u << F::mantissaBits)),
                                    scale + int(e) - 1);
}

/// Rounds by looking: `numbers` are the finite magnitudes in ascending order,
/// so that a number's index is its bit pattern.
template <class F> class Oracle {
public:
  Oracle() {
    for (uint32_t bits = 0; bits <= F::magnitude; ++bits) {
      double v = valueOf<F>(bits);
      if (std::isfinite(v))
        numbers.push_back(v);
    }
    // Where the next number would be if the exponent went on.
    next = 2 * numbers.back() - numbers[numbers.size() - 2];
  }
  uint32_t round(double x, Rounding r, bool finite) const {
    if (std::isnan(x))
      return F::nan;
    bool negative = std::signbit(x);
    uint32_t sign = negative ? uint32_t(F::magnitude) + 1 : 0;
    double a = std::fabs(x);
    uint32_t largest = uint32_t(numbers.size()) - 1;
    if (std::isinf(x))
      return sign | (finite ? largest : F::infinity);
    size_t i = std::upper_bound(numbers.begin(), numbers.end(), a) -
               numbers.begin() - 1; // numbers[i] <= a
    double low = numbers[i], high = i == largest ? next : numbers[i + 1];
    bool up = false;
    if (a != low)
      switch (r) {
      case Rounding::Rn:
        up = a - low > high - a || (a - low == high - a && (i & 1));
        break;
      case Rounding::Rna:
        up = a - low >= high - a;
        break;
      case Rounding::Rm:
        up = negative;
        break;
      case Rounding::Rp:
        up = !negative;
        break;
      default:
        break;
      }
    if (a >= next) // beyond: as if the format went on, then capped
      up = r == Rounding::Rn || r == Rounding::Rna ||
           (r == Rounding::Rm && negative) || (r == Rounding::Rp && !negative);
    i += up;
    if (i > largest)
      return sign | (finite ? largest : F::infinity);
    return sign | uint32_t(i);
  }
  std::vector<double> numbers;
  double next;
};

template <class F> class FormatTest : public testing::Test {};
using Formats = testing::Types<F16, BF16, TF32, E4M3, E5M2>;
TYPED_TEST_SUITE(FormatTest, Formats);

TYPED_TEST(FormatTest, WidensEveryPattern) {
  using F = TypeParam;
  for (uint64_t bits = 0; bits <= 2 * uint64_t(F::magnitude) + 1; ++bits) {
    double expected = valueOf<F>(uint32_t(bits));
    float got = widen<F>(uint32_t(bits));
    if (std::isnan(expected))
      ASSERT_EQ(as<uint32_t>(got), 0x7fffffffu) << bits;
    else
      ASSERT_EQ(as<uint32_t>(got), as<uint32_t>(float(expected))) << bits;
  }
}

TYPED_TEST(FormatTest, RoundsAroundEveryNumberAndMidpoint) {
  using F = TypeParam;
  Oracle<F> oracle;
  auto check = [&](double x) {
    for (double signedX : {x, -x})
      for (Rounding r : modes)
        for (bool finite : {false, true}) {
          uint32_t expected = oracle.round(signedX, r, finite);
          ASSERT_EQ(narrowDouble<F>(signedX, r, finite), expected)
              << signedX << " mode " << int(r) << " finite " << finite;
          float f = float(signedX);
          if (double(f) == signedX)
            ASSERT_EQ(narrow<F>(f, r, finite), expected)
                << signedX << " mode " << int(r) << " finite " << finite;
        }
  };
  for (size_t i = 0; i < oracle.numbers.size(); ++i) {
    double low = oracle.numbers[i];
    double high =
        i + 1 < oracle.numbers.size() ? oracle.numbers[i + 1] : oracle.next;
    double middle = (low + high) / 2;
    for (double x : {low, middle})
      for (double near : {x, std::nextafter(x, 0.0), std::nextafter(x, 1e300),
                          double(std::nextafter(float(x), 0.0f)),
                          double(std::nextafter(float(x), 1e38f))})
        check(near);
    if (this->HasFatalFailure())
      return;
  }
  for (double x : {oracle.next, 1.5 * oracle.next, 1e39, 1e300, 1e-300, 5e-324,
                   double(INFINITY), 1e-45, 1.1754942e-38})
    check(x);
  EXPECT_EQ(narrow<F>(NAN), F::nan);
  EXPECT_EQ(narrow<F>(-NAN, Rounding::Rz, true), F::nan);
  EXPECT_EQ(narrowDouble<F>(-NAN), F::nan);
}

TYPED_TEST(FormatTest, RoundsRandomFloats) {
  using F = TypeParam;
  Oracle<F> oracle;
  Random random(1, 2);
  for (int i = 0; i < 200000; ++i) {
    float x = as<float>(uint32_t(random.next()));
    Rounding r = modes[random.below(5)];
    bool finite = random.below(2);
    ASSERT_EQ(narrow<F>(x, r, finite), oracle.round(x, r, finite))
        << x << " mode " << int(r);
  }
}

TYPED_TEST(FormatTest, ReluKeepsWhatIsPositive) {
  using F = TypeParam;
  for (uint64_t bits = 0; bits <= 2 * uint64_t(F::magnitude) + 1; ++bits) {
    double v = valueOf<F>(uint32_t(bits));
    uint32_t expected = std::isnan(v)     ? uint32_t(F::nan)
                        : std::signbit(v) ? 0
                                          : uint32_t(bits);
    ASSERT_EQ(relu<F>(uint32_t(bits)), expected) << bits;
  }
}

TEST(Formats, AreTheDocumentedOnes) {
  EXPECT_EQ(widen<E4M3>(0x7e), 448.0f);
  EXPECT_EQ(widen<E4M3>(0x01), 0x1p-9f);
  EXPECT_EQ(widen<E5M2>(0x7b), 57344.0f);
  EXPECT_EQ(widen<F16>(0x7bff), 65504.0f);
  EXPECT_EQ(toE4M3(1e9f), 0x7e);
  EXPECT_EQ(toE4M3(-INFINITY), 0xfe);
  EXPECT_EQ(toTF32(as<float>(0x3f801000)), 0x3f802000u); // a tie, away
  EXPECT_EQ(toTF32(as<float>(0x3f801000), Rounding::Rn), 0x3f800000u);
  EXPECT_EQ(toTF32(as<float>(0x3f800fff)), 0x3f800000u);
  EXPECT_EQ(toTF32(NAN), 0x7fffffffu);
  EXPECT_EQ(toTF32(as<float>(0x7f7fffffu)), 0x7f800000u);
  EXPECT_EQ(toTF32(as<float>(0x7f7fffffu), Rounding::Rna, true), 0x7f7fe000u);
}

// ---- directed arithmetic

int environmentOf(Rounding r) {
  return r == Rounding::Rz   ? FE_TOWARDZERO
         : r == Rounding::Rm ? FE_DOWNWARD
         : r == Rounding::Rp ? FE_UPWARD
                             : FE_TONEAREST;
}

/// Computes with the machine's rounding mode set. The compiler must not look
/// through this.
template <typename T, typename Function>
__attribute__((noinline)) T inMode(Rounding r, Function f) {
  std::fesetround(environmentOf(r));
  volatile T result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// Numbers that make rounding hard: near each other, near powers of two,
/// subnormal, huge; or anything.
template <typename T> T hard(Random &random) {
  constexpr unsigned M = sizeof(T) == 4 ? 23 : 52, E = sizeof(T) == 4 ? 8 : 11;
  uint64_t mantissa = random.next() & ((uint64_t(1) << M) - 1);
  uint64_t bias = (uint64_t(1) << (E - 1)) - 1, e;
  switch (random.below(6)) {
  case 0:
    e = random.below(1u << E);
    break;
  case 1:
    e = random.below(3);
    break;
  case 2:
    e = (1u << E) - 1 - random.below(4);
    break;
  default:
    e = bias + random.below(2 * M + 4) - M - 2;
    break;
  }
  switch (random.below(5)) {
  case 0:
    mantissa = 0;
    break;
  case 1:
    mantissa = (uint64_t(1) << M) - 1;
    break;
  case 2:
    mantissa &= ~uint64_t(0) << random.below(M);
    break;
  case 3:
    mantissa = random.below(4);
    break;
  }
  uint64_t sign = uint64_t(random.below(2)) << (M + E);
  return as<T>(BitsOf<T>(sign | e << M | mantissa));
}

template <typename T>
void expectSame(T got, T expected, const char *what, Rounding r, T a, T b,
                T c) {
  if (std::isnan(expected) && std::isnan(got))
    return;
  ASSERT_EQ(as<BitsOf<T>>(got), as<BitsOf<T>>(expected))
      << what << " mode " << int(r) << " of " << std::hexfloat << a << " " << b
      << " " << c << ": " << got << " for " << expected;
}

template <typename T> class Directed : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Directed, Floats);

TYPED_TEST(Directed, AgreesWithTheMachine) {
  using T = TypeParam;
  Random random(7, 7);
  for (int i = 0; i < 300000; ++i) {
    T a = hard<T>(random), b = hard<T>(random), c = hard<T>(random);
    if (random.below(4) == 0) { // cancel
      c = -T(a * b);
      b = random.below(2) ? b : -a;
    }
    volatile T va = a, vb = b, vc = c;
    for (Rounding r :
         {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp}) {
      expectSame<T>(addRounded<T>(a, b, r),
                    inMode<T>(r, [&] { return va + vb; }), "add", r, a, b, c);
      expectSame<T>(mulRounded<T>(a, b, r),
                    inMode<T>(r, [&] { return va * vb; }), "mul", r, a, b, c);
      expectSame<T>(divRounded<T>(a, b, r),
                    inMode<T>(r, [&] { return va / vb; }), "div", r, a, b, c);
      expectSame<T>(fmaRounded<T>(a, b, c, r),
                    inMode<T>(r, [&] { return std::fma(T(va), T(vb), T(vc)); }),
                    "fma", r, a, b, c);
      expectSame<T>(sqrtRounded(a, r),
                    inMode<T>(r, [&] { return std::sqrt(T(va)); }), "sqrt", r,
                    a, b, c);
      if (this->HasFatalFailure())
        return;
    }
  }
}

TYPED_TEST(Directed, IntegersAgreeWithTheMachine) {
  using T = TypeParam;
  using F = std::conditional_t<sizeof(T) == 4, F32, F64>;
  Random random(3, 3);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random.next() >> random.below(64);
    if (random.below(2))
      bits = 0 - bits;
    volatile uint64_t u = bits;
    volatile int64_t s = int64_t(bits);
    for (Rounding r :
         {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp}) {
      ASSERT_EQ(fromInteger<F>(bits, true, r),
                as<BitsOf<T>>(inMode<T>(r, [&] { return T(s); })));
      // The machine has no conversion of 64 unsigned bits to rely on.
      if (int64_t(bits) >= 0)
        ASSERT_EQ(fromInteger<F>(u, false, r),
                  as<BitsOf<T>>(inMode<T>(r, [&] { return T(s); })));
    }
  }
  EXPECT_EQ(fromInteger<F32>(~uint64_t(0), false, Rounding::Rz), 0x5f7fffffu);
  EXPECT_EQ(fromInteger<F32>(~uint64_t(0), false, Rounding::Rn), 0x5f800000u);
}

// ---- integers

TEST(ToInteger, RoundsAndClamps) {
  struct Row {
    Rounding mode;
    double minus25, minus05, plus05, plus15, plus25;
  } rows[] = {{Rounding::Rni, -2, 0, 0, 2, 2},
              {Rounding::Rzi, -2, 0, 0, 1, 2},
              {Rounding::Rmi, -3, -1, 0, 1, 2},
              {Rounding::Rpi, -2, 0, 1, 2, 3}};
  for (const Row &row : rows) {
    double in[] = {-2.5, -0.5, 0.5, 1.5, 2.5};
    double out[] = {row.minus25, row.minus05, row.plus05, row.plus15,
                    row.plus25};
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(int64_t(toInteger(in[i], row.mode, 64, true, 0)), out[i]);
      EXPECT_EQ(toInteger32(float(in[i]), row.mode, -0x1p31, 0x1p31 - 1),
                out[i]);
      EXPECT_EQ(integral(float(in[i]), row.mode), float(out[i]));
    }
  }
  EXPECT_EQ(toInteger(1e30, Rounding::Rzi, 32, true, 0), 0x7fffffffu);
  EXPECT_EQ(toInteger(-1e30, Rounding::Rzi, 32, true, 0) & 0xffffffff,
            0x80000000u);
  EXPECT_EQ(toInteger(1e30, Rounding::Rzi, 64, false, 0), ~uint64_t(0));
  EXPECT_EQ(toInteger(-3, Rounding::Rzi, 64, false, 0), 0u);
  EXPECT_EQ(toInteger(NAN, Rounding::Rzi, 64, true, 5), 5u);
  EXPECT_EQ(toInteger(0x1p63, Rounding::Rzi, 64, true, 0), 0x7fffffffffffffffu);
  EXPECT_EQ(toInteger32(NAN, Rounding::Rni, -0x1p31, 0x1p31 - 1), 0);
  EXPECT_EQ(toInteger32(INFINITY, Rounding::Rzi, 0, 0xffffffffp0), 0xffffffff);
  EXPECT_EQ(toInteger32(-7, Rounding::Rzi, 0, 255), 0);
  EXPECT_EQ(toInteger32(-INFINITY, Rounding::Rmi, -128, 127), -128);
}

TEST(ToInteger, BothWaysAgree) {
  Random random(9, 9);
  for (int i = 0; i < 500000; ++i) {
    float x = hard<float>(random);
    for (Rounding r :
         {Rounding::Rni, Rounding::Rzi, Rounding::Rmi, Rounding::Rpi}) {
      ASSERT_EQ(toInteger32(x, r, -0x1p31, 0x1p31 - 1),
                int64_t(toInteger(x, r, 32, true, 0)))
          << x;
      ASSERT_EQ(uint64_t(toInteger32(x, r, 0, 0x1p32 - 1)),
                toInteger(x, r, 32, false, 0))
          << x;
    }
  }
}

// ---- minimum and maximum, flushing

TEST(MinimumMaximum, KnowZerosAndNaN) {
  uint32_t minusZero = 0x80000000u;
  EXPECT_EQ(as<uint32_t>(least(0.0f, -0.0f, false)), minusZero);
  EXPECT_EQ(as<uint32_t>(least(-0.0f, 0.0f, false)), minusZero);
  EXPECT_EQ(as<uint32_t>(greatest(0.0f, -0.0f, false)), 0u);
  EXPECT_EQ(as<uint32_t>(greatest(-0.0f, 0.0f, false)), 0u);
  EXPECT_EQ(least(float(NAN), 2.0f, false), 2.0f);
  EXPECT_EQ(greatest(2.0, double(NAN), false), 2.0);
  EXPECT_TRUE(std::isnan(least(float(NAN), 2.0f, true)));
  EXPECT_TRUE(std::isnan(greatest(2.0, double(NAN), true)));
  EXPECT_TRUE(std::isnan(greatest(double(NAN), double(NAN), false)));
  EXPECT_EQ(least(-3.0f, 2.0f, true), -3.0f);
  EXPECT_EQ(greatest(-3.0, 2.0, true), 2.0);
}

TEST(Flush, KeepsSigns) {
  EXPECT_EQ(as<uint32_t>(flush(as<float>(0x807fffffu))), 0x80000000u);
  EXPECT_EQ(as<uint32_t>(flush(as<float>(0x00000001u))), 0u);
  EXPECT_EQ(as<uint32_t>(flush(as<float>(0x00800000u))), 0x00800000u);
  EXPECT_EQ(flushHalf(0x83ff), 0x8000);
  EXPECT_EQ(flushHalf(0x0400), 0x0400);
  EXPECT_EQ(saturate(float(NAN)), 0.0f);
  EXPECT_EQ(as<uint32_t>(saturate(-0.0f)), 0u);
  EXPECT_EQ(saturate(1.5), 1.0);
}

} // namespace
