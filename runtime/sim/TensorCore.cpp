// SPDX-License-Identifier: Apache-2.0
//
// Terms are aligned in float: significand product (exact: at most 22 bits)
// times a power of two that is made by writing the exponent field, then
// truncated by the conversion to int32, which is what the model's truncation
// is. Eight products, each below 4 · 2^F, fit in an int32 for F ≤ 26; such sums
// are then added in double, exactly. Everything runs over eight columns at
// once.
#include "runtime/sim/TensorCore.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace act::runtime::sim {

unsigned bitsOf(Element e) {
  switch (e) {
  case Element::F64:
    return 64;
  case Element::TF32:
    return 32;
  case Element::F16:
  case Element::BF16:
    return 16;
  case Element::S4:
  case Element::U4:
    return 4;
  case Element::B1:
    return 1;
  default:
    return 8;
  }
}

Accumulation accumulationOf(uint32_t sm, Unit unit, Element a, bool half) {
  Accumulation r;
  unsigned bytes = bitsOf(a) / 8;
  bool eight = bytes == 1;
  r.block = uint8_t((sm >= 90 ? 32 : 16) / bytes);
  r.fraction = sm >= 90 ? 25 : 24;
  r.result = half ? Accumulation::RnF16 : Accumulation::RzF32;
  if (unit == Unit::Mma884)
    r.block = 4;
  if (eight && (unit == Unit::Wgmma || sm < 90)) {
    r.fraction = 13;
    r.result = half ? Accumulation::RnF16 : Accumulation::Rz13;
  }
  return r;
}

Accumulation drawAccumulation(Random &random, unsigned k, bool half) {
  Accumulation r;
  unsigned powers = 1;
  while ((1u << powers) < k)
    ++powers;
  r.block = uint8_t(1u << random.below(powers + 1));
  r.fraction = uint8_t(23 + random.below(4));
  bool nearest = random.below(2);
  r.result = half      ? Accumulation::RnF16
             : nearest ? Accumulation::RnF32
                       : Accumulation::RzF32;
  r.order = random.next() | 1;
  return r;
}

namespace {

// Exponents beyond those of any number: zero never wins the maximum, a special
// always does, even times zero.
constexpr int zeroExponent = -2000, specialExponent = 6000, special = 1000;

template <class F>
void takeApart(const uint32_t *codes, size_t count, unsigned shift,
               float *significand, int32_t *exponent) {
  constexpr unsigned M = F::mantissaBits;
  constexpr uint32_t top = (1u << F::exponentBits) - 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t u = codes[i] >> shift, a = u & uint32_t(F::magnitude);
    uint32_t e = a >> M, m = a & ((1u << M) - 1);
    int32_t whole = int32_t(m | (e ? 1u << M : 0));
    float s = float(whole) * (1.0f / (1u << M));
    significand[i] = u >> F::signShift & 1 ? -s : s;
    int32_t x = int32_t(e ? e : 1) - F::bias;
    x = a == 0 ? zeroExponent : x;
    bool odd = F::hasInfinity ? e == top : a == uint32_t(F::nan);
    exponent[i] = odd ? specialExponent : x;
  }
}

