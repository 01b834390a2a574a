// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of tensor cores: exact where it must be; the features that
// were published of each architecture; never further from the true sum than
// truncation allows; and bit for bit what a slow, literal reading of the model
// gives (integers of 128 bits, one output at a time).
#include "runtime/sim/arithmetic/ProductTile.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace act::runtime::sim;

namespace {

uint32_t f32(float x) { return __builtin_bit_cast(uint32_t, x); }
float toFloat(uint32_t x) { return __builtin_bit_cast(float, x); }

/// One dot product, in column 3 of row 0 of an m16n8.
uint32_t dot(const Accumulation &how, Element type,
             const std::vector<uint32_t> &x, const std::vector<uint32_t> &y,
             uint32_t c) {
  unsigned k = unsigned(x.size());
  std::vector<uint32_t> a(16 * k), b(k * 8), d(16 * 8);
  for (unsigned i = 0; i < k; ++i) {
    a[i * 16] = x[i];
    b[i * 8 + 3] = y[i];
  }
  d[3] = c;
  multiply(how, {16, 8, k}, type, type, a.data(), b.data(), d.data());
  for (unsigned i = 8; i < 128; ++i)
    EXPECT_EQ(d[i], 0u) << i;
  return d[3];
}

std::vector<uint32_t> halves(std::initializer_list<float> values, unsigned k) {
  std::vector<uint32_t> r(k, 0);
  unsigned i = 0;
  for (float v : values)
    r[i++] = toHalf(v);
  return r;
}
const auto ones = [](unsigned k) { return std::vector<uint32_t>(k, 0x3c00); };

const Accumulation ampere = accumulationOf(80, Unit::Mma, Element::F16, false);
const Accumulation ampereHalf =
    accumulationOf(80, Unit::Mma, Element::F16, true);
const Accumulation hopper =
    accumulationOf(90, Unit::Wgmma, Element::F16, false);

TEST(TensorCore, TableOfArchitectures) {
  struct {
    uint32_t sm;
    Unit unit;
    Element type;
    int block, fraction;
    Accumulation::Result result;
  } rows[] = {
      {80, Unit::Mma, Element::F16, 8, 24, Accumulation::RzF32},
      {86, Unit::Mma, Element::BF16, 8, 24, Accumulation::RzF32},
      {80, Unit::Mma, Element::TF32, 4, 24, Accumulation::RzF32},
      {89, Unit::Mma, Element::E4M3, 16, 13, Accumulation::Rz13},
      {89, Unit::Mma, Element::F16, 8, 24, Accumulation::RzF32},
      {90, Unit::Mma, Element::F16, 16, 25, Accumulation::RzF32},
      {90, Unit::Mma, Element::TF32, 8, 25, Accumulation::RzF32},
      {90, Unit::Mma, Element::E5M2, 32, 25, Accumulation::RzF32},
      {90, Unit::Wgmma, Element::BF16, 16, 25, Accumulation::RzF32},
      {90, Unit::Wgmma, Element::E4M3, 32, 13, Accumulation::Rz13},
  };
  for (auto &r : rows) {
    Accumulation a = accumulationOf(r.sm, r.unit, r.type, false);
    EXPECT_EQ(a.block, r.block) << r.sm;
    EXPECT_EQ(a.fraction, r.fraction) << r.sm;
    EXPECT_EQ(a.result, r.result) << r.sm;
    EXPECT_EQ(accumulationOf(r.sm, r.unit, r.type, true).result,
              Accumulation::RnF16);
  }
}

// Fasi et al., section "subnormals": they are taken and given.
TEST(TensorCore, KeepsSubnormals) {
  std::vector<uint32_t> tiny(16, 0);
  tiny[0] = 1; // 2^−24
  EXPECT_EQ(dot(ampere, Element::F16, tiny, ones(16), 0), f32(0x1p-24f));
  EXPECT_EQ(dot(ampere, Element::F16, tiny, tiny, 0), f32(0x1p-48f));
  EXPECT_EQ(dot(ampere, Element::F16, halves({}, 16), ones(16), 5), 5u);
  EXPECT_EQ(dot(ampereHalf, Element::F16, tiny, ones(16), 0), 1u);
  std::vector<uint32_t> small(16, 0); // bf16: 2^−70 · 2^−70 is an f32 subnormal
  small[0] = toBFloat(0x1p-70f);
  EXPECT_EQ(dot(ampere, Element::BF16, small, small, 0), f32(0x1p-140f));
}

// Fasi et al.: results are truncated, for both signs.
TEST(TensorCore, RoundsTowardsZero) {
  // 1 + 2^−24 + 2^−24: exactly 1 + 2^−23, found by a guard bit on Ampere.
  auto x = halves({0x1p-12f, 0x1p-12f}, 16), y = x;
  EXPECT_EQ(dot(ampere, Element::F16, x, y, f32(1)), f32(1 + 0x1p-23f));
  // 1 + 1.5 · 2^−23 lies between two floats.
  auto u = halves({0x1p-11f, 0x1p-12f}, 16),
       v = halves({0x1p-12f, 0x1p-12f}, 16);
  EXPECT_EQ(dot(ampere, Element::F16, u, v, f32(1)), f32(1 + 0x1p-23f));
  auto minus = halves({-0x1p-11f, -0x1p-12f}, 16);
  EXPECT_EQ(dot(ampere, Element::F16, minus, v, f32(-1)), f32(-1 - 0x1p-23f));
  // To nearest for f16: 1 + 0.75 · 2^−10.
  auto p = halves({0x1p-10f}, 16), q = halves({0.75f}, 16);
  EXPECT_EQ(dot(ampereHalf, Element::F16, p, q, toHalf(1)), toHalf(1) + 1u);
}

// What lies below the last kept place of the largest term is lost one by one:
// 24 places on Ampere and Ada, 25 on Hopper.
TEST(TensorCore, AlignsToTheLargestTerm) {
  auto four = [&](const Accumulation &how, float s) {
    std::vector<uint32_t> x(8, 0), y(8, 0);
    for (unsigned i = 0; i < 4; ++i) {
      x[i] = toHalf(s);
      y[i] = toHalf(0x1p-13f);
    }
    return toFloat(dot(how, Element::F16, x, y, f32(1)));
  };
  // 4 · 2^−24: kept. 4 · 2^−25 = 2^−23: only Hopper sees it. 8 · 2^−26: nobody.
  EXPECT_EQ(four(ampere, 0x1p-11f), 1 + 0x1p-22f);
  EXPECT_EQ(four(hopper, 0x1p-11f), 1 + 0x1p-22f);
  EXPECT_EQ(four(ampere, 0x1p-12f), 1.0f);
  EXPECT_EQ(four(hopper, 0x1p-12f), 1 + 0x1p-23f);
  EXPECT_EQ(four(hopper, 0x1p-13f), 1.0f);
}

// Ampere sums eight and eight, Hopper sixteen at once: a large pair that
// cancels costs the small ones their places only in its own block.
TEST(TensorCore, SumsInBlocks) {
  std::vector<uint32_t> x(16, 0), y = ones(16);
  x[0] = toHalf(1024);
  x[1] = toHalf(-1024);
  x[8] = toHalf(0x1p-20f);
  EXPECT_EQ(toFloat(dot(ampere, Element::F16, x, y, 0)), 0x1p-20f);
  EXPECT_EQ(toFloat(dot(hopper, Element::F16, x, y, 0)), 0.0f);
  std::swap(x[8], x[2]);
  EXPECT_EQ(toFloat(dot(ampere, Element::F16, x, y, 0)), 0.0f);
}

// E is that of the factors: a significand product of two or more is not
// normalised, so 1.5 · 1.5 = 2.25 has exponent 0 and keeps a place more.
TEST(TensorCore, ProductsAreNotNormalised) {
  auto x = halves({1.5f, 0x1p-12f}, 8), y = halves({1.5f, 0x1p-12f}, 8);
  // 2.25 + 2^−24: the term survives in the sum (F = 24) but not in the result.
  auto minus = x;
  minus[2] = toHalf(-1.5f);
  y[2] = toHalf(1.5f);
  EXPECT_EQ(toFloat(dot(ampere, Element::F16, minus, y, 0)), 0x1p-24f);
  minus = halves({2.25f, 0x1p-12f, -2.25f}, 8);
  auto z = halves({1, 0x1p-12f, 1}, 8);
  EXPECT_EQ(toFloat(dot(ampere, Element::F16, minus, z, 0)), 0.0f);
}

// FP8 on Hopper's wgmma and on Ada keeps 13 bits of mantissa.
TEST(TensorCore, Fp8HasThirteenBits) {
  Accumulation wgmma = accumulationOf(90, Unit::Wgmma, Element::E4M3, false);
  Accumulation mma = accumulationOf(90, Unit::Mma, Element::E4M3, false);
  std::vector<uint32_t> x(32, 0), y(32, 0);
  x[0] = y[0] = 0x38;            // 1
  x[1] = y[1] = toE4M3(0x1p-7f); // 2^−14
  EXPECT_EQ(toFloat(dot(wgmma, Element::E4M3, x, y, 0)), 1.0f);
  EXPECT_EQ(toFloat(dot(mma, Element::E4M3, x, y, 0)), 1 + 0x1p-14f);
  x[1] = toE4M3(0x1p-6f);
  EXPECT_EQ(toFloat(dot(wgmma, Element::E4M3, x, y, 0)), 1 + 0x1p-13f);
  EXPECT_EQ(dot(wgmma, Element::E4M3, x, y, f32(1 + 0x1p-20f)), f32(2.0f));
}

TEST(TensorCore, InfinitiesAndNaN) {
  const uint32_t inf = 0x7f800000, nan = 0x7fffffff;
  auto x = halves({INFINITY, 1}, 16), y = halves({2, 1}, 16);
  EXPECT_EQ(dot(ampere, Element::F16, x, y, f32(1)), inf);
  EXPECT_EQ(dot(ampere, Element::F16, x, y, inf | 0x80000000), nan);
  y[0] = 0;
  EXPECT_EQ(dot(ampere, Element::F16, x, y, 0), nan);
  x[0] = 0x7e00;
  EXPECT_EQ(dot(ampere, Element::F16, x, y, 0), nan);
  EXPECT_EQ(dot(ampereHalf, Element::F16, x, y, 0), 0x7fffu);
  // Overflow in the first block, finite in the second: infinity stays.
  std::vector<uint32_t> big(16, 0), one(16, toBFloat(1));
  big[0] = toBFloat(0x1p127f);
  big[1] = toBFloat(0x1p127f);
  big[8] = toBFloat(-0x1p127f);
  EXPECT_EQ(dot(ampere, Element::BF16, big, one, 0), inf);
  // Just below: truncation, not infinity.
  auto product = halves({65504, 65504}, 16);
  EXPECT_EQ(dot(ampereHalf, Element::F16, halves({1, 0}, 16), product, 0),
            0x7bffu);
  EXPECT_EQ(dot(ampereHalf, Element::F16, halves({1, 1}, 16), product, 0),
            0x7c00u);
  // 2^127 is left of the first block, nothing of the second.
  EXPECT_EQ(dot(ampere, Element::BF16, big, one, f32(-0x1p127f)), 0u);
}

/// The model, read literally. Everything in units of 2^(E − F), an integer.
uint32_t literal(const Accumulation &how, Element type,
                 const std::vector<uint32_t> &x, const std::vector<uint32_t> &y,
                 uint32_t c) {
  struct Parts {
    int64_t significand; // of `places` fractional bits
    int exponent, places;
  };
  auto apart = [](uint32_t code, int exponentBits, int places) {
    int bias = (1 << (exponentBits - 1)) - 1;
    int field = int(code >> places & ((1u << exponentBits) - 1));
    int64_t m = code & ((1u << places) - 1);
    if (field)
      m |= int64_t(1) << places;
    if (code >> (exponentBits + places) & 1)
      m = -m;
    return Parts{m, (field ? field : 1) - bias, places};
  };
  auto operand = [&](uint32_t code) {
    switch (type) {
    case Element::F16:
      return apart(code, 5, 10);
    case Element::BF16:
      return apart(code, 8, 7);
    case Element::E4M3:
      return apart(code, 4, 3);
    case Element::E5M2:
      return apart(code, 5, 2);
    default:
      return apart(code >> 13, 8, 10);
    }
  };
  bool half = how.result == Accumulation::RnF16;
  for (size_t first = 0; first < x.size(); first += how.block) {
    std::vector<Parts> terms = {half ? apart(c, 5, 10) : apart(c, 8, 23)};
    for (size_t i = first; i < x.size() && i < first + how.block; ++i) {
      Parts p = operand(x[i]), q = operand(y[i]);
      terms.push_back({p.significand * q.significand, p.exponent + q.exponent,
                       p.places + q.places});
    }
    int largest = -126;
    for (const Parts &t : terms)
      if (t.significand)
        largest = std::max(largest, t.exponent);
    __int128 sum = 0;
    for (const Parts &t : terms) {
      // significand · 2^(exponent − places) / 2^(largest − F), towards zero
      int shift = t.exponent - t.places - largest + how.fraction;
      __int128 v = t.significand < 0 ? -t.significand : t.significand;
      if (v != 0) // the exponents of zeros are anything
        v = shift >= 0 ? v << shift : shift > -100 ? v >> -shift : 0;
      sum += t.significand < 0 ? -v : v;
    }
    bool negative = sum < 0;
    uint64_t size = uint64_t(negative ? -sum : sum);
    int unit = largest - how.fraction;
    if (half) {
      c = pack<F16>(negative, unit, size, Rounding::Rn);
      if ((c & 0x7c00) == 0x7c00)
        return c; // nothing finite brings it back
    } else {
      c = pack<F32>(negative, unit, size, Rounding::Rz);
      if (std::ldexp((long double)size, unit) >= 0x1p128L)
        return negative ? 0xff800000 : 0x7f800000;
      if (how.result == Accumulation::Rz13)
        c &= ~0x3ffu;
      if (how.result == Accumulation::RnF32)
        c = pack<F32>(negative, unit, size, Rounding::Rn);
    }
  }
  return c;
}

/// Finite numbers: of all sizes (kind 0), of like sizes with few bits (1);
/// where the type has them, with products around 2^−100 (2), where terms begin
/// to leave what float holds exactly, and up to 2^130 (3); zeros.
uint32_t drawn(Random &r, Element type, int kind) {
  auto finite = [](uint32_t u, uint32_t exponentMask) {
    return (u & exponentMask) == exponentMask
               ? u & ~(exponentMask & -exponentMask)
               : u;
  };
  uint32_t u = uint32_t(r.next());
  if (r.below(16) == 0)
    return 0;
  float near = float(int(r.below(4001)) - 2000) / 512;
  if (near == 0) // has no exponent to add to
    return 0;
  if (kind >= 2 && (type == Element::BF16 || type == Element::TF32)) {
    near = std::ldexp(near, int(u % 30) + (kind == 2 ? -65 : 34));
    return type == Element::BF16 ? toBFloat(near) : f32(near);
  }
  switch (type) {
  case Element::F16:
    return kind ? toHalf(near) : finite(u & 0xffff, 0x7c00);
  case Element::BF16:
    // Products of two stay below f32's largest number.
    return kind ? toBFloat(near)
                : toBFloat(toFloat(f32(near) + ((u % 60) << 23) - (20u << 23)));
  case Element::TF32:
    return kind ? f32(near) : f32(near) + ((u % 60) << 23) - (20u << 23);
  case Element::E4M3:
    return (u & 0x7f) == 0x7f ? 0x7e : u & 0xff;
  default:
    return finite(u & 0xff, 0x7c);
  }
}

TEST(TensorCore, IsTheModelBitForBit) {
  Random random(7, 1);
  struct {
    uint32_t sm;
    Unit unit;
    Element type;
    unsigned k;
  } cases[] = {{80, Unit::Mma, Element::F16, 16},
               {80, Unit::Mma, Element::BF16, 16},
               {80, Unit::Mma, Element::TF32, 8},
               {89, Unit::Mma, Element::E4M3, 32},
               {89, Unit::Mma, Element::E5M2, 32},
               {90, Unit::Mma, Element::F16, 16},
               {90, Unit::Mma, Element::E5M2, 32},
               {90, Unit::Wgmma, Element::BF16, 16},
               {90, Unit::Wgmma, Element::TF32, 8},
               {90, Unit::Wgmma, Element::E4M3, 32}};
  for (auto &k : cases)
    for (bool half : {false, true}) {
      if (half && (k.type == Element::BF16 || k.type == Element::TF32))
        continue;
      Accumulation how = accumulationOf(k.sm, k.unit, k.type, half);
      for (unsigned round = 0; round < 320; ++round) {
        const unsigned m = round / 8 % 2 ? 16 : 8, n = round / 4 % 2 ? 16 : 8;
        std::vector<uint32_t> a(m * k.k), b(k.k * n), c(m * n);
        for (uint32_t &v : a)
          v = drawn(random, k.type, round % 4);
        for (uint32_t &v : b)
          v = drawn(random, k.type, round % 4);
        if (round % 8 == 7) { // the longest sums: largest significands
          bool sixteen = k.type == Element::F16 || k.type == Element::BF16;
          uint32_t code = sixteen                   ? 0x3fff
                          : k.type == Element::TF32 ? 0x3fffe000
                                                    : 0x3f;
          std::fill(a.begin(), a.end(), code);
          std::fill(b.begin(), b.end(), code);
        }
        if (round % 5 == 2) // rows whose result is the accumulator
          for (size_t i = 0; i < a.size(); ++i)
            a[i] = i % m < m / 2 ? 0 : a[i];
        for (uint32_t &v : c) {
          if (random.below(4) == 0)
            continue; // zero
          float near = float(int(random.below(4001)) - 2000) / 512;
          v = half
                  ? toHalf(near)
                  : f32(near * std::ldexp(1.0f, int(random.below(40)) - 30 -
                                                    (round % 4 == 2 ? 90 : 0)));
        }
        if (round >= 160) { // what a seed may draw
          how = drawAccumulation(random, k.k, half);
          how.order = 0;
        }
        std::vector<uint32_t> before = c;
        multiply(how, {m, n, k.k}, k.type, k.type, a.data(), b.data(),
                 c.data());
        for (unsigned i = 0; i < m; ++i)
          for (unsigned j = 0; j < n; ++j) {
            std::vector<uint32_t> x(k.k), y(k.k);
            for (unsigned l = 0; l < k.k; ++l) {
              x[l] = a[l * m + i];
              y[l] = b[l * n + j];
            }
            uint32_t want = literal(how, k.type, x, y, before[i * n + j]);
            // The sign of zero is not part of the model.
            uint32_t got = c[i * n + j];
            uint32_t magnitude = half ? 0x7fff : 0x7fffffff;
            if ((want & magnitude) == 0)
              want = got & ~magnitude;
            ASSERT_EQ(got, want)
                << "sm " << k.sm << " type " << int(k.type) << " half " << half
                << " at " << i << ", " << j;
          }
      }
    }
}

// Vectors of every width that the machine has come to the same, and say alike
// where the plain way is not right.
TEST(TensorCore, EveryWidthOfVectorsIsTheSame) {
  Random random(11, 4);
  const Element types[] = {Element::F16, Element::BF16, Element::TF32,
                           Element::E4M3, Element::S8};
  unsigned plain = 0;
  for (unsigned round = 0; round < 200; ++round) {
    const Element type = types[round % 5];
    LeftTile a;
    RightTile b;
    a.type = b.type = type;
    a.registers = 4;
    b.registers = 2;
    a.k = b.k = 256 / bitsOf(type);
    auto word = [&] {
      uint32_t w = 0;
      for (unsigned at = 0; at < 32; at += bitsOf(type))
        w |= type == Element::S8 ? uint32_t(random.below(256)) << at
                                 : drawn(random, type, round / 5 % 4) << at;
      return w;
    };
    for (auto &reg : a.words)
      for (uint32_t &w : reg)
        w = word();
    for (auto &reg : b.words)
      for (uint32_t &w : reg)
        w = word();
    const bool half = type == Element::F16 && round % 2;
    Accumulation how = round % 3 ? accumulationOf(90, Unit::Wgmma, type, half)
                                 : drawAccumulation(random, a.k, half);
    how.order = 0;
    TileSums c, first, d;
    for (auto &reg : c.words)
      for (uint32_t &w : reg) {
        float near = float(int(random.below(4001)) - 2000) / 97;
        w = half ? toHalf(near) : f32(near);
      }
    bool firstIsPlain = false;
    for (const TileKernels &kernels : tileKernels()) {
      kernels.left(a);
      kernels.right(b);
      bool isPlain = true;
      if (type == Element::S8)
        kernels.integers(a, b, c, d, round % 2);
      else
        isPlain = kernels.plain(how, a, b, c, d);
      if (kernels.lanes == tileKernels()[0].lanes) {
        first = d;
        firstIsPlain = isPlain;
        plain += isPlain;
      }
      ASSERT_EQ(isPlain, firstIsPlain) << kernels.lanes;
      for (unsigned v = 0; isPlain && v < 4; ++v)
        for (unsigned lane = 0; lane < 32; ++lane)
          ASSERT_EQ(d.words[v][lane], first.words[v][lane])
              << kernels.lanes << " lanes, type " << int(type);
    }
  }
  EXPECT_GT(plain, 100u);
}

// Drawn orders and truncations stay near the true sum: every block loses at
// most a unit of the largest term a term, and rounds once.
TEST(TensorCore, DrawnSumsStayNear) {
  Random random(3, 9);
  unsigned different = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned k = 16;
    std::vector<uint32_t> x(k), y(k);
    long double sum = 0, size = 0;
    float c = float(int(random.below(4001)) - 2000) / 519;
    sum = c;
    size = std::fabs(c);
    for (unsigned i = 0; i < k; ++i) {
      x[i] = toHalf(float(int(random.below(4001)) - 2000) / 519);
      y[i] = toHalf(float(int(random.below(4001)) - 2000) / 519);
      long double p =
          (long double)fromHalf(uint16_t(x[i])) * fromHalf(uint16_t(y[i]));
      sum += p;
      size += std::fabs(p);
    }
    uint32_t plain = dot(ampere, Element::F16, x, y, f32(c));
    for (unsigned draw = 0; draw < 8; ++draw) {
      Accumulation how = drawAccumulation(random, k, false);
      uint32_t got = dot(how, Element::F16, x, y, f32(c));
      long double error = std::fabs((long double)toFloat(got) - sum);
      EXPECT_LE(error, size * (2 * k + 2) * 0x1p-23L);
      different += got != plain;
    }
  }
  EXPECT_GT(different, 100u); // it does draw
}

