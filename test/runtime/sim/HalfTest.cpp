// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16, against sums and products of doubles, which hold them exactly,
// rounded once by looking for the nearest of all numbers of the format.
#include "test/runtime/sim/CheckOperation.h"
#include <algorithm>

using namespace act::runtime::sim;

namespace {

struct Format {
  const char *name;
  unsigned exponentBits, mantissaBits;
  uint16_t infinity() const {
    return uint16_t(((1u << exponentBits) - 1) << mantissaBits);
  }
  double value(uint16_t bits) const {
    unsigned e = bits >> mantissaBits & ((1u << exponentBits) - 1);
    unsigned m = bits & ((1u << mantissaBits) - 1);
    int bias = (1 << (exponentBits - 1)) - 1;
    double sign = bits & 0x8000 ? -1 : 1;
    if (e == (1u << exponentBits) - 1)
      return m ? NAN : sign * INFINITY;
    int scale = int(e ? e : 1) - bias - int(mantissaBits);
    return sign * std::ldexp(m + (e ? 1u << mantissaBits : 0), scale);
  }
  /// To nearest even; `rest` is what is missing from x, smaller than any half.
  uint16_t round(double x, double rest = 0) const {
    if (std::isnan(x))
      return 0x7fff;
    uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    double a = std::fabs(x), missing = std::signbit(x) ? -rest : rest;
    if (std::isinf(a))
      return sign | infinity();
    uint16_t low = 0, high = infinity(); // value(low) <= a < value(high)
    while (high - low > 1) {
      auto middle = uint16_t((low + high) / 2);
      double v = value(middle);
      bool below = v < a || (v == a && missing >= 0);
      (below ? low : high) = middle;
    }
    double top =
        high == infinity() ? 2 * value(low) - value(low - 1) : value(high);
    double down = a - value(low), up = top - a;
    bool away = down > up ||
                (down == up && (missing > 0 || (missing == 0 && (low & 1))));
    return sign | (away ? high : low);
  }
  uint16_t flush(uint16_t bits) const {
    return bits & infinity() ? bits : bits & 0x8000;
  }
};
const Format half = {"f16", 5, 10}, bfloat = {"bf16", 8, 7};

struct Operation {
  const char *root;
  double (*apply)(double, double);
};
const Operation operations[] = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }}};

/// What double loses in a sum, exactly (Dekker, Knuth).
double lost(double a, double b) {
  volatile double s = a + b, part = s - a;
  return (a - (s - part)) + (b - part);
}

TEST(Half, SumsAndProducts) {
  for (const Operation &op : operations)
    for (const Format *f : {&half, &bfloat}) {
      auto one = [=](uint16_t a, uint16_t b) {
        double x = f->value(a), y = f->value(b);
        double rest =
            op.root[0] == 'm' ? 0 : lost(x, op.root[0] == 's' ? -y : y);
        return f->round(op.apply(x, y), std::isfinite(rest) ? rest : 0);
      };
      std::string root = std::string(op.root) + "." + f->name;
      checkOperation<uint16_t, HalfBits, BFloatBits>(
          root + " d, a, b;",
          [=](HalfBits a, BFloatBits b) { return one(a.bits, b.bits); },
          {"sm_90a", "8.0", 40});
      checkOperation<uint32_t, Halves, Halves>(
          root + "x2 d, a, b;", [=](Halves a, Halves b) {
            return uint32_t(one(a.low, b.low)) | uint32_t(one(a.high, b.high))
                                                     << 16;
          });
    }
}

TEST(Half, FlagsOfSums) {
  auto add = [](bool ftz, bool sat) {
    return [=](HalfBits a, HalfBits b) {
      uint16_t x = ftz ? half.flush(a.bits) : a.bits;
      uint16_t y = ftz ? half.flush(b.bits) : b.bits;
      double sum = half.value(x) + half.value(y);
      if (sat)
        sum = std::isnan(sum) || sum <= 0 ? 0 : std::min(sum, 1.0);
      uint16_t r = half.round(sum);
      return ftz ? half.flush(r) : r;
    };
  };
  checkOperation<uint16_t, HalfBits, HalfBits>("add.ftz.f16 d, a, b;",
                                               add(true, false));
  checkOperation<uint16_t, HalfBits, HalfBits>("add.rn.sat.f16 d, a, b;",
                                               add(false, true));
  checkOperation<uint16_t, HalfBits, HalfBits>("add.ftz.sat.f16 d, a, b;",
                                               add(true, true));
}

