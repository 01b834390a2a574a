// SPDX-License-Identifier: Apache-2.0
//
// PTX arithmetic: formats, rounding, flushing, saturation. Exact; nothing reads
// or changes the floating-point environment. Except for pack(), no branch keeps
// a loop over lanes from being vectorised.
//
//     format   bits  exponent  mantissa  infinity  canonical NaN
//     F16       16       5        10       yes      0x7fff
//     BF16      16       8         7       yes      0x7fff
//     TF32      19       8        10       yes      (kept in an f32 word)
//     E4M3       8       4         3       no       0x7f   (largest 448)
//     E5M2       8       5         2       yes      0x7f
//     F32       32       8        23       yes      0x7fffffff
//     F64       64      11        52       yes
//
// Two functions convert to a narrower format. narrow<F>(float) is branch-free.
// pack<F> takes any number as sign, exponent and 64-bit significand, for inputs
// that are no float. Both support the rounding modes Rn, Rz, Rm, Rp, Rna.
//
// Sums and fused products that do not round to nearest, or that round to a
// format narrower than the one they are computed in, go through round-to-odd.
// The sum is formed in a type with at least two bits more, and its last bit is
// set if it is inexact. It then rounds correctly to any narrower format in any
// mode (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums:
// proved algorithms using rounding to odd", IEEE Trans. Comput. 57(4), 2008).
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_NUMERICS_H
#define ACT_RUNTIME_SIM_ARITHMETIC_NUMERICS_H
#include <cstdint>
#include <limits>
#include <type_traits>