TEST(TensorCore, ExactSumsHaveOneResultInAnyOrder) {
  Random random(5, 2);
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<uint32_t> x(16), y(16);
    int sum = 0;
    for (unsigned i = 0; i < 16; ++i) {
      int p = int(random.below(41)) - 20, q = int(random.below(41)) - 20;
      x[i] = toHalf(float(p));
      y[i] = toHalf(float(q));
      sum += p * q;
    }
    Accumulation how = drawAccumulation(random, 16, false);
    EXPECT_EQ(toFloat(dot(how, Element::F16, x, y, f32(100))), sum + 100);
    EXPECT_EQ(toFloat(dot(ampere, Element::F16, x, y, f32(100))), sum + 100);
  }
}

TEST(TensorCore, DoubleIsAChainOfFma) {
  const double a[4] = {0x1.0000001p0, 0x1p-60, -3.1, 0x1p40}, // one row
      b[4 * 8] = {0x1.0000001p0, 0, 0, 0, 0, 0, 0, 0,         //
                  0x1p-60,       0, 0, 0, 0, 0, 0, 0,         //
                  0x1.23p7,      0, 0, 0, 0, 0, 0, 0,         //
                  0x1.fp-30,     0, 0, 0, 0, 0, 0, 0};
  double c[8] = {0.1, 1, 2, 3, 4, 5, 6, 7};
  double want = 0.1;
  for (unsigned i = 0; i < 4; ++i)
    want = std::fma(a[i], b[i * 8], want);
  multiply({1, 8, 4}, a, b, c, Rounding::Rn);
  EXPECT_EQ(c[0], want);
  for (unsigned i = 1; i < 8; ++i)
    EXPECT_EQ(c[i], i);
  double down[8] = {1}, up[8] = {1};
  const double e[1] = {0x1p-80}, one[8] = {1};
  multiply({1, 8, 1}, e, one, down, Rounding::Rm);
  multiply({1, 8, 1}, e, one, up, Rounding::Rp);
  EXPECT_EQ(down[0], 1.0);
  EXPECT_EQ(up[0], 1 + 0x1p-52);
}

