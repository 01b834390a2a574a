// SPDX-License-Identifier: Apache-2.0
//
// The plain (fast) path for a tile, for vectors of any width (W lanes of 32
// bits). Nearly always a product of two numbers and its alignment are exact in
// float. A term is then two multiplications and a conversion to int32, which is
// the model's truncation (TensorCore.h). If that fails anywhere, the tile is
// done again by the exact path (NarrowProduct.cpp).
//
// The plain path is exact when
//
//   - E is at most 110 and no c is tiny: products are below 2^112 and units at
//     least 2^−126 (F ≤ 27), so every term that is not truncated to zero is a
//     normal number in float, and so is the result; infinities and NaN have a
//     larger exponent, even times zero
//   - the sum fits in an int32: 2^(29 − F) products do, each below 4 · 2^F;
//     adding c and further groups of products checks the size
#include "runtime/sim/arithmetic/ProductTile.h"
#include "runtime/sim/arithmetic/NarrowProduct.h"
#include "runtime/sim/arithmetic/Wide.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

namespace {

#define ACT_INLINE static inline __attribute__((always_inline))
#define ACT_UNROLL4 _Pragma("GCC unroll 4")

constexpr int leastExponent = -99, mostExponent = 110;
// Sums from here on are too close to the limit of int32.
constexpr uint32_t mostSum = 0x78000000;

template <unsigned W> struct Vectors {
  typedef int32_t Ints __attribute__((vector_size(4 * W)));
  typedef uint32_t Words __attribute__((vector_size(4 * W)));
  typedef float Floats __attribute__((vector_size(4 * W)));
  typedef int16_t Shorts __attribute__((vector_size(4 * W))); // 2 W of them
  typedef uint16_t Halves __attribute__((vector_size(4 * W)));
  typedef int16_t Few __attribute__((vector_size(2 * W)));
};

template <typename V> ACT_INLINE V load(const void *p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <typename V> ACT_INLINE void store(void *p, const V &v) {
  std::memcpy(p, &v, sizeof v);
}
template <typename V, typename From> ACT_INLINE V bits(const From &from) {
  static_assert(sizeof(V) == sizeof(From));
  return load<V>(&from);
}
template <typename V> ACT_INLINE V greater(const V &a, const V &b) {
  return a > b ? a : b;
}
template <typename V> ACT_INLINE V lesser(const V &a, const V &b) {
  return a < b ? a : b;
}
/// Four floats or four int16, repeated to fill a vector.
template <typename V, typename T> ACT_INLINE V repeat(const T *four) {
  if constexpr (sizeof(V) == 4 * sizeof(T)) {
    return load<V>(four);
  } else if constexpr (sizeof(T) == 2) {
    typedef uint64_t Longs __attribute__((vector_size(sizeof(V))));
    uint64_t all;
    std::memcpy(&all, four, 8);
    return bits<V>(Longs{} + all);
  } else {
    typedef float Four __attribute__((vector_size(16)));
    Four x = load<Four>(four);
    if constexpr (sizeof(V) == 32)
      return __builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3);
    else
      return __builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
                                     0, 1, 2, 3);
  }
}
template <typename V> ACT_INLINE bool isZero(const V &v) {
  uint64_t words[sizeof(V) / 8], any = 0;
  std::memcpy(words, &v, sizeof v);
  for (uint64_t w : words)
    any |= w;
  return !any;
}

/// A half's code as a float; infinities and NaN as numbers.
template <unsigned W>
ACT_INLINE typename Vectors<W>::Floats
ofHalf(const typename Vectors<W>::Words &u) {
  using V = Vectors<W>;
  auto scaled = bits<typename V::Floats>((u & 0x7fff) << 13) * 0x1p112f;
  return bits<typename V::Floats>(bits<typename V::Words>(scaled) | (u & 0x8000)
                                                                        << 16);
}
/// The code of the nearest half; x was rounded to odd.
template <unsigned W>
ACT_INLINE typename Vectors<W>::Words
toHalves(const typename Vectors<W>::Floats &x) {
  using V = Vectors<W>;
  using Words = typename V::Words;
  Words u = bits<Words>(x), a = u & 0x7fffffff;
  Words normal = (a + 0xfff + (a >> 13 & 1)) >> 13;
  normal -= 112u << 10;
  normal = lesser(normal, Words{} + 0x7c00);
  auto small = bits<typename V::Floats>(a) + 0.5f; // 2^−24 is its last place
  Words subnormal = bits<Words>(small) - 0x3f000000;
  Words r = a < 0x38800000 ? subnormal : normal;
  return r | (u >> 16 & 0x8000);
}