TEST(Half, FusedProducts) {
  for (const Format *f : {&half, &bfloat})
    for (bool relu : {false, true}) {
      auto one = [=](uint16_t a, uint16_t b, uint16_t c) -> uint16_t {
        double product = f->value(a) * f->value(b), z = f->value(c);
        double rest = lost(product, z);
        uint16_t r = f->round(product + z, std::isfinite(rest) ? rest : 0);
        bool nan = (r & 0x7fff) > f->infinity();
        return relu && !nan && (r & 0x8000) ? 0 : r;
      };
      std::string root =
          std::string("fma.rn") + (relu ? ".relu." : ".") + f->name;
      checkOperation<uint16_t, HalfBits, BFloatBits, HalfBits>(
          root + " d, a, b, c;",
          [=](HalfBits a, BFloatBits b, HalfBits c) {
            return one(a.bits, b.bits, c.bits);
          },
          {"sm_80", "7.0", 60});
      checkOperation<uint32_t, Halves, Halves, Halves>(
          root + "x2 d, a, b, c;", [=](Halves a, Halves b, Halves c) {
            return uint32_t(one(a.low, b.low, c.low)) |
                   uint32_t(one(a.high, b.high, c.high)) << 16;
          });
    }
}

TEST(Half, FusedProductsRoundOnce) {
  // 1.5 * 1.5 = 2.25 is no tie; next to a midpoint of bf16 only c decides:
  // 0x1.01p0 lies between two numbers, and c is far below double's last place.
  Snippet s("fma.rn.bf16 d, a, b, c;");
  s.in<uint16_t>("a", [](int) { return 0x3f8f; }); // 1 + 15/128
  s.in<uint16_t>("b", [](int) { return 0x3f91; }); // 1 + 17/128
  const uint16_t tiny[] = {0x0080, 0x8080, 0x0000};
  s.in<uint16_t>("c", [&](int l) { return tiny[l % 3]; });
  s.out<uint16_t>("d");
  ASSERT_TRUE(s.run()) << s.error;
  for (int l = 0; l < 3; ++l) {
    double product = bfloat.value(0x3f8f) * bfloat.value(0x3f91);
    EXPECT_EQ(s.get<uint16_t>("d")[size_t(l)],
              bfloat.round(product, l == 0   ? 1
                                    : l == 1 ? -1
                                             : 0));
  }
  // 3 * 43 = 129 = 128 + 1: of eight bits a number, so take 3 * 171 = 513,
  // which lies half-way between 512 and 514 with nine bits ... and c breaks it.
  Snippet tie("fma.rn.bf16 d, a, b, c;");
  tie.in<uint16_t>("a", [](int) { return 0x4040; }); // 3
  tie.in<uint16_t>("b", [](int) { return 0x4205; }); // 33.25
  tie.in<uint16_t>("c", [&](int l) { return tiny[l % 3]; });
  tie.out<uint16_t>("d");
  ASSERT_TRUE(tie.run()) << tie.error;
  // 99.75 = 0x1.8fp6: half-way between 99.5 (even) and 100.
  ASSERT_EQ(bfloat.value(0x4040) * bfloat.value(0x4205), 99.75);
  EXPECT_EQ(bfloat.value(tie.get<uint16_t>("d")[0]), 100.0);
  EXPECT_EQ(bfloat.value(tie.get<uint16_t>("d")[1]), 99.5);
}

TEST(Half, OutOfBoundsNaNIsZero) {
  Snippet s("fma.rn.oob.f16 d, a, b, c; fma.rn.oob.relu.bf16 e, a, b, c;");
  s.in<uint16_t>("a", [](int l) { return l == 0 ? 0xffff : 0x3c00; });
  s.in<uint16_t>("b", [](int l) { return l == 1 ? 0xffff : 0x3c00; });
  s.in<uint16_t>("c", [](int l) { return l == 3 ? 0x7e00 : 0x3c00; });
  s.out<uint16_t>("d").out<uint16_t>("e");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.get<uint16_t>("d")[0], 0);
  EXPECT_EQ(s.get<uint16_t>("d")[1], 0);
  EXPECT_EQ(s.get<uint16_t>("d")[2], 0x4000);
  EXPECT_EQ(s.get<uint16_t>("d")[3], 0x7fff);
  EXPECT_EQ(s.get<uint16_t>("e")[1], 0);
}

