// SPDX-License-Identifier: Apache-2.0
//
// Significands and exponents are kept separately. A term is a significand
// product (exact: at most 22 bits) times a power of two, made by writing the
// exponent field. Eight products, each below 4 · 2^F, fit in an int32 for
// F ≤ 26; longer sums are formed in double, exactly. Infinities, NaN and
// overflow go to a slow path, one element at a time.
#include "runtime/sim/arithmetic/NarrowProduct.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace act::runtime::sim {

namespace {

#define ACT_INLINE static inline __attribute__((always_inline))

/// `number`: the significand. For TF32 the low 13 bits of the word are ignored.
template <class F>
ACT_INLINE void takeApart(const uint32_t *codes, size_t count, float *number,
                          int32_t *exponent) {
  constexpr unsigned M = F::mantissaBits;
  constexpr unsigned shift = std::is_same_v<F, TF32> ? 13 : 0;
  constexpr uint32_t top = (1u << F::exponentBits) - 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t u = codes[i] >> shift, a = u & uint32_t(F::magnitude);
    uint32_t e = a >> M, m = a & ((1u << M) - 1);
    int32_t x = int32_t(e ? e : 1) - F::bias;
    float s = float(int32_t(m | (e ? 1u << M : 0))) * (1.0f / (1u << M));
    number[i] = u >> F::signShift & 1 ? -s : s;
    x = a == 0 ? zeroExponent : x;
    bool odd = F::hasInfinity ? e == top : a == uint32_t(F::nan);
    exponent[i] = odd ? specialExponent : x;
  }
}

ACT_INLINE void takeApart(Element type, const uint32_t *codes, size_t count,
                          float *number, int32_t *exponent) {
  switch (type) {
  case Element::F16:
    return takeApart<F16>(codes, count, number, exponent);
  case Element::BF16:
    return takeApart<BF16>(codes, count, number, exponent);
  case Element::E4M3:
    return takeApart<E4M3>(codes, count, number, exponent);
  case Element::E5M2:
    return takeApart<E5M2>(codes, count, number, exponent);
  default:
    return takeApart<TF32>(codes, count, number, exponent);
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

/// One product; the argument of a kernel.
struct Work {
  Extent extent;
  Accumulation how;
  Element aType, bType;
  const uint32_t *a, *b; // [k][m], [k][n]
  uint32_t *c;
  uint8_t *bad; // [m][n]: an operand is not finite, or a sum was not
};

constexpr unsigned W = 8;
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef uint32_t Words __attribute__((vector_size(4 * W)));
typedef float Floats __attribute__((vector_size(4 * W)));
typedef double Doubles __attribute__((vector_size(8 * W)));
typedef int64_t Longs __attribute__((vector_size(8 * W)));

template <typename V> ACT_INLINE void load(V &v, const void *p) {
  std::memcpy(&v, p, sizeof v);
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

/// Rounds x to the accumulator's bits.
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
      // Where rounding to nearest went away from zero, step back: the next
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

/// `numbers`, `exponents`: space for the parts of the operands, A first.
template <Accumulation::Result R>
ACT_INLINE void exactKernel(const Work &w, const float *numbers,
                            const int32_t *exponents) {
  constexpr bool half = R == Accumulation::RnF16;
  const unsigned m = w.extent.m, n = w.extent.n, k = w.extent.k;
  const int F = w.how.fraction;
  for (unsigned row = 0; row < m; ++row) {
    const float *as = numbers + row; // m apart
    const int32_t *ae = exponents + row;
    for (unsigned col = 0; col < n; col += W) {
      const float *bs = numbers + size_t(k) * m + col;
      const int32_t *be = exponents + size_t(k) * m + col;
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
        // Inlined, or vectors would be passed by a different calling
        // convention.
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

ACT_INLINE void anyExactKernel(const Work &w, float *numbers,
                               int32_t *exponents) {
  size_t ofA = size_t(w.extent.k) * w.extent.m,
         ofB = size_t(w.extent.k) * w.extent.n;
  takeApart(w.aType, w.a, ofA, numbers, exponents);
  takeApart(w.bType, w.b, ofB, numbers + ofA, exponents + ofA);
  switch (w.how.result) {
  case Accumulation::RzF32:
    return exactKernel<Accumulation::RzF32>(w, numbers, exponents);
  case Accumulation::Rz13:
    return exactKernel<Accumulation::Rz13>(w, numbers, exponents);
  case Accumulation::RnF32:
    return exactKernel<Accumulation::RnF32>(w, numbers, exponents);
  case Accumulation::RnF16:
    return exactKernel<Accumulation::RnF16>(w, numbers, exponents);
  }
}

// The kernels by vector width of the machine.
using Kernel = void (*)(const Work &, float *numbers, int32_t *exponents);
void exact128(const Work &w, float *numbers, int32_t *exponents) {
  anyExactKernel(w, numbers, exponents);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void exact256(const Work &w, float *numbers,
                                              int32_t *exponents) {
  anyExactKernel(w, numbers, exponents);
}
#endif
Kernel chooseKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return exact256;
#endif
  return exact128;
}

/// Memory for the exact path, kept between calls.
struct Room {
  std::vector<float> numbers;
  std::vector<int32_t> exponents;
  std::vector<uint8_t> bad;
  std::vector<uint32_t> before;
};
Room &room() {
  thread_local Room here;
  return here;
}

/// One element by the same rules, for the rare case of infinities or NaN, as
/// operands or by overflow of a sum. In a block, specials decide the result.
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
    // Run the kernel on this one block, with eight equal columns.
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
              c8,
              bad8},
             numbers.data(), exponents.data());
    c = c8[0];
  }
  return c;
}

} // namespace

void orderOf(const Accumulation &how, unsigned k, unsigned *order) {
  for (unsigned i = 0; i < k; ++i)
    order[i] = i;
  if (!how.order)
    return;
  Random random(how.order, 0);
  for (unsigned i = k; i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
}

void multiplyExactly(const Accumulation &how, Extent x, Element aType,
                     Element bType, const uint32_t *a, const uint32_t *b,
                     uint32_t *c) {
  static const Kernel kernel = chooseKernel();
  Room &r = room();
  size_t ofC = size_t(x.m) * x.n;
  r.before.assign(c, c + ofC);
  r.numbers.resize(size_t(x.k) * (x.m + x.n));
  r.exponents.resize(r.numbers.size());
  r.bad.resize(ofC);
  Work w = {x, how, aType, bType, a, b, c, r.bad.data()};
  kernel(w, r.numbers.data(), r.exponents.data());
  for (size_t i = 0; i < ofC; ++i)
    if (r.bad[i])
      c[i] = slowElement(w, unsigned(i / x.n), unsigned(i % x.n), r.before[i]);
}

} // namespace act::runtime::sim