/// One block of K of a tile: L products; L = 0 for any number.
template <Accumulation::Result R, unsigned W, unsigned L> class PlainTile {
  using V = Vectors<W>;
  using Ints = typename V::Ints;
  using Words = typename V::Words;
  using Floats = typename V::Floats;
  using Shorts = typename V::Shorts;
  using Halves = typename V::Halves;
  static constexpr bool half = R == Accumulation::RnF16;
  static constexpr unsigned chunks = 32 / W, wide = 16 / W;
  // hasGroups: it takes several groups of products that each fit in an int32.
  // looksAtSums: one group suffices, but c may make it overflow.
  static constexpr bool hasGroups =
      L == 0 || (L == 32 && R != Accumulation::Rz13);
  static constexpr bool looksAtSums = !hasGroups && L >= 16;

public:
  __attribute__((always_inline))
  PlainTile(const Accumulation &how, const LeftTile &a, const RightTile &b)
      : a(a), b(b), F(how.fraction) {}

  // Follows the model: E is the largest exponent of c and the products; each
  // term becomes an integer, in units of 2^(E - F), by truncation; the integers
  // are added exactly; the sum is rounded. `scale` is 2^(F - E).
  __attribute__((always_inline)) void block(unsigned first, unsigned length,
                                            const TileSums &c, TileSums &d) {
    if constexpr (L != 0)
      length = L;
    findLargest(first, length);
    Words cs = leastOrMostC;
    Ints most = largestOfAll;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      Floats scale[4];
      Ints unit[4];
      ACT_UNROLL4
      for (unsigned v = 0; v < 4; ++v) {
        Ints e = __builtin_convertvector(
            load<typename V::Few>(largest[v] + chunk * W), Ints);
        e = greater(e, exponentsOf(load<Words>(c.words[v] + chunk * W), cs));
        e = greater(e, Ints{} + leastExponent);
        most = greater(most, e);
        unit[v] = ((F + 127) << 23) - (e << 23);
        scale[v] = bits<Floats>(unit[v]);
      }
      Ints sums[4] = {};
      if constexpr (!hasGroups)
        add(first, length, chunk, scale, sums);
      ACT_UNROLL4
      for (unsigned v = 0; v < 4; ++v) {
        Words code = load<Words>(c.words[v] + chunk * W);
        Ints ofC = __builtin_convertvector(numbersOf(code) * scale[v], Ints);
        if constexpr (looksAtSums)
          largestSum = greater(largestSum, sizeOf(sums[v]));
        sums[v] += ofC;
      }
      if constexpr (hasGroups)
        addGroups(first, length, chunk, scale, sums);
      ACT_UNROLL4
      for (unsigned v = 0; v < 4; ++v) {
        auto back = bits<Floats>((254 << 23) - unit[v]); // 1 / scale
        store(d.words[v] + chunk * W, rounded(sums[v], back));
      }
    }
    leastOrMostC = cs;
    largestOfAll = most;
  }

  /// Whether all results are exact.
  __attribute__((always_inline)) bool isExact() const {
    Ints bad = bits<Ints>(largestOfAll > mostExponent) | overflow >> 31;
    if constexpr (half) {
      bad |= bits<Ints>(leastOrMostC >= 0x7c00);
    } else {
      bad |= bits<Ints>(leastOrMostC < unsigned(leastExponent + 127) << 24);
      bad |= bits<Ints>(leastTerm < uint16_t(special + leastExponent));
    }
    if constexpr (looksAtSums || hasGroups)
      bad |= bits<Ints>(largestSum >= mostSum);
    return isZero(bad);
  }

