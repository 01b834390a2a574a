// SPDX-License-Identifier: Apache-2.0
//
// cvt. Rounding as such is checked in NumericsTest; here it is that every pair
// of types is converted, saturated, flushed and extended as 9.7.9.21 says. The
// oracle computes in long double, which holds every number of every type.
#include "runtime/sim/arithmetic/Numerics.h"
#include "test/runtime/sim/CheckOperation.h"
#include <algorithm>
#include <cfenv>

using namespace act::runtime::sim;

namespace {

struct Kind {
  const char *name;
  unsigned bits;
  char kind; // 'u', 's', 'f'
};
const Kind integers[] = {{"u8", 8, 'u'},   {"s8", 8, 's'},   {"u16", 16, 'u'},
                         {"s16", 16, 's'}, {"u32", 32, 'u'}, {"s32", 32, 's'},
                         {"u64", 64, 'u'}, {"s64", 64, 's'}};
const Kind floats[] = {
    {"f16", 16, 'f'}, {"bf16", 16, 'f'}, {"f32", 32, 'f'}, {"f64", 64, 'f'}};

using Big = long double;

Big least(const Kind &k) {
  return k.kind == 'u' ? 0 : -std::ldexp(Big(1), int(k.bits) - 1);
}
Big most(const Kind &k) {
  return std::ldexp(Big(1), int(k.bits) - (k.kind == 's')) - 1;
}
Big integerValue(const Kind &k, uint64_t raw) {
  unsigned unused = 64 - k.bits;
  return k.kind == 'u' ? Big(raw << unused >> unused)
                       : Big(int64_t(raw << unused) >> unused);
}
uint64_t integerBits(Big v) { // of a v that fits
  return v < 0 ? uint64_t(int64_t(v)) : uint64_t(v);
}
uint64_t masked(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

Big floatValue(const Kind &k, uint64_t raw) {
  std::string name = k.name;
  if (name == "f64")
    return as<double>(raw);
  if (name == "f32")
    return as<float>(uint32_t(raw));
  return name == "f16" ? widen<F16>(raw & 0xffff) : widen<BF16>(raw & 0xffff);
}

/// `cvt` of d and a; 8 bits beside bf16 are in a register of 8.
std::string spelled(const std::string &instruction) {
  std::string cvt = "cvt." + instruction;
  for (std::string sign : {"u", "s"}) {
    if (instruction.find(sign + "8.bf16") != std::string::npos)
      return "{ .reg .b8 t; " + cvt + " t, a; cvt." + sign + "16." + sign +
             "8 d, t; }";
    if (instruction.find("bf16." + sign + "8") != std::string::npos)
      return "{ .reg .b8 t; cvt.u8.u16 t, a; " + cvt + " d, t; }";
  }
  return cvt + " d, a;";
}

/// Runs `cvt` on registers of the given widths; hard inputs.
template <typename D, typename S, typename Oracle>
void check(const std::string &instruction, Oracle oracle, unsigned rounds = 4) {
  Setting setting;
  setting.rounds = rounds;
  checkOperation<D, S>(
      spelled(instruction),
      [=](S a) {
        uint64_t raw = 0;
        std::memcpy(&raw, &a, sizeof a);
        uint64_t r = oracle(raw);
        D d;
        std::memcpy(&d, &r, sizeof d);
        return d;
      },
      setting);
}
template <typename S, typename Oracle>
void checkTo(unsigned bits, const std::string &instruction, Oracle oracle) {
  if (bits <= 16)
    check<uint16_t, S>(instruction, oracle);
  else if (bits == 32)
    check<uint32_t, S>(instruction, oracle);
  else
    check<uint64_t, S>(instruction, oracle);
}
template <typename Oracle>
void checkBetween(unsigned to, unsigned from, const std::string &instruction,
                  Oracle oracle) {
  if (from <= 16)
    checkTo<uint16_t>(to, instruction, oracle);
  else if (from == 32)
    checkTo<uint32_t>(to, instruction, oracle);
  else
    checkTo<uint64_t>(to, instruction, oracle);
}

TEST(Cvt, BetweenIntegers) {
  for (const Kind &to : integers)
    for (const Kind &from : integers) {
      std::string types = std::string(to.name) + "." + from.name;
      // The result is extended by its own sign to the register.
      unsigned lane = std::max(to.bits, 16u);
      checkBetween(to.bits, from.bits, types, [=](uint64_t raw) {
        uint64_t v = integerBits(integerValue(from, raw));
        return masked(integerBits(integerValue(to, v)), lane);
      });
      bool canSaturate = least(from) < least(to) || most(from) > most(to);
      if (canSaturate)
        checkBetween(to.bits, from.bits, "sat." + types, [=](uint64_t raw) {
          Big v = integerValue(from, raw);
          return masked(integerBits(std::clamp(v, least(to), most(to))), lane);
        });
    }
}

TEST(Cvt, WiderRegistersAreFilled) {
  Snippet s("cvt.s8.s32 x, a; cvt.u8.u32 y, a; cvt.s64.s8 z, a;"
            "cvt.rzi.s16.f32 w, f; cvt.rn.f16.f32 h, f; cvt.u32.u16 v, b;");
  s.in<uint32_t>("a", [](int l) { return 0x12345678 + l * 9; });
  s.in<uint64_t>("b", [](int l) { return 0x1234567890abcdefu + uint64_t(l); });
  s.in<float>("f", [](int l) { return l * -100.5f; });
  s.out<uint64_t>("x").out<uint32_t>("y").out<uint64_t>("z");
  s.out<uint32_t>("w").out<uint32_t>("h").out<uint32_t>("v");
  ASSERT_TRUE(s.run()) << s.error;
  for (size_t l = 0; l < 32; ++l) {
    uint32_t a = s.get<uint32_t>("a")[l];
    float f = s.get<float>("f")[l];
    EXPECT_EQ(s.get<uint64_t>("x")[l], uint64_t(int64_t(int8_t(a))));
    EXPECT_EQ(s.get<uint32_t>("y")[l], a & 255);
    EXPECT_EQ(s.get<uint64_t>("z")[l], uint64_t(int64_t(int8_t(a))));
    EXPECT_EQ(s.get<uint32_t>("w")[l], uint32_t(int32_t(int16_t(f))));
    EXPECT_EQ(s.get<uint32_t>("h")[l], toHalf(f));
    EXPECT_EQ(s.get<uint32_t>("v")[l],
              uint32_t(s.get<uint64_t>("b")[l] & 0xffff));
  }
}

const struct {
  const char *name;
  int environment;
  Rounding rounding;
} modes[] = {{"n", FE_TONEAREST, Rounding::Rn},
             {"z", FE_TOWARDZERO, Rounding::Rz},
             {"m", FE_DOWNWARD, Rounding::Rm},
             {"p", FE_UPWARD, Rounding::Rp}};

Big rounded(Big v, int environment) {
  std::fesetround(environment);
  volatile Big r = std::nearbyint(v);
  std::fesetround(FE_TONEAREST);
  return r;
}

TEST(Cvt, FloatsToIntegers) {
  for (const Kind &to : integers)
    for (const Kind &from : floats)
      for (auto &mode : modes) {
        std::string types = std::string(to.name) + "." + from.name;
        int environment = mode.environment;
        auto convert = [=](uint64_t raw, bool ftz) {
          Big v = floatValue(from, raw);
          if (ftz && std::fabs(v) < 0x1p-126L)
            v = 0;
          uint64_t r;
          if (std::isnan(v))
            r = from.bits != 64 && to.bits != 64 ? 0
                                                 : uint64_t(1) << (to.bits - 1);
          else
            r = integerBits(
                std::clamp(rounded(v, environment), least(to), most(to)));
          return masked(integerBits(integerValue(to, r)),
                        std::max(to.bits, 16u));
        };
        std::string r = std::string("r") + mode.name + "i.";
        checkBetween(to.bits, from.bits, r + types,
                     [=](uint64_t raw) { return convert(raw, false); });
        if (from.bits == 32)
          checkBetween(to.bits, from.bits, r + "ftz." + types,
                       [=](uint64_t raw) { return convert(raw, true); });
      }
}

uint64_t packedAs(const std::string &name, Big v, Rounding r) {
  // Any integer of 64 bits and any double is significand times power of two.
  if (v == 0)
    return 0;
  int e;
  Big m = std::frexp(std::fabs(v), &e);
  auto significand = uint64_t(std::ldexp(m, 64));
  bool negative = v < 0;
  return name == "f16"    ? pack<F16>(negative, e - 64, significand, r)
         : name == "bf16" ? pack<BF16>(negative, e - 64, significand, r)
         : name == "f32"  ? pack<F32>(negative, e - 64, significand, r)
                          : pack<F64>(negative, e - 64, significand, r);
}

TEST(Cvt, IntegersToFloats) {
  for (const Kind &to : floats)
    for (const Kind &from : integers)
      for (auto &mode : modes) {
        std::string name = to.name;
        checkBetween(
            to.bits, from.bits,
            std::string("r") + mode.name + "." + to.name + "." + from.name,
            [=](uint64_t raw) {
              return packedAs(name, integerValue(from, raw), mode.rounding);
            });
      }
}

TEST(Cvt, BetweenFloats) {
  // Narrowing, against narrowDouble of the exact value.
  auto narrowed = [](const std::string &to, Big v, Rounding r) -> uint64_t {
    double d = double(v);
    return to == "f16"    ? narrowDouble<F16>(d, r)
           : to == "bf16" ? narrowDouble<BF16>(d, r)
                          : narrowDouble<F32>(d, r);
  };
  const struct {
    unsigned to, from;
  } pairs[] = {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {0, 1}, {1, 0}};
  for (auto &p : pairs)
    for (auto &mode : modes) {
      const Kind &to = floats[p.to], &from = floats[p.from];
      std::string name = to.name;
      checkBetween(
          to.bits, from.bits,
          std::string("r") + mode.name + "." + to.name + "." + from.name,
          [=](uint64_t raw) {
            return narrowed(name, floatValue(from, raw), mode.rounding);
          });
    }
  // Widening is exact; NaN becomes the canonical one.
  for (unsigned to : {2u, 3u})
    for (unsigned from = 0; from < to; ++from) {
      const Kind &t = floats[to], &f = floats[from];
      Setting setting;
      auto oracle = [=](uint64_t raw) -> uint64_t {
        Big v = floatValue(f, raw);
        if (to == 2)
          return std::isnan(v) ? 0x7fffffff : as<uint32_t>(float(v));
        return std::isnan(v) ? 0x7fffffffe0000000 : as<uint64_t>(double(v));
      };
      if (!(to == 3 && from == 2)) // payloads of f32 go into f64
        checkBetween(t.bits, f.bits, std::string(t.name) + "." + f.name,
                     oracle);
    }
}

TEST(Cvt, FloatsToIntegralFloats) {
  for (auto &mode : modes) {
    int environment = mode.environment;
    std::string r = std::string("r") + mode.name + "i.";
    check<float, float>(r + "f32.f32", [=](uint64_t raw) -> uint64_t {
      float v = as<float>(uint32_t(raw));
      return std::isnan(v) ? 0x7fffffff
                           : as<uint32_t>(float(rounded(v, environment)));
    });
    check<float, float>(r + "ftz.f32.f32", [=](uint64_t raw) -> uint64_t {
      float v = flush(as<float>(uint32_t(raw)));
      return std::isnan(v) ? 0x7fffffff
                           : as<uint32_t>(float(rounded(v, environment)));
    });
    check<uint16_t, HalfBits>(r + "f16.f16", [=](uint64_t raw) -> uint64_t {
      return toHalf(float(rounded(widen<F16>(uint32_t(raw)), environment)));
    });
  }
}

TEST(Cvt, FlagsOfFloats) {
  check<float, float>("sat.f32.f32", [](uint64_t raw) -> uint64_t {
    float v = as<float>(uint32_t(raw));
    return as<uint32_t>(std::isnan(v) || v <= 0 ? 0.0f : std::min(v, 1.0f));
  });
  check<float, double>("rn.ftz.f32.f64", [](uint64_t raw) -> uint64_t {
    double v = as<double>(raw);
    return std::isnan(v) ? 0x7fffffff : as<uint32_t>(flush(float(v)));
  });
  check<uint16_t, float>("rn.sat.f16.f32", [](uint64_t raw) -> uint64_t {
    float v = as<float>(uint32_t(raw));
    return toHalf(std::isnan(v) || v <= 0 ? 0.0f : std::min(v, 1.0f));
  });
  for (Rounding r : {Rounding::Rn, Rounding::Rz}) {
    std::string mode = r == Rounding::Rn ? "rn" : "rz";
    check<uint16_t, float>(
        mode + ".relu.f16.f32", [=](uint64_t raw) -> uint64_t {
          float v = as<float>(uint32_t(raw));
          return std::isnan(v) ? 0x7fff : std::signbit(v) ? 0 : toHalf(v, r);
        });
    check<uint16_t, float>(
        mode + ".satfinite.bf16.f32", [=](uint64_t raw) -> uint64_t {
          float v = as<float>(uint32_t(raw));
          if (std::isnan(v))
            return 0x7fff;
          uint16_t n = toBFloat(v, r);
          return (n & 0x7fff) == 0x7f80 ? (n & 0x8000) | 0x7f7f : n;
        });
  }
  check<uint32_t, float>("rna.tf32.f32", [](uint64_t raw) -> uint64_t {
    return toTF32(as<float>(uint32_t(raw)));
  });
  check<uint32_t, float>("rn.relu.tf32.f32", [](uint64_t raw) -> uint64_t {
    float v = as<float>(uint32_t(raw));
    return std::isnan(v)     ? 0x7fffffff
           : std::signbit(v) ? 0
                             : toTF32(v, Rounding::Rn);
  });
}

TEST(Cvt, PairsPutTheFirstOperandOnTop) {
  checkOperation<uint32_t, float, float>(
      "cvt.rn.f16x2.f32 d, a, b;",
      [](float a, float b) { return uint32_t(toHalf(a)) << 16 | toHalf(b); });
  checkOperation<uint32_t, float, float>(
      "cvt.rn.bf16x2.f32 d, a, b;", [](float a, float b) {
        return uint32_t(toBFloat(a)) << 16 | toBFloat(b);
      });
  checkOperation<uint32_t, float, float>(
      "cvt.rz.relu.bf16x2.f32 d, a, b;", [](float a, float b) {
        auto one = [](float v) -> uint32_t {
          return std::isnan(v)     ? 0x7fff
                 : std::signbit(v) ? 0
                                   : toBFloat(v, Rounding::Rz);
        };
        return one(a) << 16 | one(b);
      });
}

template <class F> uint32_t fp8(float v, bool relu) {
  // Saturates; nearest of all numbers by looking.
  if (std::isnan(v))
    return F::nan;
  if (relu && std::signbit(v))
    return 0;
  uint32_t best = 0;
  for (uint32_t bits = 0; bits <= F::maxFinite; ++bits) {
    double error = std::fabs(std::fabs(double(v)) - widen<F>(bits));
    double now = std::fabs(std::fabs(double(v)) - widen<F>(best));
    if (error < now || (error == now && !(bits & 1)))
      best = bits;
  }
  if (std::fabs(v) >= widen<F>(F::maxFinite))
    best = F::maxFinite;
  return best | (std::signbit(v) ? 0x80 : 0);
}
template <class F> void checkFp8(const std::string &name) {
  for (bool relu : {false, true}) {
    std::string r = relu ? ".relu" : "";
    checkOperation<uint16_t, float, float>(
        "cvt.rn.satfinite" + r + "." + name + ".f32 d, a, b;",
        [=](float a, float b) {
          return uint16_t(fp8<F>(a, relu) << 8 | fp8<F>(b, relu));
        });
    checkOperation<uint16_t, Halves>(
        "cvt.rn.satfinite" + r + "." + name + ".f16x2 d, a;", [=](Halves a) {
          return uint16_t(fp8<F>(widen<F16>(a.high), relu) << 8 |
                          fp8<F>(widen<F16>(a.low), relu));
        });
    checkOperation<uint32_t, uint16_t>(
        "cvt.rn" + r + ".f16x2." + name + " d, a;", [=](uint16_t a) {
          auto one = [=](uint32_t bits) -> uint32_t {
            float v = widen<F>(bits);
            return std::isnan(v)             ? 0x7fff
                   : relu && std::signbit(v) ? 0
                                             : toHalf(v);
          };
          return one(a >> 8) << 16 | one(a & 255);
        });
  }
}
TEST(Cvt, Fp8) {
  checkFp8<E4M3>("e4m3x2");
  checkFp8<E5M2>("e5m2x2");
}

TEST(Cvt, Pack) {
  auto clamped = [](int32_t v, int32_t low, int32_t high) {
    return uint32_t(std::clamp(v, low, high));
  };
  checkOperation<uint32_t, int32_t, int32_t>(
      "cvt.pack.sat.s16.s32 d, a, b;", [=](int32_t a, int32_t b) {
        return clamped(a, -32768, 32767) << 16 |
               (clamped(b, -32768, 32767) & 0xffff);
      });
  checkOperation<uint32_t, int32_t, int32_t, uint32_t>(
      "cvt.pack.sat.u8.s32.b32 d, a, b, c;",
      [=](int32_t a, int32_t b, uint32_t c) {
        return clamped(a, 0, 255) << 8 | clamped(b, 0, 255) | c << 16;
      });
  checkOperation<uint32_t, int32_t, int32_t, uint32_t>(
      "cvt.pack.sat.s4.s32.b32 d, a, b, c;",
      [=](int32_t a, int32_t b, uint32_t c) {
        return (clamped(a, -8, 7) & 15) << 4 | (clamped(b, -8, 7) & 15) |
               c << 8;
      });
  checkOperation<uint32_t, int32_t, int32_t, uint32_t>(
      "cvt.pack.sat.u2.s32.b32 d, a, b, c;",
      [=](int32_t a, int32_t b, uint32_t c) {
        return clamped(a, 0, 3) << 2 | clamped(b, 0, 3) | c << 4;
      });
}

TEST(Cvt, RulesAreKept) {
  auto why = [](const std::string &body, const char *target,
                const char *version) {
    return whyNot("{.reg .b16 h; .reg .b32 x; .reg .f64 y; .reg .b64 z;" +
                      body + "}",
                  target, version);
  };
  for (const char *bad : {"cvt.f32.s32 x, x;",
                          "cvt.s32.f32 x, x;",
                          "cvt.rn.s32.f32 x, x;",
                          "cvt.rn.f64.f32 y, x;",
                          "cvt.f32.f64 x, y;",
                          "cvt.f16.f32 h, x;",
                          "cvt.rn.u32.s32 x, x;",
                          "cvt.rni.f32.f64 x, y;",
                          "cvt.rn.f32.f32 x, x;",
                          "cvt.rn.relu.f32.f64 x, y;",
                          "cvt.ftz.u32.f64.rzi x, y;",
                          "cvt.rn.satfinite.f16x2.f32 x, x;",
                          "cvt.rn.e4m3x2.f32 h, x, x;",
                          "cvt.rz.satfinite.e4m3x2.f32 h, x, x;",
                          "cvt.rp.bf16x2.f32 x, x, x;",
                          "cvt.rn.sat.bf16.f32 h, x;",
                          "cvt.u64.u32 x, x;",
                          "cvt.u32.u64 x, x;",
                          "cvt.rn.satfinite.tf32.f32 x, x;",
                          "cvt.pack.u8.s32.b32 x, x, x, x;",
                          "cvt.rn.satfinite.e2m1x2.f32 h, x, x;",
                          "cvt.rs.f16x2.f32 x, x, x, x;",
                          "cvt.rn.bf16.f32 x, x;"})
    EXPECT_NE(why(bad, "sm_90a", "8.8"), "") << bad;
  struct Row {
    const char *body, *target, *version, *needs;
  } rows[] = {
      {"cvt.rn.bf16.s32 h, x;", "sm_80", "8.0", "sm_90"},
      {"cvt.rn.bf16.f32 h, x;", "sm_80", "6.5", "7.0"},
      {"cvt.f32.bf16 x, h;", "sm_80", "7.0", "7.1"},
      {"cvt.rn.satfinite.e4m3x2.f32 h, x, x;", "sm_86", "8.1", "sm_89"},
      {"cvt.rn.satfinite.e4m3x2.f32 h, x, x;", "sm_89", "8.0", "8.1"},
      {"cvt.rn.satfinite.e4m3x2.f32 h, x, x;", "sm_90", "7.8", ""},
      {"cvt.rn.satfinite.bf16.f32 h, x;", "sm_80", "8.0", "8.1"},
      {"cvt.rn.tf32.f32 x, x;", "sm_89", "8.0", "sm_90"},
      {"cvt.rna.tf32.f32 x, x;", "sm_80", "7.0", ""},
  };
  for (const Row &row : rows) {
    std::string got = why(row.body, row.target, row.version);
    if (*row.needs)
      EXPECT_NE(got.find(row.needs), std::string::npos) << row.body << got;
    else
      EXPECT_EQ(got, "") << row.body;
  }
}

} // namespace
