// SPDX-License-Identifier: Apache-2.0
//
// Products of the narrow floating-point types (TensorCore.h has the model).
//
// Two kernels, both over many columns at once. Where a product of two numbers
// and the alignment of it are exact in float, which is nearly always, a term is
// two multiplications and a conversion to int32, which is what the model's
// truncation is (plainKernel). The flag `odd` says that somewhere this was not
// so; all is done again then, with significands and exponents apart
// (exactKernel): significand product (exact: at most 22 bits) times a power of
// two that is made by writing the exponent field. Eight products, each below 4
// · 2^F, fit in an int32 for F ≤ 26; longer sums are made in double, exactly.
// Only the second kernel sees infinities, NaN and overflow, and leaves them to
// a third way, one element at a time.
#include "runtime/sim/TensorCore.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace act::runtime::sim {

namespace {

// Exponents beyond those of any number: zero never wins the maximum, a special
// always does, even times zero.
constexpr int zeroExponent = -2000, specialExponent = 6000, special = 1000;
// Products below 2^112 and units of at least 2^−126 (F ≤ 27): every term that
// is not truncated to zero is a normal number in float, and so is the result.
constexpr int leastExponent = -99, mostExponent = 110;

#define ACT_INLINE static inline __attribute__((always_inline))

/// `number`: the value (of specials: anything), or the significand alone. Of
/// TF32 the low 13 bits of the word are not looked at.
template <class F, bool Value>
ACT_INLINE void takeApart(const uint32_t *codes, size_t count, float *number,
                          int32_t *exponent) {
  constexpr unsigned M = F::mantissaBits;
  constexpr unsigned shift = std::is_same_v<F, TF32> ? 13 : 0;
  constexpr uint32_t top = (1u << F::exponentBits) - 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t u = codes[i] >> shift, a = u & uint32_t(F::magnitude);
    uint32_t e = a >> M, m = a & ((1u << M) - 1);
    int32_t x = int32_t(e ? e : 1) - F::bias;
    float s;
    if constexpr (Value) { // the bits in place, and the bias made up for
      s = __builtin_bit_cast(float, a << (23 - M)) *
          __builtin_bit_cast(float, uint32_t(254 - F::bias) << 23);
    } else {
      int32_t whole = int32_t(m | (e ? 1u << M : 0));
      s = float(whole) * (1.0f / (1u << M));
    }
    number[i] = u >> F::signShift & 1 ? -s : s;
    x = a == 0 ? zeroExponent : x;
    bool odd = F::hasInfinity ? e == top : a == uint32_t(F::nan);
    exponent[i] = odd ? specialExponent : x;
  }
}

template <bool Value>
ACT_INLINE void takeApart(Element type, const uint32_t *codes, size_t count,
                          float *number, int32_t *exponent) {
  switch (type) {
  case Element::F16:
    return takeApart<F16, Value>(codes, count, number, exponent);
  case Element::BF16:
    return takeApart<BF16, Value>(codes, count, number, exponent);
  case Element::E4M3:
    return takeApart<E4M3, Value>(codes, count, number, exponent);
  case Element::E5M2:
    return takeApart<E5M2, Value>(codes, count, number, exponent);
  default:
    return takeApart<TF32, Value>(codes, count, number, exponent);
  }
}

float valueOf(Element type, uint32_t code) {
  switch (type) {
  case Element::F16:
    return widen<F16>(code);
  case Element::BF16:
    return widen<BF16>(code);
  case Element::E4M3:
    return widen<E4M3>(code);
  case Element::E5M2:
    return widen<E5M2>(code);
  default:
    return fromTF32(code);
  }
}

/// Everything of one product; the kernels' argument.
struct Work {
  Extent extent;
  Accumulation how;
  Element aType, bType;
  const uint32_t *a, *b; // [k][m], [k][n]
  const float *as, *bs;  // these taken apart
  const int32_t *ae, *be;
  uint32_t *c;
  uint8_t *bad; // [m][n]: an operand is not finite, or a sum was not
};