TEST(TensorCore, IntegersWrapOrSaturate) {
  int32_t a[2] = {127, 127}, b[16] = {127, -128}, c[8] = {INT32_MAX, INT32_MIN};
  b[8] = 127;
  b[9] = -128;
  int32_t d[8];
  std::copy(c, c + 8, d);
  multiply({1, 8, 2}, a, b, c, true);
  EXPECT_EQ(c[0], INT32_MAX);
  EXPECT_EQ(c[1], INT32_MIN);
  multiply({1, 8, 2}, a, b, d, false);
  EXPECT_EQ(d[0], int32_t(uint32_t(INT32_MAX) + 2 * 127 * 127));
  EXPECT_EQ(d[1], int32_t(uint32_t(INT32_MIN) - 2 * 127 * 128));
}

TEST(TensorCore, BitsAreCounted) {
  uint32_t a[4] = {0xf0f0f0f0, ~0u, 0, 1}, b[32] = {};
  for (unsigned i = 0; i < 4; ++i)
    b[i] = ~0u;
  int32_t both[8] = {10}, either[8] = {10};
  multiplyBits({1, 8, 128}, a, b, both, false);
  multiplyBits({1, 8, 128}, a, b, either, true);
  EXPECT_EQ(both[0], 10 + 16 + 32 + 0 + 1);
  EXPECT_EQ(either[0], 10 + 16 + 0 + 32 + 31);
  EXPECT_EQ(both[1], 0);
  EXPECT_EQ(either[1], 49);
}

} // namespace