namespace act::runtime::sim {

enum class Rounding : uint8_t {
  None,
  Rn,
  Rz,
  Rm,
  Rp,
  Rna,
  Rni,
  Rzi,
  Rmi,
  Rpi,
  Rs
};

template <typename To, typename From> constexpr To as(From value) {
  return __builtin_bit_cast(To, value);
}

// ---- formats

template <typename B, unsigned Exponent, unsigned Mantissa, bool Infinity,
          B NaN>
struct Format {
  using Bits = B;
  static constexpr unsigned exponentBits = Exponent, mantissaBits = Mantissa;
  static constexpr bool hasInfinity = Infinity;
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned signShift = Exponent + Mantissa;
  static constexpr B nan = NaN;
  static constexpr B infinity = // without one: overflow is a NaN
      Infinity ? B(((uint64_t(1) << Exponent) - 1) << Mantissa) : NaN;
  static constexpr B maxFinite = infinity - 1;
  static constexpr B magnitude = B((uint64_t(1) << signShift) - 1);
  static constexpr B one = B(uint64_t(bias) << Mantissa);
};
using F16 = Format<uint16_t, 5, 10, true, 0x7fff>;
using BF16 = Format<uint16_t, 8, 7, true, 0x7fff>;
using E4M3 = Format<uint8_t, 4, 3, false, 0x7f>;
using E5M2 = Format<uint8_t, 5, 2, true, 0x7f>;
using TF32 = Format<uint32_t, 8, 10, true, 0x3ffff>; // in the low 19 bits
using F32 = Format<uint32_t, 8, 23, true, 0x7fffffff>;
using F64 = Format<uint64_t, 11, 52, true, 0x7fffffffffffffff>;

/// The NaN with which a tensor copy fills elements outside the tensor; fma.oob
/// treats it as zero.
constexpr uint16_t oobNaN16 = 0xffff;

// ---- f32 pieces

inline bool isNaN(float x) { return x != x; }
inline bool isNaN(double x) { return x != x; }
inline float canonical(float x) {
  return as<float>(x != x ? F32::nan : as<uint32_t>(x));
}
inline double canonical(double x) { return x; } // payloads are kept

/// Subnormals become zero of the same sign.
inline float flush(float x) {
  uint32_t u = as<uint32_t>(x);
  return as<float>((u & 0x7f800000) ? u : u & 0x80000000);
}
inline uint16_t flushHalf(uint16_t u) {
  return (u & 0x7c00) ? u : uint16_t(u & 0x8000);
}
/// To [0, 1]; NaN becomes +0.
template <typename T> inline T saturate(T x) {
  return x > 0 ? (x < 1 ? x : T(1)) : T(0);
}

// ---- to narrower formats

/// The result for a magnitude beyond the largest finite number.
template <class F>
constexpr typename F::Bits overflowOf(bool negative, Rounding r, bool finite) {
  bool away = r == Rounding::Rn || r == Rounding::Rna ||
              (r == Rounding::Rm && negative) ||
              (r == Rounding::Rp && !negative);
  return away && !finite ? F::infinity : F::maxFinite;
}

/// Whether to add one to the kept significand. `rest`: the dropped part,
/// `half`: half a unit of the last kept place.
template <typename T>
inline bool roundsUp(Rounding r, bool negative, T kept, T rest, T half) {
  switch (r) {
  case Rounding::Rn:
    return (rest > half) | ((rest == half) & bool(kept & 1));
  case Rounding::Rna:
    return rest >= half;
  case Rounding::Rm:
    return (rest != 0) & negative;
  case Rounding::Rp:
    return (rest != 0) & !negative;
  default:
    return false;
  }
}

/// Rounds a float to a format with fewer mantissa bits. `finite`: overflow and
/// infinities give the largest finite number.
template <class F>
inline uint32_t narrow(float x, Rounding r = Rounding::Rn,
                       bool finite = false) {
  constexpr unsigned M = F::mantissaBits;
  static_assert(M < 23, "narrower than f32");
  uint32_t u = as<uint32_t>(x), a = u & 0x7fffffff;
  bool negative = u >> 31;
  uint32_t e = a >> 23;
  uint32_t significand = (a & 0x7fffff) | (e ? 0x800000 : 0);
  int biased = int(e ? e : 1) - 127 + F::bias;
  uint32_t drop = 23 - M + (biased < 1 ? uint32_t(1 - biased) : 0);
  drop = drop < 25 ? drop : 25; // beyond: all of it is less than a half
  uint32_t kept = significand >> drop;
  uint32_t rest = significand & ((uint32_t(1) << drop) - 1);
  uint32_t half = uint32_t(1) << (drop - 1);
  // A carry out of the mantissa correctly increments the exponent.
  uint32_t encoded = ((uint32_t(biased < 1 ? 1 : biased) - 1) << M) + kept +
                     roundsUp<uint32_t>(r, negative, kept, rest, half);
  uint32_t infinite = finite ? F::maxFinite : F::infinity;
  encoded =
      encoded > F::maxFinite ? overflowOf<F>(negative, r, finite) : encoded;
  encoded = a >= 0x7f800000 ? infinite : encoded;
  encoded |= uint32_t(negative) << F::signShift;
  return a > 0x7f800000 ? F::nan : encoded;
}

/// (-1)^negative * significand * 2^exponent in a format. The last bit of the
/// significand may stand for anything below it (round-to-odd).
template <class F>
typename F::Bits pack(bool negative, int exponent, uint64_t significand,
                      Rounding r = Rounding::Rn, bool finite = false) {
  using Bits = typename F::Bits;
  constexpr int M = F::mantissaBits;
  Bits sign = Bits(uint64_t(negative) << F::signShift);
  if (!significand)
    return sign;
  int lead = 63 - __builtin_clzll(significand);
  int biased = exponent + lead + F::bias;
  if (biased >= 1 << F::exponentBits)
    return sign | overflowOf<F>(negative, r, finite);
  int drop = lead - M + (biased < 1 ? 1 - biased : 0);
  uint64_t kept, rest = 0, half = 1;
  if (drop <= 0) {
    kept = significand << -drop;
  } else if (drop <= 63) {
    kept = significand >> drop;
    rest = significand & ((uint64_t(1) << drop) - 1);
    half = uint64_t(1) << (drop - 1);
  } else {
    kept = 0;
    rest = drop == 64 ? significand : 1;
    half = uint64_t(1) << 63;
  }
  uint64_t encoded = (uint64_t(biased < 1 ? 0 : biased - 1) << M) + kept +
                     roundsUp<uint64_t>(r, negative, kept, rest, half);
  if (encoded > F::maxFinite)
    return sign | overflowOf<F>(negative, r, finite);
  return sign | Bits(encoded);
}

/// A double in a narrower format (F32 too).
template <class F>
typename F::Bits narrowDouble(double x, Rounding r = Rounding::Rn,
                              bool finite = false) {
  uint64_t u = as<uint64_t>(x), a = u & F64::magnitude;
  bool negative = u >> 63;
  if (a > F64::infinity)
    return F::nan;
  if (a == F64::infinity)
    return typename F::Bits(uint64_t(negative) << F::signShift) |
           (finite ? F::maxFinite : F::infinity);
  uint64_t e = a >> 52, mantissa = a & ((uint64_t(1) << 52) - 1);
  return pack<F>(negative, int(e ? e : 1) - 1075,
                 mantissa | uint64_t(e != 0) << 52, r, finite);
}

/// Negative numbers and -0 become +0.
template <class F> inline uint32_t relu(uint32_t bits) {
  uint32_t a = bits & F::magnitude;
  bool nan = F::hasInfinity ? a > F::infinity : a == F::nan;
  return nan ? F::nan : (bits >> F::signShift & 1) ? 0 : bits;
}

inline uint16_t toHalf(float x, Rounding r = Rounding::Rn,
                       bool finite = false) {
  return uint16_t(narrow<F16>(x, r, finite));
}
inline uint16_t toBFloat(float x, Rounding r = Rounding::Rn,
                         bool finite = false) {
  return uint16_t(narrow<BF16>(x, r, finite));
}
/// As cvt.satfinite does.
inline uint8_t toE4M3(float x) {
  return uint8_t(narrow<E4M3>(x, Rounding::Rn, true));
}
inline uint8_t toE5M2(float x) {
  return uint8_t(narrow<E5M2>(x, Rounding::Rn, true));
}
/// The f32 word of the number rounded to ten mantissa bits.
inline uint32_t toTF32(float x, Rounding r = Rounding::Rna,
                       bool finite = false) {
  uint32_t n = narrow<TF32>(x, r, finite) << 13;
  return x != x ? F32::nan : n;
}

// ---- to wider formats; exact. NaNs become canonical.

template <class F> inline float widen(uint32_t bits) {
  constexpr unsigned M = F::mantissaBits;
  uint32_t a = bits & F::magnitude;
  uint32_t sign = (bits >> F::signShift & 1) << 31;
  // The multiplication corrects the exponent and normalises subnormals.
  float scaled =
      as<float>(a << (23 - M)) * as<float>(uint32_t(254 - F::bias) << 23);
  uint32_t u = as<uint32_t>(scaled);
  if (F::hasInfinity)
    u = a >= F::infinity ? F32::infinity : u;
  bool nan = F::hasInfinity ? a > F::infinity : a == F::nan;
  return as<float>(nan ? uint32_t(F32::nan) : u | sign);
}
template <> inline float widen<BF16>(uint32_t bits) {
  return canonical(as<float>(bits << 16));
}
inline float fromHalf(uint16_t bits) { return widen<F16>(bits); }
inline float fromBFloat(uint16_t bits) { return widen<BF16>(bits); }
inline float fromE4M3(uint8_t bits) { return widen<E4M3>(bits); }
inline float fromE5M2(uint8_t bits) { return widen<E5M2>(bits); }
/// The value that a tensor core reads from an f32 word as tf32.
inline float fromTF32(uint32_t bits) { return as<float>(bits & 0xffffe000); }

// ---- sums and products in directed rounding

#if defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
#else
using Quad = long double; // binary128 where there is no __float128
#endif

template <typename T> struct Wider;
template <> struct Wider<float> {
  using Type = double;
  using Bits = uint64_t;
};
template <> struct Wider<double> {
  using Type = Quad;
  using Bits = unsigned __int128;
};
template <typename T> using Wide = typename Wider<T>::Type;

/// a + b in T's wider type, rounded to odd.
template <typename T> inline Wide<T> addOdd(Wide<T> a, Wide<T> b) {
  using W = Wide<T>;
  using Bits = typename Wider<T>::Bits;
  static_assert(sizeof(W) == sizeof(Bits), "the wider type is IEEE binary");
  W s = a + b, part = s - a;
  W lost = (a - (s - part)) + (b - part); // exactly (Knuth's two-sum)
  Bits u = as<Bits>(s);
  bool inexact = (lost > 0) | (lost < 0); // not for infinities and NaN
  bool outward = (lost > 0) == (s > 0);
  Bits moved = (u & 1) ? u : outward ? u + 1 : u - 1;
  return as<W>(inexact ? moved : u);
}

/// A double as f32, rounded to odd; round it once more, to a format with at
/// most 22 mantissa bits.
inline float toOdd(double x) {
  float f = float(x);
  uint32_t u = as<uint32_t>(f);
  double back = f, size = x < 0 ? -x : x, near = back < 0 ? -back : back;
  bool inexact = (back > x) | (back < x);
  uint32_t moved = (u & 1) ? u : near > size ? u - 1 : u + 1;
  return as<float>(inexact ? moved : u);
}

/// Rounds a number of the wider type to T. x has at least two bits more than T,
/// or was rounded to odd. So it is correct to round to nearest and then step
/// back if that went the wrong way.
template <typename T> inline T roundTo(Wide<T> x, Rounding r) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  T n = T(x);
  Bits u = as<Bits>(n);
  Bits out = u + 1, in = u - 1;
  bool negative = u >> (8 * sizeof(T) - 1);
  Wide<T> back = n;
  bool above = back > x, below = back < x;
  switch (r) {
  case Rounding::Rz:
    return as<T>((negative ? below : above) ? in : u);
  case Rounding::Rm:
    return as<T>(above ? (negative ? out : in) : u);
  case Rounding::Rp:
    return as<T>(below ? (negative ? in : out) : u);
  default:
    return n;
  }
}