template <unsigned W> struct Vectors {
  typedef int32_t Ints __attribute__((vector_size(4 * W)));
  typedef uint32_t Words __attribute__((vector_size(4 * W)));
  typedef float Floats __attribute__((vector_size(4 * W)));
  typedef double Doubles __attribute__((vector_size(8 * W)));
  typedef int64_t Longs __attribute__((vector_size(8 * W)));
};
constexpr unsigned W = 8; // of exactKernel
using Ints = Vectors<W>::Ints;
using Words = Vectors<W>::Words;
using Floats = Vectors<W>::Floats;
using Doubles = Vectors<W>::Doubles;
using Longs = Vectors<W>::Longs;

template <typename V> ACT_INLINE void load(V &v, const void *p) {
  std::memcpy(&v, p, sizeof v);
}

/// Adds the products of a row of a and W columns of b, one block of K, to c.
/// `odd`: a term was out of the range in which float is exact. `Short`: the
/// block's sum fits in an int32.
template <Accumulation::Result R, bool Short, unsigned W>
ACT_INLINE void addBlock(typename Vectors<W>::Floats &c,
                         typename Vectors<W>::Ints &odd, int F, unsigned length,
                         const float *as, const int32_t *ae, unsigned m,
                         const float *bs, const int32_t *be, unsigned n) {
  using V = Vectors<W>;
  constexpr int least = leastExponent, most = mostExponent;
  typename V::Ints field, e;
  load(field, &c);
  field &= 0x7fffffff;
  e = (field >> 23) - 127;
  e = field == 0 ? typename V::Ints{} + zeroExponent : e;
  typename V::Ints largest = e;
  for (unsigned i = 0; i < length; ++i) {
    load(e, be + i * n);
    e += ae[i * m];
    largest = e > largest ? e : largest;
  }
  odd |= (largest > most) | ((largest < least) & (largest > -special));
  largest = largest < least ? typename V::Ints{} + least : largest;
  largest = largest > most ? typename V::Ints{} + most : largest;
  typename V::Ints bits = (F + 127 - largest) << 23;
  typename V::Floats scale;
  load(scale, &bits);
  auto term = [&](unsigned i) __attribute__((always_inline)) {
    typename V::Floats s;
    load(s, bs + i * n);
    return __builtin_convertvector(s * as[i * m] * scale, typename V::Ints);
  };
  auto terms = [&](unsigned i, unsigned stop) __attribute__((always_inline)) {
    typename V::Ints sum = term(i);
    for (++i; i < stop; ++i)
      sum += term(i);
    return sum;
  };
  typename V::Ints ofC = __builtin_convertvector(c * scale, typename V::Ints);
  typename V::Floats total;
  typename V::Ints larger; // to nearest went away from zero
  if constexpr (Short) {
    typename V::Ints sum = ofC + terms(0, length);
    total = __builtin_convertvector(sum, typename V::Floats);
    typename V::Ints back = __builtin_convertvector(total, typename V::Ints);
    larger = sum > 0 ? back > sum : back < sum;
  } else {
    typename V::Doubles sum = __builtin_convertvector(ofC, typename V::Doubles);
    for (unsigned i = 0; i < length; i += 8)
      sum += __builtin_convertvector(terms(i, std::min(length, i + 8)),
                                     typename V::Doubles);
    total = __builtin_convertvector(sum, typename V::Floats);
    typename V::Doubles back =
        __builtin_convertvector(total, typename V::Doubles);
    typename V::Longs wide = sum > 0 ? back > sum : back < sum;
    larger = __builtin_convertvector(wide, typename V::Ints);
  }
  load(bits, &total);
  if constexpr (R != Accumulation::RnF32)
    bits += larger; // −1 where true: the next code towards zero
  if constexpr (R == Accumulation::Rz13)
    bits &= ~0x3ff;
  load(total, &bits);
  bits = (largest - F + 127) << 23;
  load(scale, &bits);
  c = total * scale; // a power of two
}

bool sumsAreShort(const Accumulation &how) {
  return int64_t(4 * how.block + 2) << how.fraction <= 1 << 30;
}

template <typename V> ACT_INLINE bool none(const V &odd) {
  int any = 0;
  for (unsigned i = 0; i < sizeof(V) / 4; ++i)
    any |= odd[i];
  return any == 0;
}

