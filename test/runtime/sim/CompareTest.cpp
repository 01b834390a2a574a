// SPDX-License-Identifier: Apache-2.0
//
// setp, set, selp, slct. Comparisons are judged by an order of three signs:
// less, equal, greater, or none of them for NaN.
#include "runtime/sim/arithmetic/Numerics.h"
#include "test/runtime/sim/CheckOperation.h"

using namespace act::runtime::sim;

namespace {

using U = uint32_t;

struct Relation {
  const char *name;
  bool less, equal, greater, unordered;
};
const Relation relations[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false}};
const Relation unsignedRelations[] = {{"lo", true, false, false, false},
                                      {"ls", true, true, false, false},
                                      {"hi", false, false, true, false},
                                      {"hs", false, true, true, false}};
const Relation floatRelations[] = {
    {"equ", false, true, false, true}, {"neu", true, false, true, true},
    {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true}};

template <typename T> bool holds(const Relation &r, T a, T b) {
  if (a != a || b != b)
    return r.unordered;
  return a < b ? r.less : a > b ? r.greater : r.equal;
}

template <typename T, typename Value>
void checkSetp(const std::string &type, const Relation &r, Value value,
               const std::string &flags = "") {
  Setting few;
  few.rounds = 3;
  checkOperation<U, T, T>(
      std::string("{.reg .pred p; setp.") + r.name + flags + "." + type +
          " p, a, b; selp.u32 d, 1, 0, p;}",
      [=](T a, T b) { return U(holds(r, value(a), value(b))); }, few);
}
template <typename T> T same(T a) { return a; }

template <typename T> void checkIntegers(const std::string &type) {
  for (const Relation &r : relations)
    checkSetp<T>(type, r, same<T>);
  if (std::is_unsigned_v<T>)
    for (const Relation &r : unsignedRelations)
      checkSetp<T>(type, r, same<T>);
}
TEST(Setp, Integers) {
  checkIntegers<uint16_t>("u16");
  checkIntegers<int16_t>("s16");
  checkIntegers<uint32_t>("u32");
  checkIntegers<int32_t>("s32");
  checkIntegers<uint64_t>("u64");
  checkIntegers<int64_t>("s64");
  checkSetp<U>("b32", relations[0], same<U>);
  checkSetp<U>("b32", relations[1], same<U>);
}

template <typename T, typename Value>
void checkFloats(const std::string &type, Value value,
                 const std::string &flags = "") {
  for (const Relation &r : relations)
    checkSetp<T>(type, r, value, flags);
  for (const Relation &r : floatRelations)
    checkSetp<T>(type, r, value, flags);
}
TEST(Setp, Floats) {
  checkFloats<float>("f32", same<float>);
  checkFloats<double>("f64", same<double>);
  checkFloats<float>(
      "f32",
      [](float a) {
        return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a;
      },
      ".ftz");
  checkFloats<HalfBits>("f16", [](HalfBits a) { return widen<F16>(a.bits); });
  checkFloats<BFloatBits>("bf16",
                          [](BFloatBits a) { return widen<BF16>(a.bits); });
}

TEST(Setp, CombinesAndComplements) {
  const uint32_t third = 0x5a5a0ff0;
  for (const char *boolean : {"and", "or", "xor"})
    for (bool negated : {false, true}) {
      Snippet s(std::string("setp.lt.") + boolean + ".s32 p|q, a, b, " +
                (negated ? "!" : "") + "r; setp.lt.s32 x|y, a, b;" +
                "setp.ge.s32 _|z, a, b;");
      s.in<int32_t>("a", [](int l) { return l % 7; });
      s.in<int32_t>("b", [](int l) { return l % 3; });
      s.inPredicate("r", third);
      for (const char *name : {"p", "q", "x", "y", "z"})
        s.outPredicate(name);
      ASSERT_TRUE(s.run()) << s.error;
      uint32_t less = 0, c = negated ? ~third : third;
      for (unsigned l = 0; l < 32; ++l)
        less |= uint32_t(l % 7 < l % 3) << l;
      auto with = [&](uint32_t t) {
        return *boolean == 'a' ? t & c : *boolean == 'o' ? t | c : t ^ c;
      };
      EXPECT_EQ(s.predicate("p"), with(less));
      EXPECT_EQ(s.predicate("q"), with(~less));
      EXPECT_EQ(s.predicate("x"), less);
      EXPECT_EQ(s.predicate("y"), ~less);
      EXPECT_EQ(s.predicate("z"), less);
    }
}

TEST(Setp, PairsGiveTwoPredicates) {
  Snippet s("setp.gt.f16x2 p|q, a, b; setp.gt.and.bf16x2 x|y, a, b, p;");
  s.in<U>("a", [](int l) { return U(l) * 0x01234567; });
  s.in<U>("b", [](int l) { return U(l) * 0x0fedcba9 + 17; });
  for (const char *name : {"p", "q", "x", "y"})
    s.outPredicate(name);
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned l = 0; l < 32; ++l) {
    U a = l * 0x01234567, b = l * 0x0fedcba9 + 17;
    bool p = widen<F16>(a & 0xffff) > widen<F16>(b & 0xffff);
    bool q = widen<F16>(a >> 16) > widen<F16>(b >> 16);
    EXPECT_EQ(s.predicate("p") >> l & 1, U(p)) << l;
    EXPECT_EQ(s.predicate("q") >> l & 1, U(q)) << l;
    EXPECT_EQ(s.predicate("x") >> l & 1,
              U(p && widen<BF16>(a & 0xffff) > widen<BF16>(b & 0xffff)));
    EXPECT_EQ(s.predicate("y") >> l & 1,
              U(p && widen<BF16>(a >> 16) > widen<BF16>(b >> 16)));
  }
}