/// Gives an exact zero sum its sign: minus in Rm unless both operands are +0.
template <typename T>
inline T zeroSign(T sum, bool minusA, bool minusB, Rounding r) {
  return r == Rounding::Rm && sum == 0 ? ((minusA || minusB) ? T(-0.0) : T(0))
                                       : sum;
}

template <typename T> inline T addRounded(T a, T b, Rounding r) {
  if (r == Rounding::Rn || r == Rounding::None)
    return a + b;
  Wide<T> s = addOdd<T>(a, b);
  return roundTo<T>(
      zeroSign<Wide<T>>(s, __builtin_signbit(a), __builtin_signbit(b), r), r);
}
template <typename T> inline T mulRounded(T a, T b, Rounding r) {
  if (r == Rounding::Rn || r == Rounding::None)
    return a * b;
  return roundTo<T>(Wide<T>(a) * Wide<T>(b), r);
}
template <typename T> inline T fmaRounded(T a, T b, T c, Rounding r) {
  Wide<T> product = Wide<T>(a) * Wide<T>(b);
  Wide<T> s = addOdd<T>(product, c);
  return roundTo<T>(
      zeroSign<Wide<T>>(s, __builtin_signbit(product), __builtin_signbit(c), r),
      r);
}
/// Double rounding is harmless: with 2p + 2 bits, the wider quotient is never
/// rounded onto a T, or a midpoint of two, unless it is exactly that.
template <typename T> inline T divRounded(T a, T b, Rounding r) {
  if (r == Rounding::Rn || r == Rounding::None)
    return a / b;
  return roundTo<T>(Wide<T>(a) / Wide<T>(b), r);
}
float sqrtRounded(float a, Rounding r);
double sqrtRounded(double a, Rounding r);