/// False: float was not exact somewhere; c is of no use.
template <Accumulation::Result R, bool Short, unsigned W>
ACT_INLINE bool plainKernel(const Work &w) {
  using V = Vectors<W>;
  const unsigned m = w.extent.m, n = w.extent.n, k = w.extent.k;
  typename V::Ints odd = {};
  for (unsigned col = 0; col < n; col += W)
    for (unsigned row = 0; row < m; ++row) {
      typename V::Floats c;
      load(c, w.c + row * n + col);
      for (unsigned first = 0; first < k; first += w.how.block)
        addBlock<R, Short, W>(
            c, odd, w.how.fraction, std::min(k - first, unsigned(w.how.block)),
            w.as + first * m + row, w.ae + first * m + row, m,
            w.bs + first * n + col, w.be + first * n + col, n);
      std::memcpy(w.c + row * n + col, &c, sizeof c);
    }
  return none(odd);
}

/// Whether a product is of mma's shape, 8 rows and 16 columns, in whole blocks
/// of 4 or 8 whose sums fit in an int32.
bool isTile(const Work &w) {
  const unsigned block = w.how.block;
  return w.extent.m == 8 && w.extent.n == 16 && (block == 8 || block == 4) &&
         w.extent.k % block == 0 && sumsAreShort(w.how);
}

/// The same for a tile, in blocks of L: with these known, columns of b stay in
/// registers.
template <Accumulation::Result R, unsigned L>
ACT_INLINE bool plainTile(const Work &w) {
  using V = Vectors<16>;
  constexpr unsigned m = 8, n = 16;
  const int F = w.how.fraction;
  uint32_t *const __restrict to = w.c;
  const unsigned k = w.extent.k;
  typename V::Ints odd = {};
  for (unsigned first = 0; first < k; first += L) {
    const float *const __restrict as = w.as + first * m;
    const int32_t *const __restrict ae = w.ae + first * m;
    const float *const __restrict bs = w.bs + first * n;
    const int32_t *const __restrict be = w.be + first * n;
    for (unsigned row = 0; row < m; ++row) {
      typename V::Floats c;
      load(c, to + row * n);
      addBlock<R, true, n>(c, odd, F, L, as + row, ae + row, m, bs, be, n);
      std::memcpy(to + row * n, &c, sizeof c);
    }
  }
  return none(odd);
}

/// The accumulator as a term.
template <bool Half> ACT_INLINE void split(const Words &c, Floats &s, Ints &e) {
  constexpr unsigned M = Half ? 10 : 23, bias = Half ? 15 : 127;
  constexpr uint32_t magnitude = Half ? 0x7fff : 0x7fffffff;
  Words a = c & magnitude;
  Ints field = Ints(a >> M);
  Words m = a & ((1u << M) - 1);
  m = field != 0 ? m | (1u << M) : m;
  s = __builtin_convertvector(Ints(m), Floats) * (1.0f / (1u << M));
  s = (c & (magnitude + 1)) != 0 ? -s : s;
  e = (field != 0 ? field : 1) - int(bias);
  e = a == 0 ? Ints{} + zeroExponent : e;
  e = field == (Half ? 31 : 255) ? Ints{} + specialExponent : e;
}

/// x, not rounded yet, as the accumulator's bits.
template <Accumulation::Result R> ACT_INLINE Words rounded(const Doubles &x) {
  if constexpr (R == Accumulation::RnF16) {
    Words r;
    for (unsigned i = 0; i < W; ++i)
      r[i] = narrowDouble<F16>(x[i]);
    return r;
  } else {
    Floats f = __builtin_convertvector(x, Floats);
    Ints u;
    load(u, &f);
    if constexpr (R != Accumulation::RnF32) {
      // To nearest has gone away from zero where the result is larger; the next
      // number towards zero has the next smaller code. True overflow stays.
      Doubles back = __builtin_convertvector(f, Doubles);
      Longs up = x > 0 ? back > x : back < x;
      Doubles size = x < 0 ? -x : x;
      up &= size < 0x1p128;
      u += __builtin_convertvector(up, Ints); // −1 where true
    }
    if constexpr (R == Accumulation::Rz13)
      u = (u & 0x7f800000) == 0x7f800000 ? u : u & ~0x3ff;
    return Words(u);
  }
}