private:
  const LeftTile &a;
  const RightTile &b;
  const int F;
  alignas(64) int16_t largest[4][32]; // exponents of products
  Ints largestOfAll = Ints{} + leastExponent, overflow = {};
  Words largestSum = {};
  // The smallest c, without zeros, which wrap around to large values; for
  // halves the largest code.
  Words leastOrMostC = half ? Words{} : Words{} + ~0u;
  Halves leastTerm = Halves{} + uint16_t(0xffff);

  __attribute__((always_inline)) static Words sizeOf(const Ints &x) {
    return Words(x < 0 ? -x : x);
  }
  __attribute__((always_inline)) static Floats numbersOf(const Words &code) {
    if constexpr (half)
      return ofHalf<W>(code);
    else
      return bits<Floats>(code);
  }
  __attribute__((always_inline)) static Ints exponentsOf(const Words &code,
                                                         Words &leastOrMostC) {
    if constexpr (half) {
      Words a = code & 0x7fff;
      leastOrMostC = greater(leastOrMostC, a);
      Ints e = Ints(greater(a >> 10, Words{} + 1)) - 15;
      return a == 0 ? Ints{} + zeroExponent : e;
    } else {
      Words size = code << 1;
      leastOrMostC = lesser(leastOrMostC, size - 1);
      return Ints(size >> 24) - 127;
    }
  }

  __attribute__((always_inline)) void findLargest(unsigned first,
                                                  unsigned length) {
    Shorts most[4][wide];
    ACT_UNROLL4
    for (unsigned v = 0; v < 4; ++v)
      ACT_UNROLL4
    for (unsigned i = 0; i < wide; ++i)
      most[v][i] = Shorts{} + int16_t(2 * zeroExponent);
    ACT_UNROLL4
    for (unsigned k = first; k < first + length; ++k) {
      Shorts p[2] = {repeat<Shorts>(b.exponents[k]),
                     repeat<Shorts>(b.exponents[k] + 4)};
      ACT_UNROLL4
      for (unsigned v = 0; v < 4; ++v)
        ACT_UNROLL4
      for (unsigned i = 0; i < wide; ++i)
        most[v][i] =
            greater(most[v][i],
                    load<Shorts>(a.exponents[k][v / 2] + 2 * W * i) + p[v % 2]);
    }
    ACT_UNROLL4
    for (unsigned v = 0; v < 4; ++v)
      ACT_UNROLL4
    for (unsigned i = 0; i < wide; ++i) {
      if constexpr (!half)
        leastTerm = lesser(leastTerm, bits<Halves>(most[v][i]) + special);
      store(largest[v] + 2 * W * i, most[v][i]);
    }
  }

  /// Adds terms whose sum fits in an int32.
  __attribute__((always_inline)) void add(unsigned first, unsigned length,
                                          unsigned chunk,
                                          const Floats (&scale)[4],
                                          Ints (&sums)[4]) const {
    ACT_UNROLL4
    for (unsigned k = first; k < first + length; ++k) {
      Floats y[2] = {repeat<Floats>(b.numbers[k]),
                     repeat<Floats>(b.numbers[k] + 4)};
      ACT_UNROLL4
      for (unsigned v = 0; v < 4; ++v)
        sums[v] += __builtin_convertvector(
            y[v % 2] * load<Floats>(a.numbers[k][v / 2] + chunk * W) * scale[v],
            Ints);
    }
  }
  __attribute__((always_inline)) void addGroups(unsigned first, unsigned length,
                                                unsigned chunk,
                                                const Floats (&scale)[4],
                                                Ints (&sums)[4]) {
    const unsigned most = L ? 16 : 1u << (29 - F); // F is at most 25 with L
    for (unsigned done = 0; done < length; done += most) {
      Ints some[4] = {};
      add(first + done, std::min(most, length - done), chunk, scale, some);
      for (unsigned v = 0; v < 4; ++v) {
        Ints total = Ints(Words(sums[v]) + Words(some[v]));
        overflow |= (sums[v] ^ total) & (some[v] ^ total);
        largestSum = greater(largestSum, sizeOf(total));
        sums[v] = total;
      }
    }
  }

  /// The accumulator's code for the sum in units of `back`.
  __attribute__((always_inline)) static Words rounded(const Ints &sum,
                                                      const Floats &back) {
    Floats total = __builtin_convertvector(sum, Floats);
    if constexpr (R != Accumulation::RnF32) {
      // Where rounding to nearest went away from zero, step back: the next
      // number towards zero has the next smaller code.
      Ints again = __builtin_convertvector(total, Ints);
      Ints code = bits<Ints>(total);
      code += sum > 0 ? again > sum : again < sum; // −1 where true
      if constexpr (R == Accumulation::Rz13)
        code &= ~0x3ff;
      if constexpr (half) // to odd
        code |= (again != sum) & 1;
      total = bits<Floats>(code);
    }
    total *= back;
    if constexpr (half)
      return toHalves<W>(total);
    else
      return bits<Words>(total);
  }
};