TEST(Setp, WritesOnlyLanesThatTakePart) {
  Snippet s("mov.pred p, 1; @g setp.lt.u32 p, a, 10;");
  s.in<U>("a", [](int l) { return U(l); }).inPredicate("g", 0xfffff0f0);
  s.outPredicate("p");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.predicate("p"), 0x3f0u & 0xf0f0u | ~0xfffff0f0u);
}

TEST(Set, WritesWords) {
  checkOperation<U, float, float>(
      "set.lt.u32.f32 d, a, b;",
      [](float a, float b) { return a < b ? 0xffffffffu : 0u; });
  checkOperation<float, int32_t, int32_t>(
      "set.ge.f32.s32 d, a, b;",
      [](int32_t a, int32_t b) { return a >= b ? 1.0f : 0.0f; });
  checkOperation<uint16_t, HalfBits, HalfBits>(
      "set.ltu.u16.f16 d, a, b;", [](HalfBits a, HalfBits b) {
        return uint16_t(!(widen<F16>(a.bits) >= widen<F16>(b.bits)) ? 0xffff
                                                                    : 0);
      });
  checkOperation<uint16_t, HalfBits, HalfBits>(
      "set.gt.f16.f16 d, a, b;", [](HalfBits a, HalfBits b) {
        return uint16_t(widen<F16>(a.bits) > widen<F16>(b.bits) ? 0x3c00 : 0);
      });
  checkOperation<U, U, U>("set.gt.f16x2.f16x2 d, a, b;", [](U a, U b) {
    auto one = [](U x, U y) {
      return widen<F16>(x & 0xffff) > widen<F16>(y & 0xffff) ? 0x3c00u : 0u;
    };
    return one(a, b) | one(a >> 16, b >> 16) << 16;
  });
  checkOperation<U, U, U>("set.neu.u32.bf16x2 d, a, b;", [](U a, U b) {
    auto one = [](U x, U y) {
      return widen<BF16>(x & 0xffff) != widen<BF16>(y & 0xffff) ? 0xffffu : 0u;
    };
    return one(a, b) | one(a >> 16, b >> 16) << 16;
  });
}

TEST(Select, ByPredicateAndBySign) {
  Snippet s("selp.b16 h, 1, 2, p; selp.f64 x, a, b, !p; "
            "slct.u32.s32 y, 1, 2, i; slct.f64.f32 z, a, b, f;"
            "slct.ftz.u32.f32 w, 1, 2, f;");
  s.in<double>("a", [](int l) { return l + 0.5; });
  s.in<double>("b", [](int l) { return -l; });
  s.in<int32_t>("i", [](int l) { return l - 5; });
  const float signs[] = {1, -1, 0, -0.0f, NAN, -1e-40f};
  s.in<float>("f", [&](int l) { return signs[l % 6]; });
  s.inPredicate("p", 0x12345678);
  s.out<uint16_t>("h").out<double>("x").out<U>("y").out<double>("z").out<U>(
      "w");
  ASSERT_TRUE(s.run()) << s.error;
  for (int l = 0; l < 32; ++l) {
    size_t i = size_t(l);
    bool p = 0x12345678 >> l & 1;
    float f = signs[l % 6];
    EXPECT_EQ(s.get<uint16_t>("h")[i], p ? 1 : 2);
    EXPECT_EQ(s.get<double>("x")[i], p ? -l : l + 0.5);
    EXPECT_EQ(s.get<U>("y")[i], l >= 5 ? 1u : 2u);
    EXPECT_EQ(s.get<double>("z")[i], f >= 0 ? l + 0.5 : -l);
    EXPECT_EQ(s.get<U>("w")[i], f >= 0 || l % 6 == 5 ? 1u : 2u);
  }
}

TEST(Select, OnlyTheChosenOperandMustBeDefined) {
  // Lanes of `half` are written where p holds; st tells what is undefined.
  std::string prefix = "{.reg .b32 half; @p mov.u32 half, 7; ";
  Snippet good(prefix + "selp.b32 d, half, 3, p;}");
  good.inPredicate("p", 0xff).out<U>("d");
  EXPECT_TRUE(good.run()) << good.error;
  EXPECT_EQ(good.get<U>("d")[0], 7u);
  EXPECT_EQ(good.get<U>("d")[9], 3u);
  Snippet bad(prefix + "selp.b32 d, 3, half, p;}");
  bad.inPredicate("p", 0xff).out<U>("d");
  EXPECT_FALSE(bad.run());
  ASSERT_FALSE(bad.findings.empty()) << bad.error;
  EXPECT_EQ(bad.findings[0].kind, FindingKind::Uninitialised);
}

TEST(Compare, WrongOnesAreErrors) {
  for (const char *bad :
       {"setp.lo.s32 p, x, x;", "setp.ltu.s32 p, x, x;", "setp.lt.b32 p, x, x;",
        "setp.f32 p, x, x;", "setp.lt.ftz.s32 p, x, x;",
        "setp.lt.and.s32 p, x, x;", "setp.lt.s32 p, x, x, p;",
        "set.lt.u64.s32 x, x, x;", "selp.b8 x, x, x, p;",
        "setp.lt.s32 x, x, x;"})
    EXPECT_NE(whyNot(std::string("{.reg .pred p; .reg .b32 x;") + bad + "}",
                     "sm_90a", "8.0"),
              "")
        << bad;
  EXPECT_NE(whyNot("{.reg .pred p; .reg .b16 x; setp.lt.bf16 p, x, x;}",
                   "sm_80", "8.0")
                .find("sm_90"),
            std::string::npos);
}

} // namespace