template <Accumulation::Result R> ACT_INLINE void exactKernel(const Work &w) {
  constexpr bool half = R == Accumulation::RnF16;
  const unsigned m = w.extent.m, n = w.extent.n, k = w.extent.k;
  const int F = w.how.fraction;
  for (unsigned row = 0; row < m; ++row) {
    const float *as = w.as + row; // m apart
    const int32_t *ae = w.ae + row;
    for (unsigned col = 0; col < n; col += W) {
      const float *bs = w.bs + col;
      const int32_t *be = w.be + col;
      Words c;
      load(c, w.c + row * n + col);
      Ints bad = {};
      for (unsigned first = 0; first < k; first += w.how.block) {
        unsigned end = std::min(k, first + w.how.block);
        Floats cs;
        Ints ce;
        split<half>(c, cs, ce);
        Ints largest = Ints{} - 126;
        largest = ce > largest ? ce : largest;
        for (unsigned i = first; i < end; ++i) {
          Ints e;
          load(e, be + i * n);
          e += ae[i * m];
          largest = e > largest ? e : largest;
        }
        bad |= largest > special;
        largest = largest > special ? Ints{} : largest;
        // A term of exponent e is multiplied by 2^(e − base − 127).
        Ints base = largest - (F + 127);
        // Inlined, or vectors would be handed over in another way than here.
        auto aligned = [&](Floats s, Ints e) __attribute__((always_inline)) {
          Ints t = e - base;
          t = t < 64 ? Ints{} + 64 : t; // 2^−63: truncates to zero as well
          t = t > F + 127 ? Ints{} + (F + 127) : t; // only where bad
          Ints bits = t << 23;
          Floats scale;
          load(scale, &bits);
          return __builtin_convertvector(s * scale, Ints);
        };
        Doubles total = __builtin_convertvector(aligned(cs, ce), Doubles);
        for (unsigned i = first; i < end;) {
          Ints sum = {};
          for (unsigned stop = std::min(end, i + 8); i < stop; ++i) {
            Floats s;
            Ints e;
            load(s, bs + i * n);
            load(e, be + i * n);
            sum += aligned(s * as[i * m], e + ae[i * m]);
          }
          total += __builtin_convertvector(sum, Doubles);
        }
        Longs exponent = __builtin_convertvector(largest - F + 1023, Longs)
                         << 52;
        Doubles scale;
        load(scale, &exponent);
        c = rounded<R>(total * scale);
      }
      bad |= half ? (c & 0x7c00) == 0x7c00 : (c & 0x7f800000) == 0x7f800000;
      std::memcpy(w.c + row * n + col, &c, sizeof c);
      for (unsigned i = 0; i < W; ++i)
        w.bad[row * n + col + i] = bad[i] != 0;
    }
  }
}

template <Accumulation::Result R> ACT_INLINE bool plainKernel(const Work &w) {
  if (isTile(w))
    return w.how.block == 8 ? plainTile<R, 8>(w) : plainTile<R, 4>(w);
  const bool isShort = sumsAreShort(w.how);
  if (w.extent.n % 16)
    return isShort ? plainKernel<R, true, 8>(w) : plainKernel<R, false, 8>(w);
  return isShort ? plainKernel<R, true, 16>(w) : plainKernel<R, false, 16>(w);
}

ACT_INLINE bool anyPlainKernel(const Work &w) {
  switch (w.how.result) {
  case Accumulation::RzF32:
    return plainKernel<Accumulation::RzF32>(w);
  case Accumulation::Rz13:
    return plainKernel<Accumulation::Rz13>(w);
  case Accumulation::RnF32:
    return plainKernel<Accumulation::RnF32>(w);
  case Accumulation::RnF16:
    return false;
  }
  return false;
}

/// Takes the operands apart in its own way, into `numbers` and `exponents`.
ACT_INLINE void anyExactKernel(Work w, float *numbers, int32_t *exponents) {
  size_t ofA = size_t(w.extent.k) * w.extent.m,
         ofB = size_t(w.extent.k) * w.extent.n;
  takeApart<false>(w.aType, w.a, ofA, numbers, exponents);
  takeApart<false>(w.bType, w.b, ofB, numbers + ofA, exponents + ofA);
  w.as = numbers;
  w.bs = numbers + ofA;
  w.ae = exponents;
  w.be = exponents + ofA;
  switch (w.how.result) {
  case Accumulation::RzF32:
    return exactKernel<Accumulation::RzF32>(w);
  case Accumulation::Rz13:
    return exactKernel<Accumulation::Rz13>(w);
  case Accumulation::RnF32:
    return exactKernel<Accumulation::RnF32>(w);
  case Accumulation::RnF16:
    return exactKernel<Accumulation::RnF16>(w);
  }
}