// ---- minimum and maximum: a number beats NaN unless `nan`; -0 < +0

template <typename T> inline T least(T a, T b, bool nan) {
  T m = a < b ? a : b;
  // Of two zeros, -0 is the smaller.
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  m = a == b ? as<T>(Bits(as<Bits>(a) | as<Bits>(b))) : m;
  T other = b != b ? a : b; // if a is NaN
  m = a != a ? other : b != b ? a : m;
  return nan && (a != a || b != b) ? std::numeric_limits<T>::quiet_NaN() : m;
}
template <typename T> inline T greatest(T a, T b, bool nan) {
  T m = a > b ? a : b;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  m = a == b ? as<T>(Bits(as<Bits>(a) & as<Bits>(b))) : m;
  T other = b != b ? a : b;
  m = a != a ? other : b != b ? a : m;
  return nan && (a != a || b != b) ? std::numeric_limits<T>::quiet_NaN() : m;
}

// ---- to and from integers

/// x rounded to an integral value (Rni Rzi Rmi Rpi).
float integral(float x, Rounding r);
double integral(double x, Rounding r);

/// A float as an integer of at most 32 bits: clamped to [least, most], NaN is
/// 0. Branch-free.
inline int64_t toInteger32(float x, Rounding r, double least, double most) {
  double d = x;
  d = d < least ? least : d;
  d = d > most ? most : d;
  d = x != x ? 0 : d;
  constexpr double magic = 0x1.8p52; // adding it rounds to nearest even
  double n = (d + magic) - magic;
  switch (r) {
  case Rounding::Rzi: {
    double up = n > d ? n - 1 : n, down = n < d ? n + 1 : n;
    n = d < 0 ? down : up;
    break;
  }
  case Rounding::Rmi:
    n = n > d ? n - 1 : n;
    break;
  case Rounding::Rpi:
    n = n < d ? n + 1 : n;
    break;
  default:
    break;
  }
  // The mantissa of the sum is 2^51 + n.
  return int64_t(as<uint64_t>(n + magic) & 0xfffffffffffff) - 0x8000000000000;
}

/// A number as a signed or unsigned integer of `bits` bits, clamped, in the low
/// bits; NaN gives `ofNaN`.
uint64_t toInteger(double x, Rounding r, unsigned bits, bool isSigned,
                   uint64_t ofNaN);

/// An integer rounded to a format.
template <class F>
inline typename F::Bits fromInteger(uint64_t bits, bool isSigned, Rounding r,
                                    bool finite = false) {
  bool negative = isSigned && int64_t(bits) < 0;
  return pack<F>(negative, 0, negative ? 0 - bits : bits, r, finite);
}

} // namespace act::runtime::sim
#endif