template <Accumulation::Result R, unsigned W, unsigned L>
ACT_INLINE bool plain(const Accumulation &how, const LeftTile &a,
                      const RightTile &b, const TileSums &c, TileSums &d) {
  PlainTile<R, W, L> tile(how, a, b);
  const TileSums *from = &c;
  for (unsigned first = 0; first < a.k; first += L ? L : how.block, from = &d)
    tile.block(first, std::min<unsigned>(a.k - first, how.block), *from, d);
  return tile.isExact();
}

/// False: d is not valid. The usual block lengths have their own loops.
template <unsigned W>
ACT_INLINE bool plain(const Accumulation &how, const LeftTile &a,
                      const RightTile &b, const TileSums &c, TileSums &d) {
  const unsigned block =
      how.fraction <= 25 && a.k % how.block == 0 ? how.block : 0;
  switch (how.result) {
  case Accumulation::RzF32:
    if (block == 4)
      return plain<Accumulation::RzF32, W, 4>(how, a, b, c, d);
    if (block == 8)
      return plain<Accumulation::RzF32, W, 8>(how, a, b, c, d);
    if (block == 16)
      return plain<Accumulation::RzF32, W, 16>(how, a, b, c, d);
    if (block == 32)
      return plain<Accumulation::RzF32, W, 32>(how, a, b, c, d);
    return plain<Accumulation::RzF32, W, 0>(how, a, b, c, d);
  case Accumulation::RnF16:
    if (block == 8)
      return plain<Accumulation::RnF16, W, 8>(how, a, b, c, d);
    if (block == 16)
      return plain<Accumulation::RnF16, W, 16>(how, a, b, c, d);
    return plain<Accumulation::RnF16, W, 0>(how, a, b, c, d);
  case Accumulation::Rz13:
    if (block == 32 && how.fraction <= 24)
      return plain<Accumulation::Rz13, W, 32>(how, a, b, c, d);
    return plain<Accumulation::Rz13, W, 0>(how, a, b, c, d);
  case Accumulation::RnF32:
    return plain<Accumulation::RnF32, W, 0>(how, a, b, c, d);
  }
  return false;
}

// ---- operands taken apart

using Eight = Vectors<8>;

/// The value (unspecified for infinity and NaN) and the exponent. For TF32 the
/// low 13 bits of the word are ignored.
template <class F>
ACT_INLINE void takeApart(Eight::Words u, Eight::Floats &number,
                          Eight::Ints &exponent) {
  constexpr unsigned M = F::mantissaBits;
  constexpr uint32_t top = (1u << F::exponentBits) - 1;
  if constexpr (std::is_same_v<F, TF32>)
    u >>= 13;
  Eight::Words a = u & uint32_t(F::magnitude), e = a >> M;
  auto s = bits<Eight::Floats>(a << (23 - M)); // the bias is corrected below
  if constexpr (F::bias != 127)
    s *= __builtin_bit_cast(float, uint32_t(254 - F::bias) << 23);
  number = bits<Eight::Floats>(bits<Eight::Words>(s) | (u >> F::signShift & 1)
                                                           << 31);
  exponent = Eight::Ints(greater(e, Eight::Words{} + 1)) - F::bias;
  exponent = a == 0 ? Eight::Ints{} + zeroExponent : exponent;
  auto odd = F::hasInfinity ? e == top : a == uint32_t(F::nan);
  exponent = odd ? Eight::Ints{} + specialExponent : exponent;
}