/// For what this machine has of vectors.
struct Kernels {
  void (*apart)(Element type, const uint32_t *codes, size_t count,
                float *numbers, int32_t *exponents); // for `plain`
  bool (*plain)(const Work &);
  void (*exact)(const Work &, float *numbers, int32_t *exponents);
};

void apart128(Element type, const uint32_t *codes, size_t count, float *numbers,
              int32_t *exponents) {
  takeApart<true>(type, codes, count, numbers, exponents);
}
bool plain128(const Work &w) { return anyPlainKernel(w); }
void exact128(const Work &w, float *numbers, int32_t *exponents) {
  anyExactKernel(w, numbers, exponents);
}
#if defined(__x86_64__)
#define ACT_AVX2 __attribute__((target("avx2")))
#define ACT_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq")))

/// plainTile() with what AVX-512 has beyond vectors: conversions that truncate.
/// Zero as an accumulator is of the least exponent here, and c's are watched
/// for all rows together: the flag comes up where plainTile()'s does, and for
/// some tiny numbers beside large ones, for which there was no need.
template <Accumulation::Result R, unsigned L>
ACT_AVX512 bool tile512(const Work &w) {
  constexpr unsigned m = 8, n = 16;
  const int F = w.how.fraction;
  const unsigned k = w.extent.k;
  uint32_t *const __restrict to = w.c;
  const __m512i ones = _mm512_set1_epi32(-1);
  // Of all terms' exponents, and of all c's: the largest, and the least but for
  // those of zeros, which wrap around to large ones.
  __m512i largestOfAll = _mm512_set1_epi32(leastExponent), leastTerm = ones,
          leastC = ones;
  for (unsigned first = 0; first < k; first += L) {
    const float *const __restrict as = w.as + first * m;
    const int32_t *const __restrict ae = w.ae + first * m;
    __m512 bs[L];
    __m512i be[L];
    for (unsigned i = 0; i < L; ++i) {
      bs[i] = _mm512_loadu_ps(w.bs + (first + i) * n);
      be[i] = _mm512_loadu_si512(w.be + (first + i) * n);
    }
    for (unsigned row = 0; row < m; ++row) {
      __m512i e = _mm512_add_epi32(be[0], _mm512_set1_epi32(ae[row]));
      for (unsigned i = 1; i < L; ++i)
        e = _mm512_max_epi32(
            e, _mm512_add_epi32(be[i], _mm512_set1_epi32(ae[i * m + row])));
      leastTerm = _mm512_min_epu32(
          leastTerm, _mm512_add_epi32(e, _mm512_set1_epi32(special)));
      const __m512 c = _mm512_loadu_ps(to + row * n);
      const __m512i size = _mm512_slli_epi32(_mm512_castps_si512(c), 1);
      leastC = _mm512_min_epu32(leastC, _mm512_add_epi32(size, ones));
      e = _mm512_max_epi32(e, _mm512_sub_epi32(_mm512_srli_epi32(size, 24),
                                               _mm512_set1_epi32(127)));
      e = _mm512_max_epi32(e, _mm512_set1_epi32(leastExponent));
      largestOfAll = _mm512_max_epi32(largestOfAll, e);
      const __m512i power = _mm512_sub_epi32(_mm512_set1_epi32((F + 127) << 23),
                                             _mm512_slli_epi32(e, 23));
      const __m512 scale = _mm512_castsi512_ps(power);
      __m512i sum = _mm512_cvttps_epi32(_mm512_mul_ps(c, scale));
      for (unsigned i = 0; i < L; ++i)
        sum = _mm512_add_epi32(
            sum,
            _mm512_cvttps_epi32(_mm512_mul_ps(
                _mm512_mul_ps(bs[i], _mm512_set1_ps(as[i * m + row])), scale)));
      __m512 total;
      if constexpr (R == Accumulation::RnF32)
        total = _mm512_cvtepi32_ps(sum);
      else
        total = _mm512_cvt_roundepi32_ps(sum, _MM_FROUND_TO_ZERO |
                                                  _MM_FROUND_NO_EXC);
      if constexpr (R == Accumulation::Rz13)
        total = _mm512_castsi512_ps(_mm512_and_epi32(
            _mm512_castps_si512(total), _mm512_set1_epi32(~0x3ff)));
      // 1 / scale
      const __m512i back =
          _mm512_sub_epi32(_mm512_set1_epi32(254 << 23), power);
      _mm512_storeu_ps(to + row * n,
                       _mm512_mul_ps(total, _mm512_castsi512_ps(back)));
    }
  }
  return _mm512_reduce_max_epi32(largestOfAll) <= mostExponent &&
         _mm512_reduce_min_epu32(leastTerm) >=
             unsigned(special + leastExponent) &&
         _mm512_reduce_min_epu32(leastC) >= unsigned(leastExponent + 127) << 24;
}