TEST(Half, SignsAndExtremes) {
  checkOperation<uint16_t, uint16_t>(
      "neg.f16 d, a;", [](uint16_t a) { return uint16_t(a ^ 0x8000); });
  checkOperation<uint16_t, uint16_t>("abs.ftz.f16 d, a;", [](uint16_t a) {
    return uint16_t(half.flush(a) & 0x7fff);
  });
  checkOperation<uint32_t, uint32_t>("neg.bf16x2 d, a;",
                                     [](uint32_t a) { return a ^ 0x80008000; });
  checkOperation<uint32_t, uint32_t>("abs.bf16x2 d, a;",
                                     [](uint32_t a) { return a & 0x7fff7fff; });
  for (const Format *f : {&half, &bfloat})
    for (bool max : {false, true})
      for (bool nan : {false, true})
        for (bool xorSign : {false, true}) {
          auto one = [=](uint16_t a, uint16_t b) -> uint16_t {
            uint16_t sign = (a ^ b) & 0x8000;
            if (xorSign)
              a &= 0x7fff, b &= 0x7fff;
            double x = f->value(a), y = f->value(b);
            if (nan ? std::isnan(x) || std::isnan(y)
                    : std::isnan(x) && std::isnan(y))
              return 0x7fff;
            uint16_t m;
            if (std::isnan(x) || std::isnan(y))
              m = std::isnan(x) ? b : a;
            else if (x == y)
              m = max ? a & b : a | b;
            else
              m = (x < y) != max ? a : b;
            return xorSign ? uint16_t(m | sign) : m;
          };
          std::string root = std::string(max ? "max" : "min") +
                             (nan ? ".NaN" : "") +
                             (xorSign ? ".xorsign.abs." : ".") + f->name;
          checkOperation<uint16_t, HalfBits, BFloatBits>(
              root + " d, a, b;",
              [=](HalfBits a, BFloatBits b) { return one(a.bits, b.bits); });
          checkOperation<uint32_t, Halves, Halves>(
              root + "x2 d, a, b;", [=](Halves a, Halves b) {
                return uint32_t(one(a.low, b.low)) |
                       uint32_t(one(a.high, b.high)) << 16;
              });
        }
}

struct Approximate {
  const char *instruction;
  const Format *format;
  double (*exact)(double);
  double relative, absolute;
};
const Approximate approximations[] = {
    {"ex2.approx.f16", &half, [](double x) { return std::exp2(x); },
     std::exp2(-9.9), 0},
    {"ex2.approx.ftz.bf16", &bfloat, [](double x) { return std::exp2(x); },
     std::exp2(-7), 0},
    {"tanh.approx.f16", &half, [](double x) { return std::tanh(x); }, 0,
     std::exp2(-10.987)},
    {"tanh.approx.bf16", &bfloat, [](double x) { return std::tanh(x); }, 0,
     std::exp2(-8)}};

TEST(Half, Approximations) {
  for (const Approximate &a : approximations)
    for (uint64_t seed : {0, 1, 2, 3}) {
      // Every number of the format, eight 32s at a time as pairs as well.
      unsigned different = 0;
      for (unsigned base = 0; base < 0x10000; base += 509) {
        Snippet s(std::string(a.instruction) +
                  " d, a; {.reg .b32 w; mov.b32 "
                  "w, {a, a}; " +
                  a.instruction + "x2 e, w;}");
        s.options.seed = seed;
        s.in<uint16_t>("a", [&](int l) { return base + l * 15; });
        s.out<uint16_t>("d").out<uint32_t>("e");
        ASSERT_TRUE(s.run()) << s.error;
        for (size_t l = 0; l < 32; ++l) {
          uint16_t bits = s.get<uint16_t>("a")[l];
          if (a.format == &bfloat && a.relative)
            bits = bfloat.flush(bits);
          double x = a.format->value(bits), exact = a.exact(x);
          uint16_t nearest = a.format->round(exact);
          if (a.format == &bfloat && a.relative)
            nearest = bfloat.flush(nearest);
          uint32_t pair = s.get<uint32_t>("e")[l];
          for (uint16_t got : {s.get<uint16_t>("d")[l], uint16_t(pair),
                               uint16_t(pair >> 16)}) {
            different += got != nearest;
            if (got == nearest)
              continue;
            ASSERT_NE(seed, 0u) << a.instruction << " of " << x;
            double bound = a.absolute + a.relative * std::fabs(exact);
            ASSERT_LE(std::fabs(a.format->value(got) - exact), bound)
                << a.instruction << " of " << x;
          }
        }
      }
      if (seed)
        EXPECT_GT(different, 100u) << a.instruction;
    }
}

TEST(Half, WrongOnesAreErrors) {
  auto why = [](const char *body, const char *target, const char *version) {
    return whyNot(std::string("{.reg .b16 h; .reg .b32 x;") + body + "}",
                  target, version);
  };
  for (const char *bad :
       {"add.rz.f16 h, h, h;", "fma.f16 h, h, h, h;", "add.ftz.bf16 h, h, h;",
        "ex2.approx.ftz.f16 h, h;", "ex2.approx.bf16 h, h;", "add.f16 x, x, x;",
        "add.f16x2 h, h, h;", "fma.rn.sat.relu.f16 h, h, h, h;",
        "mul.relu.f16 h, h, h;"})
    EXPECT_NE(why(bad, "sm_90a", "8.8"), "") << bad;
  EXPECT_NE(why("add.bf16 h, h, h;", "sm_80", "8.0").find("sm_90"),
            std::string::npos);
  EXPECT_NE(why("fma.rn.bf16 h, h, h, h;", "sm_80", "6.5").find("7.0"),
            std::string::npos);
  EXPECT_EQ(why("fma.rn.bf16 h, h, h, h;", "sm_80", "7.0"), "");
}

} // namespace