template <class F, unsigned t>
ACT_INLINE void spread(LeftTile &o, unsigned k, unsigned half, unsigned chunk,
                       const Eight::Floats &x, const Eight::Few &e) {
  constexpr unsigned u = t + 4;
  store(o.numbers[k][half] + 8 * chunk,
        __builtin_shufflevector(x, x, t, t, t, t, u, u, u, u));
  store(o.exponents[k][half] + 8 * chunk,
        __builtin_shufflevector(e, e, t, t, t, t, u, u, u, u));
}
template <class F> ACT_INLINE void takeApart(LeftTile &o) {
  constexpr unsigned width =
      std::is_same_v<F, TF32> ? 32 : 8 * sizeof(typename F::Bits);
  constexpr unsigned per = 32 / width;
  for (unsigned r = 0; r < o.registers; ++r)
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      auto u = load<Eight::Words>(o.words[r] + 8 * chunk);
      for (unsigned p = 0, k = r / 2 * 4 * per; p < per; ++p, ++k) {
        Eight::Floats x;
        Eight::Ints e;
        takeApart<F>(per == 1 ? u : u >> p * width, x, e);
        auto few = __builtin_convertvector(e, Eight::Few);
        spread<F, 0>(o, k, r % 2, chunk, x, few);
        spread<F, 1>(o, k + per, r % 2, chunk, x, few);
        spread<F, 2>(o, k + 2 * per, r % 2, chunk, x, few);
        spread<F, 3>(o, k + 3 * per, r % 2, chunk, x, few);
      }
    }
}

ACT_INLINE void transposed(const uint32_t *words, unsigned first,
                           FourWords x[4]) {
  for (unsigned i = 0; i < 4; ++i)
    x[i] = load<FourWords>(words + 8 * i + first);
  transpose(x);
}
/// Calls each(t, the words of t for columns 0 2 4 6 1 3 5 7).
template <typename Each>
ACT_INLINE void eachColumns(const uint32_t *words, const Each &each) {
  FourWords even[4], odd[4];
  transposed(words, 0, even);
  transposed(words, 4, odd);
  for (unsigned t = 0; t < 4; ++t)
    each(t, __builtin_shufflevector(even[t], odd[t], 0, 1, 2, 3, 4, 5, 6, 7));
}
template <class F> ACT_INLINE void takeApart(RightTile &o) {
  constexpr unsigned width =
      std::is_same_v<F, TF32> ? 32 : 8 * sizeof(typename F::Bits);
  constexpr unsigned per = 32 / width;
  for (unsigned r = 0; r < o.registers; ++r)
    eachColumns(o.words[r], [&](unsigned t,
                                Eight::Words u) __attribute__((always_inline)) {
      for (unsigned p = 0, k = (r * 4 + t) * per; p < per; ++p, ++k) {
        Eight::Floats x;
        Eight::Ints e;
        takeApart<F>(per == 1 ? u : u >> p * width, x, e);
        store(o.numbers[k], x);
        store(o.exponents[k], __builtin_convertvector(e, Eight::Few));
      }
    });
}

/// Pair p of neighbours of `width` bits, widened to 16 bits each.
template <unsigned width, bool isSigned>
ACT_INLINE Eight::Words pairOf(Eight::Words u, unsigned p) {
  auto element = [&](unsigned at) __attribute__((always_inline)) {
    if constexpr (isSigned)
      return Eight::Words(Eight::Ints(u << (32 - width - at)) >>
                          int(32 - width));
    else
      return u >> at & ((1u << width) - 1);
  };
  return (element(2 * width * p) & 0xffff) | element(2 * width * p + width)
                                                 << 16;
}
template <unsigned t>
ACT_INLINE void spread(uint32_t *to, const Eight::Words &x) {
  constexpr unsigned u = t + 4;
  store(to, __builtin_shufflevector(x, x, t, t, t, t, u, u, u, u));
}
template <unsigned width, bool isSigned> ACT_INLINE void pairUp(LeftTile &o) {
  constexpr unsigned pairs = 16 / width;
  for (unsigned r = 0; r < o.registers; ++r)
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      auto u = load<Eight::Words>(o.words[r] + 8 * chunk);
      for (unsigned p = 0, k = r / 2 * 4 * pairs; p < pairs; ++p, ++k) {
        auto x = pairOf<width, isSigned>(u, p);
        spread<0>(o.pairs[k][r % 2] + 8 * chunk, x);
        spread<1>(o.pairs[k + pairs][r % 2] + 8 * chunk, x);
        spread<2>(o.pairs[k + 2 * pairs][r % 2] + 8 * chunk, x);
        spread<3>(o.pairs[k + 3 * pairs][r % 2] + 8 * chunk, x);
      }
    }
}
template <unsigned width, bool isSigned> ACT_INLINE void pairUp(RightTile &o) {
  constexpr unsigned pairs = 16 / width;
  for (unsigned r = 0; r < o.registers; ++r)
    eachColumns(o.words[r], [&](unsigned t,
                                Eight::Words u) __attribute__((always_inline)) {
      for (unsigned p = 0; p < pairs; ++p)
        store(o.pairs[(r * 4 + t) * pairs + p], pairOf<width, isSigned>(u, p));
    });
}

