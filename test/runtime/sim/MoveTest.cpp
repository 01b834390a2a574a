// SPDX-License-Identifier: Apache-2.0
//
// mov, packing and unpacking, addresses, clocks.
#include "test/runtime/sim/CheckOperation.h"

using namespace act::runtime::sim;

namespace {

using U = uint32_t;
using L = uint64_t;

TEST(Mov, CopiesAndLoadsConstants) {
  checkOperation<uint16_t, uint16_t>("mov.u16 d, a;",
                                     [](uint16_t a) { return a; });
  checkOperation<U, U>("mov.b32 d, a;", [](U a) { return a; });
  checkOperation<double, double>("mov.f64 d, a;", [](double a) { return a; });
  Snippet s("mov.u32 i, -5; mov.f32 f, 0f3fc00000; mov.f32 g, 0.25;"
            "mov.f64 h, 0d4000000000000000; mov.u64 j, 0x123456789abcdef0;"
            "mov.b16 k, 0xffff;");
  s.out<int32_t>("i").out<float>("f").out<float>("g").out<double>("h");
  s.out<L>("j").out<uint16_t>("k");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.get<int32_t>("i")[31], -5);
  EXPECT_EQ(s.get<float>("f")[0], 1.5f);
  EXPECT_EQ(s.get<float>("g")[3], 0.25f);
  EXPECT_EQ(s.get<double>("h")[3], 2.0);
  EXPECT_EQ(s.get<L>("j")[3], 0x123456789abcdef0u);
  EXPECT_EQ(s.get<uint16_t>("k")[3], 0xffff);
}

TEST(Mov, CopiesVectors) {
  Snippet s("{ .reg .b16 h<2>; mov.b32 {h0, h1}, a; mov.v2.b16 {h0, h1}, "
            "{h1, h0}; mov.b32 swapped, {h0, h1};"
            "  .reg .u32 t; mov.v4.u32 {x, _, t, w}, %tid;"
            "  mov.v2.f32 {f, g}, {0.25, 0f3fc00000};"
            "  mov.v4.b32 {b, c, d, e}, {a, x, 7, w};"
            "  mov.v4.b32 {b, c, d, e}, {e, d, c, b}; }");
  s.in<U>("a", [](int l) { return U(0x12345678 + l); });
  s.out<U>("swapped").out<U>("x").out<U>("w").out<float>("f").out<float>("g");
  s.out<U>("b").out<U>("c").out<U>("d").out<U>("e");
  ASSERT_TRUE(s.run()) << s.error;
  for (size_t l = 0; l < 32; ++l) {
    U a = U(0x12345678 + l);
    EXPECT_EQ(s.get<U>("swapped")[l], a << 16 | a >> 16);
    EXPECT_EQ(s.get<U>("x")[l], l);
    EXPECT_EQ(s.get<U>("w")[l], 0u);
    EXPECT_EQ(s.get<float>("f")[l], 0.25f);
    EXPECT_EQ(s.get<float>("g")[l], 1.5f);
    EXPECT_EQ(s.get<U>("b")[l], 0u);
    EXPECT_EQ(s.get<U>("c")[l], 7u);
    EXPECT_EQ(s.get<U>("d")[l], l);
    EXPECT_EQ(s.get<U>("e")[l], a);
  }
}