void takeApart(Element type, const uint32_t *codes, size_t count,
               float *significand, int32_t *exponent) {
  switch (type) {
  case Element::F16:
    return takeApart<F16>(codes, count, 0, significand, exponent);
  case Element::BF16:
    return takeApart<BF16>(codes, count, 0, significand, exponent);
  case Element::E4M3:
    return takeApart<E4M3>(codes, count, 0, significand, exponent);
  case Element::E5M2:
    return takeApart<E5M2>(codes, count, 0, significand, exponent);
  default: // the low 13 bits of the word are not looked at
    return takeApart<TF32>(codes, count, 13, significand, exponent);
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

/// Everything of one product, taken apart; the kernels' argument.
struct Work {
  Extent extent;
  Accumulation how;
  const float *as, *bs;
  const int32_t *ae, *be;
  uint32_t *c;
  uint8_t *bad; // [m][n]: an operand is not finite, or a sum was not
};

constexpr unsigned W = 8;
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef uint32_t Words __attribute__((vector_size(4 * W)));
typedef float Floats __attribute__((vector_size(4 * W)));
typedef double Doubles __attribute__((vector_size(8 * W)));
typedef int64_t Longs __attribute__((vector_size(8 * W)));

#define ACT_INLINE static inline __attribute__((always_inline))

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

template <Accumulation::Result R> ACT_INLINE void kernel(const Work &w) {
  constexpr bool half = R == Accumulation::RnF16;
  const unsigned m = w.extent.m, n = w.extent.n, k = w.extent.k;
  const int F = w.how.fraction;
  for (unsigned row = 0; row < m; ++row) {
    const float *as = w.as + row * k;
    const int32_t *ae = w.ae + row * k;
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
          e += ae[i];
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
            sum += aligned(s * as[i], e + ae[i]);
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

ACT_INLINE void anyKernel(const Work &w) {
  switch (w.how.result) {
  case Accumulation::RzF32:
    return kernel<Accumulation::RzF32>(w);
  case Accumulation::Rz13:
    return kernel<Accumulation::Rz13>(w);
  case Accumulation::RnF32:
    return kernel<Accumulation::RnF32>(w);
  case Accumulation::RnF16:
    return kernel<Accumulation::RnF16>(w);
  }
}

void plainKernel(const Work &w) { anyKernel(w); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) void wideKernel(const Work &w) { anyKernel(w); }
__attribute__((target("avx512f,avx512vl,avx512dq"))) void
widestKernel(const Work &w) {
  anyKernel(w);
}
#endif

using Kernel = void (*)(const Work &);
Kernel chooseKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return widestKernel;
  if (__builtin_cpu_supports("avx2"))
    return wideKernel;
#endif
  return plainKernel;
}

/// One element by the same rules, for the rare ones with infinities or NaN: the
/// specials decide, or a sum overflowed on the way.
uint32_t slowElement(const Work &w, unsigned row, unsigned col, Element aType,
                     Element bType, const uint32_t *a, const uint32_t *b,
                     uint32_t c) {
  const unsigned n = w.extent.n, k = w.extent.k;
  const bool half = w.how.result == Accumulation::RnF16;
  auto asDouble = [&](uint32_t bits) -> double {
    return half ? fromHalf(uint16_t(bits)) : __builtin_bit_cast(float, bits);
  };
  for (unsigned first = 0; first < k; first += w.how.block) {
    unsigned end = std::min(k, first + w.how.block);
    double specials = asDouble(c);
    bool finite = std::isfinite(specials);
    for (unsigned i = first; i < end; ++i) {
      double p = double(valueOf(aType, a[row * k + i])) *
                 double(valueOf(bType, b[i * n + col]));
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
    std::vector<float> bs(length * W);
    std::vector<int32_t> be(length * W);
    for (unsigned i = 0; i < length; ++i)
      for (unsigned j = 0; j < W; ++j) {
        bs[i * W + j] = w.bs[(first + i) * n + col];
        be[i * W + j] = w.be[(first + i) * n + col];
      }
    std::fill(c8, c8 + W, c);
    Work one = {{1, W, length},
                w.how,
                w.as + row * k + first,
                bs.data(),
                w.ae + row * k + first,
                be.data(),
                c8,
                bad8};
    plainKernel(one);
    c = c8[0];
  }
  return c;
}

} // namespace

void multiply(const Accumulation &how, Extent x, Element aType, Element bType,
              const uint32_t *a, const uint32_t *b, uint32_t *c) {
  static const Kernel kernel = chooseKernel();
  thread_local std::vector<float> significands;
  thread_local std::vector<int32_t> exponents;
  thread_local std::vector<uint8_t> bad;
  thread_local std::vector<uint32_t> before, orderedA, orderedB;
  if (how.order) { // the same permutation of K on both sides
    std::vector<unsigned> p(x.k);
    Random random(how.order, 0);
    for (unsigned i = 0; i < x.k; ++i)
      p[i] = i;
    for (unsigned i = x.k; i > 1; --i)
      std::swap(p[i - 1], p[random.below(i)]);
    orderedA.resize(x.m * x.k);
    orderedB.resize(x.k * x.n);
    for (unsigned i = 0; i < x.m; ++i)
      for (unsigned j = 0; j < x.k; ++j)
        orderedA[i * x.k + j] = a[i * x.k + p[j]];
    for (unsigned j = 0; j < x.k; ++j)
      std::copy_n(b + p[j] * x.n, x.n, orderedB.begin() + j * x.n);
    a = orderedA.data();
    b = orderedB.data();
  }
  size_t ofA = size_t(x.m) * x.k, ofB = size_t(x.k) * x.n;
  size_t ofC = size_t(x.m) * x.n;
  significands.resize(ofA + ofB);
  exponents.resize(ofA + ofB);
  bad.resize(ofC);
  before.assign(c, c + ofC);
  takeApart(aType, a, ofA, significands.data(), exponents.data());
  takeApart(bType, b, ofB, significands.data() + ofA, exponents.data() + ofA);
  Work w = {x,
            how,
            significands.data(),
            significands.data() + ofA,
            exponents.data(),
            exponents.data() + ofA,
            c,
            bad.data()};
  kernel(w);
  for (size_t i = 0; i < ofC; ++i)
    if (bad[i])
      c[i] = slowElement(w, unsigned(i / x.n), unsigned(i % x.n), aType, bType,
                         a, b, before[i]);
}

void multiply(Extent x, const double *a, const double *b, double *c,
              Rounding rounding) {
  bool nearest = rounding == Rounding::None || rounding == Rounding::Rn;
  for (unsigned i = 0; i < x.m; ++i)
    for (unsigned j = 0; j < x.n; ++j) {
      double sum = c[i * x.n + j];
      for (unsigned l = 0; l < x.k; ++l) {
        double p = a[i * x.k + l], q = b[l * x.n + j];
        sum = nearest ? std::fma(p, q, sum) : fmaRounded(p, q, sum, rounding);
      }
      c[i * x.n + j] = sum;
    }
}

void multiply(Extent x, const int32_t *a, const int32_t *b, int32_t *c,
              bool saturate) {
  std::vector<int32_t> sums(x.n); // K products of 16 bits: no overflow
  for (unsigned i = 0; i < x.m; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    for (unsigned l = 0; l < x.k; ++l) {
      int32_t p = a[i * x.k + l];
      const int32_t *row = b + l * x.n;
      for (unsigned j = 0; j < x.n; ++j)
        sums[j] += p * row[j];
    }
    for (unsigned j = 0; j < x.n; ++j) {
      int64_t s = int64_t(c[i * x.n + j]) + sums[j];
      if (saturate)
        s = std::clamp<int64_t>(s, INT32_MIN, INT32_MAX);
      c[i * x.n + j] = int32_t(uint32_t(uint64_t(s)));
    }
  }
}

void multiplyBits(Extent x, const uint32_t *a, const uint32_t *b, int32_t *c,
                  bool exclusiveOr) {
  unsigned words = x.k / 32;
  for (unsigned i = 0; i < x.m; ++i)
    for (unsigned j = 0; j < x.n; ++j) {
      uint32_t sum = uint32_t(c[i * x.n + j]);
      for (unsigned l = 0; l < words; ++l) {
        uint32_t p = a[i * words + l], q = b[j * words + l];
        sum += uint32_t(__builtin_popcount(exclusiveOr ? p ^ q : p & q));
      }
      c[i * x.n + j] = int32_t(sum);
    }
}

} // namespace act::runtime::sim