template <typename Tile> ACT_INLINE void takeAnyApart(Tile &o) {
  switch (o.type) {
  case Element::F16:
    return takeApart<F16>(o);
  case Element::BF16:
    return takeApart<BF16>(o);
  case Element::E4M3:
    return takeApart<E4M3>(o);
  case Element::E5M2:
    return takeApart<E5M2>(o);
  case Element::TF32:
    return takeApart<TF32>(o);
  case Element::S8:
    return pairUp<8, true>(o);
  case Element::U8:
    return pairUp<8, false>(o);
  case Element::S4:
    return pairUp<4, true>(o);
  case Element::U4:
    return pairUp<4, false>(o);
  default:
    return;
  }
}

// ---- integers

/// Sums of a half's lanes for one p, `count` chunks of W lanes.
template <unsigned W>
ACT_INLINE void addPairs(const LeftTile &a, const RightTile &b,
                         const TileSums &c, TileSums &d, bool saturate) {
  using V = Vectors<W>;
  using Ints = typename V::Ints;
  constexpr unsigned count = 16 / W ? 16 / W : 1;
  const unsigned pairs = a.k / 2;
  auto product = [](const Ints &x,
                    const Ints &y) __attribute__((always_inline)) {
    return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
  };
  for (unsigned v = 0; v < 4; ++v)
    for (unsigned first = 0; first < 32; first += count * W) {
      Ints sums[count] = {};
      for (unsigned q = 0; q < pairs; ++q) {
        auto y = bits<Ints>(repeat<typename V::Floats>(
            reinterpret_cast<const float *>(b.pairs[q] + v % 2 * 4)));
        ACT_UNROLL4
        for (unsigned i = 0; i < count; ++i)
          sums[i] += product(load<Ints>(a.pairs[q][v / 2] + first + i * W), y);
      }
      for (unsigned i = 0; i < count; ++i) {
        auto old = load<typename V::Words>(c.words[v] + first + i * W);
        auto sum = old + bits<typename V::Words>(sums[i]);
        if (saturate) {
          auto over = (Ints(old ^ sum) & (sums[i] ^ Ints(sum))) < 0;
          auto end = Ints(old) < 0 ? Ints{} + INT32_MIN : Ints{} + INT32_MAX;
          sum = typename V::Words(over ? end : Ints(sum));
        }
        store(d.words[v] + first + i * W, sum);
      }
    }
}

// ---- kernels by vector width

#define ACT_KERNELS(name, W, target)                                           \
  target void left##name(LeftTile &o) { takeAnyApart(o); }                     \
  target void right##name(RightTile &o) { takeAnyApart(o); }                   \
  target bool plain##name(const Accumulation &how, const LeftTile &a,          \
                          const RightTile &b, const TileSums &c,               \
                          TileSums &d) {                                       \
    return plain<W>(how, a, b, c, d);                                          \
  }                                                                            \
  target void integers##name(const LeftTile &a, const RightTile &b,            \
                             const TileSums &c, TileSums &d, bool saturate) {  \
    addPairs<W>(a, b, c, d, saturate);                                         \
  }                                                                            \
  constexpr TileKernels kernels##name = {W, left##name, right##name,           \
                                         plain##name, integers##name};

ACT_KERNELS(128, 4, )
#if defined(__x86_64__)
ACT_KERNELS(256, 8, __attribute__((target("avx2"))))
ACT_KERNELS(512, 16,
            __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))))
#endif

const TileKernels &kernels() {
  static const TileKernels chosen = tileKernels().back();
  return chosen;
}