TEST(Mov, PacksAndUnpacks) {
  Snippet s(R"(
    { .reg .b16 h<4>; .reg .b8 c<4>; .reg .b32 w<4>; .reg .b64 q<2>;
      mov.b32 {h0, h1}, a;          mov.b32 swapped, {h1, h0};
      mov.b32 {c0, c1, c2, c3}, a;  mov.b32 reversed, {c3, c2, c1, c0};
      mov.b16 upper, {c2, c3};
      mov.b64 {w0, w1}, b;          mov.b64 swapped64, {w1, w0};
      mov.b64 {h0, h1, h2, h3}, b;  mov.b64 reversed64, {h3, h2, h1, h0};
      mov.b64 {_, high}, b;
      mov.b128 {q0, q1}, e;         mov.b128 swapped128, {q1, q0};
      mov.b128 {w0, w1, w2, w3}, e; mov.b128 reversed128, {w3, w2, w1, w0};
      mov.b128 copied, e; })");
  s.in<U>("a", [](int l) { return U(0x12345678 + l * 0x01010101); });
  s.in<L>("b", [](int l) { return 0x1122334455667788 * L(l + 1); });
  std::array<Word128, 32> e;
  for (size_t l = 0; l < 32; ++l)
    e[l] = {0x0123456789abcdef * (l + 1), 0xfedcba9876543210 ^ l};
  s.in<Word128>("e", e);
  s.out<U>("swapped").out<U>("reversed").out<uint16_t>("upper");
  s.out<L>("swapped64").out<L>("reversed64").out<U>("high");
  s.out<Word128>("swapped128")
      .out<Word128>("reversed128")
      .out<Word128>("copied");
  ASSERT_TRUE(s.run()) << s.error;
  for (size_t l = 0; l < 32; ++l) {
    U a = U(0x12345678 + l * 0x01010101);
    L b = 0x1122334455667788 * L(l + 1);
    EXPECT_EQ(s.get<U>("swapped")[l], a << 16 | a >> 16);
    EXPECT_EQ(s.get<U>("reversed")[l], __builtin_bswap32(a));
    EXPECT_EQ(s.get<uint16_t>("upper")[l], a >> 16);
    EXPECT_EQ(s.get<L>("swapped64")[l], b << 32 | b >> 32);
    L r = 0;
    for (int k = 0; k < 4; ++k)
      r |= (b >> 16 * k & 0xffff) << (48 - 16 * k);
    EXPECT_EQ(s.get<L>("reversed64")[l], r);
    EXPECT_EQ(s.get<U>("high")[l], b >> 32);
    EXPECT_EQ(s.get<Word128>("swapped128")[l], (Word128{e[l].high, e[l].low}));
    auto turned = [](L x) { return x << 32 | x >> 32; };
    EXPECT_EQ(s.get<Word128>("reversed128")[l],
              (Word128{turned(e[l].high), turned(e[l].low)}));
    EXPECT_EQ(s.get<Word128>("copied")[l], e[l]);
  }
}

TEST(Mov, ReadsSpecialRegisters) {
  Snippet s("mov.u32 tid, %tid.x; mov.u32 lane, %laneid; mov.u32 n, %ntid.x;"
            "mov.u32 lt, %lanemask_lt; mov.u32 ge, %lanemask_ge;"
            "mov.u32 warp, %warpid; mov.u32 ctas, %nctaid.y;");
  for (const char *name : {"tid", "lane", "n", "lt", "ge", "warp", "ctas"})
    s.out<U>(name);
  ASSERT_TRUE(s.run()) << s.error;
  for (U l = 0; l < 32; ++l) {
    EXPECT_EQ(s.get<U>("tid")[l], l);
    EXPECT_EQ(s.get<U>("lane")[l], l);
    EXPECT_EQ(s.get<U>("n")[l], 32u);
    EXPECT_EQ(s.get<U>("lt")[l], (U(1) << l) - 1);
    EXPECT_EQ(s.get<U>("ge")[l], ~((U(1) << l) - 1));
    EXPECT_EQ(s.get<U>("warp")[l], 0u);
    EXPECT_EQ(s.get<U>("ctas")[l], 1u);
  }
}