ACT_AVX512 bool anyTile512(const Work &w) {
  const bool eight = w.how.block == 8;
  switch (w.how.result) {
  case Accumulation::RzF32:
    return eight ? tile512<Accumulation::RzF32, 8>(w)
                 : tile512<Accumulation::RzF32, 4>(w);
  case Accumulation::Rz13:
    return eight ? tile512<Accumulation::Rz13, 8>(w)
                 : tile512<Accumulation::Rz13, 4>(w);
  case Accumulation::RnF32:
    return eight ? tile512<Accumulation::RnF32, 8>(w)
                 : tile512<Accumulation::RnF32, 4>(w);
  case Accumulation::RnF16:
    return false;
  }
  return false;
}

ACT_AVX2 void apart256(Element type, const uint32_t *codes, size_t count,
                       float *numbers, int32_t *exponents) {
  takeApart<true>(type, codes, count, numbers, exponents);
}
ACT_AVX2 bool plain256(const Work &w) { return anyPlainKernel(w); }
ACT_AVX2 void exact256(const Work &w, float *numbers, int32_t *exponents) {
  anyExactKernel(w, numbers, exponents);
}
ACT_AVX512 void apart512(Element type, const uint32_t *codes, size_t count,
                         float *numbers, int32_t *exponents) {
  takeApart<true>(type, codes, count, numbers, exponents);
}
ACT_AVX512 bool plain512(const Work &w) {
  return isTile(w) ? anyTile512(w) : anyPlainKernel(w);
}
ACT_AVX512 void exact512(const Work &w, float *numbers, int32_t *exponents) {
  anyExactKernel(w, numbers, exponents);
}
#endif

Kernels chooseKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return {apart512, plain512, exact512};
  if (__builtin_cpu_supports("avx2"))
    return {apart256, plain256, exact256};
#endif
  return {apart128, plain128, exact128};
}
const Kernels &kernels() {
  static const Kernels chosen = chooseKernels();
  return chosen;
}

/// One element by the same rules, for the rare ones with infinities or NaN: the
/// specials decide, or a sum overflowed on the way.
uint32_t slowElement(const Work &w, unsigned row, unsigned col, uint32_t c) {
  const unsigned m = w.extent.m, n = w.extent.n, k = w.extent.k;
  const bool half = w.how.result == Accumulation::RnF16;
  auto asDouble = [&](uint32_t bits) -> double {
    return half ? fromHalf(uint16_t(bits)) : __builtin_bit_cast(float, bits);
  };
  for (unsigned first = 0; first < k; first += w.how.block) {
    unsigned end = std::min(k, first + w.how.block);
    double specials = asDouble(c);
    bool finite = std::isfinite(specials);
    for (unsigned i = first; i < end; ++i) {
      double p = double(valueOf(w.aType, w.a[i * m + row])) *
                 double(valueOf(w.bType, w.b[i * n + col]));
      if (!std::isfinite(p)) { // the product of finite ones is finite
        specials = finite ? p : specials + p;
        finite = false;
      }
    }
    if (!finite) {
      c = specials != specials ? (half ? 0x7fff : 0x7fffffff)
          : half               ? (specials < 0 ? 0xfc00 : 0x7c00)
                               : (specials < 0 ? 0xff800000 : 0x7f800000);
      continue;
    }
    // One block alone, by the kernel, eight columns of it the same.
    unsigned length = end - first;
    uint32_t c8[W];
    uint8_t bad8[W];
    std::vector<uint32_t> a1(length), b8(length * W);
    std::vector<float> numbers(length * (1 + W));
    std::vector<int32_t> exponents(length * (1 + W));
    for (unsigned i = 0; i < length; ++i) {
      a1[i] = w.a[(first + i) * m + row];
      std::fill_n(b8.begin() + i * W, W, w.b[(first + i) * n + col]);
    }
    std::fill(c8, c8 + W, c);
    exact128({{1, W, length},
              w.how,
              w.aType,
              w.bType,
              a1.data(),
              b8.data(),
              nullptr,
              nullptr,
              nullptr,
              nullptr,
              c8,
              bad8},
             numbers.data(), exponents.data());
    c = c8[0];
  }
  return c;
}