/// Copies the tile with its positions along K in the given order.
template <typename Tile>
void reorder(const Tile &from, const unsigned *order, Tile &to) {
  to.type = from.type;
  to.registers = from.registers;
  to.k = from.k;
  for (unsigned k = 0; k < from.k; ++k) {
    std::memcpy(to.numbers[k], from.numbers[order[k]], sizeof to.numbers[k]);
    std::memcpy(to.exponents[k], from.exponents[order[k]],
                sizeof to.exponents[k]);
  }
}

bool multiplyInOrder(const Accumulation &how, const unsigned *order,
                     const LeftTile &a, const RightTile &b, const TileSums &c,
                     TileSums &d) {
  thread_local LeftTile x;
  thread_local RightTile y;
  reorder(a, order, x);
  reorder(b, order, y);
  return kernels().plain(how, x, y, c, d);
}

uint32_t codeIn(const uint32_t *word, unsigned width, unsigned k) {
  const unsigned per = 32 / width;
  return width == 32 ? *word : *word >> k % per * width & ((1u << width) - 1);
}

} // namespace

const std::vector<TileKernels> &tileKernels() {
  static const std::vector<TileKernels> all = [] {
    std::vector<TileKernels> r = {kernels128};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
      r.push_back(kernels256);
    if (__builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
      r.push_back(kernels512);
#endif
    return r;
  }();
  return all;
}

uint32_t LeftTile::code(unsigned row, unsigned k) const {
  const unsigned width = bitsOf(type), per = 32 / width;
  return codeIn(&words[k / (4 * per) * 2 + row / 8][row % 8 * 4 + k / per % 4],
                width, k);
}
uint32_t RightTile::code(unsigned k, unsigned column) const {
  const unsigned width = bitsOf(type), per = 32 / width;
  return codeIn(&words[k / (4 * per)][column * 4 + k / per % 4], width, k);
}

void takeApart(LeftTile &o) { kernels().left(o); }
void takeApart(RightTile &o) { kernels().right(o); }

/// The plain path, and the exact one where the plain one was not exact. Both
/// add in the same order, so the result does not depend on which was taken.
void multiply(const Accumulation &how, const LeftTile &a, const RightTile &b,
              const TileSums &c, TileSums &d) {
  unsigned order[LeftTile::mostK];
  if (how.order)
    orderOf(how, a.k, order);
  if (how.order ? multiplyInOrder(how, order, a, b, c, d)
                : kernels().plain(how, a, b, c, d))
    return;
  if (!how.order)
    orderOf(how, a.k, order);
  constexpr unsigned m = 16, n = 8;
  uint32_t x[LeftTile::mostK * m], y[LeftTile::mostK * n], sums[m * n];
  for (unsigned k = 0; k < a.k; ++k) {
    for (unsigned i = 0; i < m; ++i)
      x[k * m + i] = a.code(i, order[k]);
    for (unsigned j = 0; j < n; ++j)
      y[k * n + j] = b.code(order[k], j);
  }
  auto place = [](uint32_t (*words)[32], unsigned i, unsigned j) -> uint32_t & {
    return words[i / 8 * 2 + j % 2][i % 8 * 4 + j / 2];
  };
  d = c;
  for (unsigned i = 0; i < m * n; ++i)
    sums[i] = place(d.words, i / n, i % n);
  multiplyExactly(how, {m, n, a.k}, a.type, b.type, x, y, sums);
  for (unsigned i = 0; i < m * n; ++i)
    place(d.words, i / n, i % n) = sums[i];
}

void multiply(const LeftTile &a, const RightTile &b, bool saturate,
              const TileSums &c, TileSums &d) {
  kernels().integers(a, b, c, d, saturate);
}

void multiplyBits(const LeftTile &a, const RightTile &b, const TileSums &c,
                  TileSums &d) {
  const unsigned slabs = a.registers / 2;
  for (unsigned v = 0; v < 4; ++v)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, column = lane % 4 * 2 + v % 2;
      uint32_t sum = c.words[v][lane];
      for (unsigned s = 0; s < slabs; ++s)
        for (unsigned t = 0; t < 4; ++t)
          sum += unsigned(__builtin_popcount(a.words[2 * s + v / 2][4 * g + t] &
                                             b.words[s][4 * column + t]));
      d.words[v][lane] = sum;
    }
}

} // namespace act::runtime::sim