TEST(Mov, ClocksGoOn) {
  Snippet s("mov.u64 a, %clock64; mov.u32 c, %clock; mov.u64 t, %globaltimer;"
            "mov.u32 h, %globaltimer_hi; mov.u64 b, %clock64;"
            "mov.u64 u, %globaltimer;");
  s.out<L>("a").out<L>("b").out<L>("t").out<L>("u").out<U>("c").out<U>("h");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_LT(s.get<L>("a")[5], s.get<L>("b")[5]);
  EXPECT_LT(s.get<L>("t")[5], s.get<L>("u")[5]);
  EXPECT_EQ(s.get<U>("h")[5], 0u);
  L first = s.get<L>("a")[5];
  ASSERT_TRUE(s.run());
  EXPECT_EQ(s.get<L>("a")[5], first) << "runs are repeatable";
}

TEST(Addresses, GoToGenericAndBack) {
  Snippet s(R"(
    { .reg .b64 x, g, k; .reg .b32 v; .local .align 8 .b8 mine[16];
      .shared .align 8 .b8 all[64];
      mov.u64 x, all;         // an address in .shared
      add.u64 x, x, 8;
      cvta.shared.u64 g, x;
      isspacep.shared s1, g; isspacep.shared::cluster s2, g;
      isspacep.global s3, g; isspacep.local s4, g;
      cvta.to.shared.u64 k, g;
      setp.eq.u64 back, k, x;
      st.shared.u32 [x], 77;
      ld.u32 throughGeneric, [g];
      cvta.shared.u64 k, all+8;
      setp.eq.u64 direct, k, g;
      cvta.local.u64 g, mine;
      isspacep.local l1, g; isspacep.global l2, g; isspacep.shared l3, g;
      st.u32 [g+4], 5;
      ld.local.u32 throughLocal, [mine+4];
      cvta.global.u64 g, at__; isspacep.global g1, g;
      isspacep.const g2, g; isspacep.param g3, g;
      cvta.const.u64 k, table; isspacep.const c1, k; isspacep.global c2, k;
      ld.u32 fromTable, [k+4]; })");
  s.moduleText = ".const .align 4 .b32 table[2] = {11, 22};";
  for (const char *name : {"s1", "s2", "s3", "s4", "back", "direct", "l1", "l2",
                           "l3", "g1", "g2", "g3", "c1", "c2"})
    s.outPredicate(name);
  s.out<U>("throughGeneric").out<U>("throughLocal").out<U>("fromTable");
  s.threads = 1; // one lane writes the shared word
  s.findingsAllowed = false;
  ASSERT_TRUE(s.run()) << s.error;
  auto is = [&](const char *name) { return s.predicate(name) & 1; };
  for (const char *name : {"s1", "s2", "back", "direct", "l1", "g1", "c1"})
    EXPECT_TRUE(is(name)) << name;
  for (const char *name : {"s3", "s4", "l2", "l3", "g2", "g3", "c2"})
    EXPECT_FALSE(is(name)) << name;
  EXPECT_EQ(s.get<U>("throughGeneric")[0], 77u);
  EXPECT_EQ(s.get<U>("throughLocal")[0], 5u);
  EXPECT_EQ(s.get<U>("fromTable")[0], 22u);
}

TEST(Mov, WrongOnesAreErrors) {
  for (const char *bad :
       {"{.reg .b32 x; mov.b64 x, x;}", "{.reg .b32 x; mov.u32 x, %clock64x;}",
        "{.reg .b16 h; .reg .b32 x; mov.b32 x, {h, h, h};}",
        "{.reg .b16 h; .reg .b32 x; mov.b64 x, {h, h};}",
        "{.reg .b16 h; mov.u16 h, %clock;}", "{.reg .b64 x; cvta.u64 x, x;}",
        "{.reg .b32 x; cvta.shared.u32 x, x;}",
        "{.reg .pred p; .reg .b64 x; isspacep.generic p, x;}",
        "{.reg .b32 x; mov.b32.v2 x, x;}"})
    EXPECT_NE(whyNot(bad, "sm_90a", "8.4"), "") << bad;
  EXPECT_NE(
      whyNot("{.reg .b128 x; mov.b128 x, x;}", "sm_90a", "8.0").find("8.3"),
      std::string::npos);
}

} // namespace