/// What multiply() needs of memory, kept between calls.
struct Room {
  std::vector<float> numbers;
  std::vector<int32_t> exponents;
  std::vector<uint8_t> bad;
  std::vector<uint32_t> before, ordered;
};
Room &room() {
  thread_local Room here;
  return here;
}

/// w.as and so on are what kernels().apart makes of the operands.
void run(Work &w) {
  Room &r = room();
  const Extent &x = w.extent;
  size_t ofC = size_t(x.m) * x.n;
  r.before.assign(w.c, w.c + ofC);
  if (kernels().plain(w))
    return;
  std::copy_n(r.before.data(), ofC, w.c);
  r.numbers.resize(size_t(x.k) * (x.m + x.n));
  r.exponents.resize(r.numbers.size());
  r.bad.resize(ofC);
  w.bad = r.bad.data();
  kernels().exact(w, r.numbers.data(), r.exponents.data());
  for (size_t i = 0; i < ofC; ++i)
    if (r.bad[i])
      w.c[i] =
          slowElement(w, unsigned(i / x.n), unsigned(i % x.n), r.before[i]);
}

} // namespace

void multiply(const Accumulation &how, Extent x, Element aType, Element bType,
              const uint32_t *a, const uint32_t *b, uint32_t *c) {
  Room &r = room();
  size_t ofA = size_t(x.k) * x.m, ofB = size_t(x.k) * x.n;
  if (how.order) { // the same permutation of K on both sides
    std::vector<unsigned> p(x.k);
    Random random(how.order, 0);
    for (unsigned i = 0; i < x.k; ++i)
      p[i] = i;
    for (unsigned i = x.k; i > 1; --i)
      std::swap(p[i - 1], p[random.below(i)]);
    r.ordered.resize(ofA + ofB);
    for (unsigned j = 0; j < x.k; ++j) {
      std::copy_n(a + p[j] * x.m, x.m, r.ordered.begin() + j * x.m);
      std::copy_n(b + p[j] * x.n, x.n, r.ordered.begin() + ofA + j * x.n);
    }
    a = r.ordered.data();
    b = r.ordered.data() + ofA;
  }
  r.numbers.resize(ofA + ofB);
  r.exponents.resize(ofA + ofB);
  float *numbers = r.numbers.data();
  int32_t *exponents = r.exponents.data();
  kernels().apart(aType, a, ofA, numbers, exponents);
  kernels().apart(bType, b, ofB, numbers + ofA, exponents + ofA);
  Work w = {x,       how,           aType,     bType,           a, b,
            numbers, numbers + ofA, exponents, exponents + ofA, c, nullptr};
  run(w);
}

void takeApart(Factor &o) {
  kernels().apart(o.type, o.codes, o.count, o.numbers, o.exponents);
}

void multiply(const Accumulation &how, Extent x, const Factor &a,
              const Factor &b, uint32_t *c) {
  if (how.order)
    return multiply(how, x, a.type, b.type, a.codes, b.codes, c);
  Work w = {x,         how,       a.type,      b.type,      a.codes, b.codes,
            a.numbers, b.numbers, a.exponents, b.exponents, c,       nullptr};
  run(w);
}

} // namespace act::runtime::sim
