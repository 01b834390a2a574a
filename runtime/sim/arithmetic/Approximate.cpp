// SPDX-License-Identifier: Apache-2.0
//
// The bounds of the PTX ISA for .approx instructions, and results within them.
#include "runtime/sim/arithmetic/Approximate.h"
#include "runtime/sim/arithmetic/Wide.h"
#include <cmath>
#include <cstring>

namespace act::runtime::sim {

namespace {

constexpr double twoPi = 6.283185307179586;

struct Row {
  Approximation function;
  Bound bound;
  const char *section; // of the PTX ISA
};
// Functions with one bound over their whole range, in order; those marked None
// depend on the argument (below).
const Row rows[] = {
    {Approximation::Rcp, {Bound::Ulp, 1}, "9.7.3.13"},
    {Approximation::Sqrt, {Bound::Relative, 0x1p-23}, "9.7.3.15"},
    {Approximation::Rsqrt,
     {Bound::Relative, 0x1.125fbee250664p-23}, // 2^-22.9
     "9.7.3.16"},
    {Approximation::Rsqrt64, {Bound::None, 0}, "9.7.3.16"},
    {Approximation::Sin, {Bound::None, 0}, "9.7.3.18"},
    {Approximation::Cos, {Bound::None, 0}, "9.7.3.19"},
    {Approximation::Lg2, {Bound::None, 0}, "9.7.3.20"},
    {Approximation::Ex2, {Bound::Ulp, 2}, "9.7.3.21"},
    {Approximation::Tanh, {Bound::Relative, 0x1p-11}, "9.7.3.22"},
    {Approximation::Ex2Half,
     {Bound::Relative, 0x1.125fbee250663p-10}, // 2^-9.9
     "9.7.4.10"},
    {Approximation::Ex2BFloat, {Bound::Relative, 0x1p-7}, "9.7.4.10"},
    {Approximation::TanhHalf, // 2^-10.987
     {Bound::Absolute, 0x1.0251353756991p-11},
     "9.7.4.9"},
    {Approximation::TanhBFloat, {Bound::Absolute, 0x1p-8}, "9.7.4.9"},
    {Approximation::Divide, {Bound::None, 0}, "9.7.3.8"},
    {Approximation::DivideFull, {Bound::Ulp, 2}, "9.7.3.8"},
};
static_assert(sizeof rows / sizeof *rows == size_t(Approximation::Count),
              "one row per function");

/// The distance between two numbers of the format around x.
template <class F> double ulpOf(double x) {
  int e = std::ilogb(x);
  int least = 1 - F::bias;
  return std::ldexp(1.0, (e < least ? least : e) - int(F::mantissaBits));
}

template <class F> double valueOf(typename F::Bits bits) {
  if constexpr (F::mantissaBits == 23)
    return as<float>(bits);
  else
    return widen<F>(bits);
}

} // namespace

/// A power of two is exact on every card, and nvcc's library relies on it: its
/// exp and erf in double precision scale by ex2.approx of an integer.
static bool isPowerOfTwo(Approximation function, double input) {
  return (function == Approximation::Ex2 ||
          function == Approximation::Ex2Half ||
          function == Approximation::Ex2BFloat) &&
         input == std::trunc(input);
}

Bound boundOf(Approximation function, double input, double exact) {
  double a = std::fabs(input);
  switch (function) {
  case Approximation::Sin: // 9.7.3.18 and 9.7.3.19: nothing is said beyond
  case Approximation::Cos:
    if (a <= twoPi)
      return {Bound::Absolute, 0x1.6a09e667f3bcdp-21}; // 2^-20.5
    if (a <= 50 * twoPi)
      return {Bound::Absolute, 0x1.3b2c47bff8329p-15}; // 2^-14.7
    return {Bound::None, 0};
  case Approximation::Lg2:
    return {a > 0.5 && a < 2 ? Bound::Absolute : Bound::Relative, 0x1p-22};
  case Approximation::Tanh: // subnormal numbers pass through
    if (a < 0x1p-126)
      return {Bound::None, 0};
    return rows[size_t(function)].bound;
  case Approximation::Divide: // 9.7.3.8
    return {a >= 0x1p-126 && a <= 0x1p126 ? Bound::Ulp : Bound::None, 2};
  default:
    return rows[size_t(function)].bound;
  }
}

double exactValue(Approximation function, double x) {
  switch (function) {
  case Approximation::Rcp:
    return 1 / x;
  case Approximation::Sqrt:
    return std::sqrt(x);
  case Approximation::Rsqrt:
  case Approximation::Rsqrt64:
    return 1 / std::sqrt(x);
  case Approximation::Sin:
    return std::sin(x);
  case Approximation::Cos:
    return std::cos(x);
  case Approximation::Lg2:
    return std::log2(x);
  case Approximation::Ex2:
  case Approximation::Ex2Half:
  case Approximation::Ex2BFloat:
    return std::exp2(x);
  case Approximation::Tanh:
  case Approximation::TanhHalf:
  case Approximation::TanhBFloat:
    return std::tanh(x);
  default:
    return x;
  }
}

namespace {

// 2^x with a relative error of about 2^-48, for -126 <= x < 128, by the series
// of 2^r, |r| <= 1/2. Returns the lanes that are out of range, or so near the
// midpoint of two f32 that the rounding is not certain.
ACT_WIDE uint32_t exp2Series(const float *x, float *results) {
  constexpr double ln2 = 0.693147180559945309417232;
  // ln2^k / k!
  constexpr double series[] = {1,
                               ln2,
                               0.240226506959100712333551,
                               0.0555041086648215799531423,
                               0.00961812910762847716197908,
                               0.00133335581464284434234122,
                               0.000154035303933816099544371,
                               1.52527338040598402800254e-05,
                               1.32154867901443094884037e-06,
                               1.01780860092396997274900e-07,
                               7.05491162080112332987756e-09,
                               4.44553827187081149759641e-10,
                               2.56784359934882051419456e-11,
                               1.36914888539041288808935e-12};
  constexpr unsigned terms = sizeof series / sizeof *series;
  uint32_t near[32], bits = 0;
  for (unsigned l = 0; l < 32; ++l) {
    bool outside = !(x[l] >= -126.0f && x[l] < 128.0f);
    double a = outside ? 0.0 : double(x[l]);
    // Adding `shift` leaves the nearest integer in the low bits.
    constexpr double shift = 0x1.8p52;
    double shifted = a + shift, r = a - (shifted - shift);
    double sum = series[terms - 1];
    for (unsigned k = terms - 1; k-- > 0;)
      sum = sum * r + series[k];
    uint64_t value = as<uint64_t>(sum) + (as<uint64_t>(shifted) << 52);
    int64_t toMiddle = int64_t(value & 0x1fffffff) - 0x10000000;
    near[l] = outside | (toMiddle > -0x400 && toMiddle < 0x400);
    results[l] = float(as<double>(value));
  }
  for (unsigned l = 0; l < 32; ++l)
    bits |= near[l] << l;
  return bits;
}

} // namespace

void exp2Lanes(const float *x, uint32_t active, float *results) {
  for (uint32_t left = exp2Series(x, results) & active; left;
       left &= left - 1) {
    unsigned l = unsigned(__builtin_ctz(left));
    results[l] = canonical(float(std::exp2(double(x[l]))));
  }
}

template <class F>
typename F::Bits approximate(Approximation function, double input, double exact,
                             const Random &random) {
  typename F::Bits nearest = narrowDouble<F>(exact);
  if (random.roundsPlainly() || !std::isfinite(exact) || exact == 0 ||
      input == 0 || std::isinf(input) || isPowerOfTwo(function, input))
    return nearest;
  Bound bound = boundOf(function, input, exact);
  double most = bound.measure == Bound::Ulp ? bound.amount * ulpOf<F>(exact)
                : bound.measure == Bound::Relative
                    ? bound.amount * std::fabs(exact)
                : bound.measure == Bound::Absolute ? bound.amount
                                                   : 0;
  // Draw a share of the bound in [-1, 1) and round towards the exact value, so
  // that the result stays within the bound.
  uint64_t operands[2];
  std::memcpy(operands, &input, 8);
  std::memcpy(operands + 1, &exact, 8);
  uint64_t draw =
      mix(mix(random.roundingSeed() ^ mix(operands[0])) ^ operands[1]);
  double share = double(int64_t(draw) >> 11) * 0x1p-52;
  double aim = exact + share * most;
  bool above = aim > exact;
  typename F::Bits result =
      narrowDouble<F>(aim, above ? Rounding::Rm : Rounding::Rp);
  double value = valueOf<F>(result);
  // No number lies between the aim and the exact value.
  bool crossed = above ? value < exact : value > exact;
  // Bounded functions stay in [-1, 1]; only an absolute error may flip a sign.
  bool isBounded =
      function == Approximation::Sin || function == Approximation::Cos ||
      function == Approximation::Tanh || function == Approximation::TanhHalf ||
      function == Approximation::TanhBFloat;
  if (crossed || !std::isfinite(value) ||
      (bound.measure != Bound::Absolute && (value < 0) != (exact < 0)) ||
      (isBounded && std::fabs(value) > 1))
    return nearest;
  return result;
}

template uint32_t approximate<F32>(Approximation, double, double,
                                   const Random &);
template uint16_t approximate<F16>(Approximation, double, double,
                                   const Random &);
template uint16_t approximate<BF16>(Approximation, double, double,
                                    const Random &);

} // namespace act::runtime::sim
