// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic, against arithmetic in 128 bits.
#include "test/runtime/sim/CheckOperation.h"
#include <algorithm>

using namespace act::runtime::sim;

namespace {

using Wide = __int128;

template <typename T> const char *name() {
  return std::is_same_v<T, uint16_t>   ? "u16"
         : std::is_same_v<T, int16_t>  ? "s16"
         : std::is_same_v<T, uint32_t> ? "u32"
         : std::is_same_v<T, int32_t>  ? "s32"
         : std::is_same_v<T, uint64_t> ? "u64"
                                       : "s64";
}

template <typename T> class OfType : public testing::Test {
public:
  static constexpr unsigned bits = 8 * sizeof(T);
  static std::string op(std::string root, std::string operands) {
    return root + "." + name<T>() + " " + operands;
  }
  using Product = std::conditional_t<
      sizeof(T) == 8,
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
      Wide>;
};
using Types =
    testing::Types<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
TYPED_TEST_SUITE(OfType, Types);

TYPED_TEST(OfType, Sums) {
  using T = TypeParam;
  checkOperation<T, T, T>(this->op("add", "d, a, b;"),
                          [](T a, T b) { return T(Wide(a) + b); });
  checkOperation<T, T, T>(this->op("sub", "d, a, b;"),
                          [](T a, T b) { return T(Wide(a) - b); });
  checkOperation<T, T, T, T>(this->op("sad", "d, a, b, c;"), [](T a, T b, T c) {
    Wide x = Wide(a) - b;
    return T(c + (x < 0 ? -x : x));
  });
}

TYPED_TEST(OfType, Products) {
  using T = TypeParam;
  using P = typename TestFixture::Product;
  constexpr unsigned bits = TestFixture::bits;
  checkOperation<T, T, T>(this->op("mul.lo", "d, a, b;"),
                          [](T a, T b) { return T(P(a) * P(b)); });
  checkOperation<T, T, T>(this->op("mul.hi", "d, a, b;"),
                          [](T a, T b) { return T(P(a) * P(b) >> bits); });
  checkOperation<T, T, T, T>(
      this->op("mad.lo", "d, a, b, c;"),
      [](T a, T b, T c) { return T(T(P(a) * P(b)) + Wide(c)); });
  checkOperation<T, T, T, T>(
      this->op("mad.hi", "d, a, b, c;"),
      [](T a, T b, T c) { return T(Wide(T(P(a) * P(b) >> bits)) + c); });
}

TYPED_TEST(OfType, Quotients) {
  using T = TypeParam;
  checkOperation<T, T, T>(this->op("div", "d, a, b;"), [](T a, T b) {
    return b == 0 ? T(-1) : T(Wide(a) / Wide(b));
  });
  checkOperation<T, T, T>(this->op("rem", "d, a, b;"), [](T a, T b) {
    return b == 0 ? a : T(Wide(a) % Wide(b));
  });
}

TYPED_TEST(OfType, Extremes) {
  using T = TypeParam;
  checkOperation<T, T, T>(this->op("min", "d, a, b;"),
                          [](T a, T b) { return std::min(a, b); });
  checkOperation<T, T, T>(this->op("max", "d, a, b;"),
                          [](T a, T b) { return std::max(a, b); });
  if constexpr (std::is_signed_v<T>) {
    checkOperation<T, T>(this->op("abs", "d, a;"),
                         [](T a) { return T(a < 0 ? -Wide(a) : Wide(a)); });
    checkOperation<T, T>(this->op("neg", "d, a;"),
                         [](T a) { return T(-Wide(a)); });
  }
}

template <typename T, typename D> void checkWide() {
  std::string t = name<T>();
  checkOperation<D, T, T>("mul.wide." + t + " d, a, b;",
                          [](T a, T b) { return D(Wide(a) * b); });
  checkOperation<D, T, T, D>("mad.wide." + t + " d, a, b, c;",
                             [](T a, T b, D c) { return D(Wide(a) * b + c); });
}
TEST(Integer, WideProducts) {
  checkWide<uint16_t, uint32_t>();
  checkWide<int16_t, int32_t>();
  checkWide<uint32_t, uint64_t>();
  checkWide<int32_t, int64_t>();
}

template <typename T> T low24(T a) { return T(T(uint32_t(a) << 8) >> 8); }
template <typename T> void check24() {
  std::string t = name<T>();
  checkOperation<T, T, T>("mul24.lo." + t + " d, a, b;", [](T a, T b) {
    return T(Wide(low24(a)) * low24(b));
  });
  checkOperation<T, T, T>("mul24.hi." + t + " d, a, b;", [](T a, T b) {
    return T(Wide(low24(a)) * low24(b) >> 16);
  });
  checkOperation<T, T, T, T>(
      "mad24.lo." + t + " d, a, b, c;",
      [](T a, T b, T c) { return T(Wide(low24(a)) * low24(b) + c); });
  checkOperation<T, T, T, T>(
      "mad24.hi." + t + " d, a, b, c;",
      [](T a, T b, T c) { return T((Wide(low24(a)) * low24(b) >> 16) + c); });
}
TEST(Integer, ProductsOf24Bits) {
  check24<uint32_t>();
  check24<int32_t>();
}

int32_t clamped(Wide x) {
  return int32_t(std::clamp<Wide>(x, INT32_MIN, INT32_MAX));
}
TEST(Integer, Saturation) {
  using T = int32_t;
  checkOperation<T, T, T>("add.sat.s32 d, a, b;",
                          [](T a, T b) { return clamped(Wide(a) + b); });
  checkOperation<T, T, T>("sub.sat.s32 d, a, b;",
                          [](T a, T b) { return clamped(Wide(a) - b); });
  checkOperation<T, T, T, T>("mad.hi.sat.s32 d, a, b, c;", [](T a, T b, T c) {
    return clamped((Wide(a) * b >> 32) + c);
  });
}

TEST(Integer, CarriesRunThroughLongNumbers) {
  using U = unsigned __int128;
  // 128-bit sums and differences in four words; the product of two words of 64.
  Snippet s(R"(
    { .reg .b32 x<4>, y<4>, z<4>;
      mov.b128 {x0, x1, x2, x3}, a;
      mov.b128 {y0, y1, y2, y3}, b;
      add.cc.u32 z0, x0, y0;
      addc.cc.u32 z1, x1, y1;
      addc.cc.s32 z2, x2, y2;
      addc.u32 z3, x3, y3;
      mov.b128 sum, {z0, z1, z2, z3};
      sub.cc.u32 z0, x0, y0;
      subc.cc.u32 z1, x1, y1;
      subc.cc.u32 z2, x2, y2;
      subc.u32 z3, x3, y3;
      mov.b128 difference, {z0, z1, z2, z3};
      mul.lo.u32 z0, x0, y0;
      mul.hi.u32 z1, x0, y0;
      mad.lo.cc.u32 z1, x1, y0, z1;
      madc.hi.u32 z2, x1, y0, 0;
      mad.lo.cc.u32 z1, x0, y1, z1;
      madc.hi.cc.u32 z2, x0, y1, z2;
      addc.u32 z3, 0, 0;
      mad.lo.cc.u32 z2, x1, y1, z2;
      madc.hi.u32 z3, x1, y1, z3;
      mov.b128 product, {z0, z1, z2, z3}; }
    { .reg .b64 x, y, p, q, r;
      mov.b128 {x, p}, a;
      mov.b128 {y, q}, b;
      add.cc.u64 r, x, y;
      addc.u64 p, p, q;
      mov.b128 sum64, {r, p}; })");
  Random random(5, 5);
  std::array<Word128, 32> a, b;
  for (size_t l = 0; l < 32; ++l) {
    a[l] = {hardNumber<uint64_t>(random), hardNumber<uint64_t>(random)};
    b[l] = {hardNumber<uint64_t>(random), hardNumber<uint64_t>(random)};
  }
  s.in<Word128>("a", a).in<Word128>("b", b);
  for (const char *out : {"sum", "difference", "product", "sum64"})
    s.out<Word128>(out);
  ASSERT_TRUE(s.run()) << s.error;
  auto wide = [](Word128 w) { return U(w.high) << 64 | w.low; };
  for (size_t l = 0; l < 32; ++l) {
    U x = wide(a[l]), y = wide(b[l]);
    EXPECT_TRUE(wide(s.get<Word128>("sum")[l]) == x + y) << l;
    EXPECT_TRUE(wide(s.get<Word128>("sum64")[l]) == x + y) << l;
    EXPECT_TRUE(wide(s.get<Word128>("difference")[l]) == x - y) << l;
    EXPECT_TRUE(wide(s.get<Word128>("product")[l]) == U(a[l].low) * b[l].low)
        << l;
  }
}

TEST(Integer, CarryBelongsToTheLane) {
  // Only odd lanes add; even ones keep the carry that they had.
  Snippet s(R"(
    { .reg .b32 t, odd; .reg .pred p;
      and.b32 odd, lane__, 1;
      setp.ne.u32 p, odd, 0;
      add.cc.u32 t, 0xffffffff, 1;
      @p add.cc.u32 t, 1, 1;
      addc.u32 d, 0, 0; })");
  s.out<uint32_t>("d");
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(s.get<uint32_t>("d")[l], l % 2 ? 0u : 1u);
}

template <typename H, typename F>
uint32_t onHalves(uint32_t a, uint32_t b, F f) {
  return uint32_t(uint16_t(f(H(a), H(b)))) |
         uint32_t(uint16_t(f(H(a >> 16), H(b >> 16)))) << 16;
}
TEST(Integer, PairsOf16Bits) {
  using U = uint32_t;
  checkOperation<U, U, U>("add.u16x2 d, a, b;", [](U a, U b) {
    return onHalves<uint16_t>(a, b, [](int x, int y) { return x + y; });
  });
  checkOperation<U, U, U>("min.s16x2 d, a, b;", [](U a, U b) {
    return onHalves<int16_t>(a, b, [](int x, int y) { return std::min(x, y); });
  });
  checkOperation<U, U, U>("max.u16x2 d, a, b;", [](U a, U b) {
    return onHalves<uint16_t>(a, b,
                              [](int x, int y) { return std::max(x, y); });
  });
  checkOperation<U, U, U>("min.relu.s16x2 d, a, b;", [](U a, U b) {
    return onHalves<int16_t>(
        a, b, [](int x, int y) { return std::max(0, std::min(x, y)); });
  });
  checkOperation<int32_t, int32_t, int32_t>(
      "max.relu.s32 d, a, b;",
      [](int32_t a, int32_t b) { return std::max({a, b, 0}); });
}

template <typename A, typename B>
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  Wide sum = c;
  for (int k = 0; k < 4; ++k)
    sum += Wide(A(a >> 8 * k)) * B(b >> 8 * k);
  return uint32_t(sum);
}
TEST(Integer, DotProducts) {
  using U = uint32_t;
  checkOperation<U, U, U, U>("dp4a.u32.u32 d, a, b, c;",
                             dot4<uint8_t, uint8_t>);
  checkOperation<U, U, U, U>("dp4a.s32.u32 d, a, b, c;", dot4<int8_t, uint8_t>);
  checkOperation<U, U, U, U>("dp4a.s32.s32 d, a, b, c;", dot4<int8_t, int8_t>);
  checkOperation<U, U, U, U>("dp2a.hi.s32.u32 d, a, b, c;", [](U a, U b, U c) {
    return U(Wide(c) + Wide(int16_t(a)) * uint8_t(b >> 16) +
             Wide(int16_t(a >> 16)) * uint8_t(b >> 24));
  });
  checkOperation<U, U, U, U>("dp2a.lo.u32.s32 d, a, b, c;", [](U a, U b, U c) {
    return U(Wide(c) + Wide(uint16_t(a)) * int8_t(b) +
             Wide(uint16_t(a >> 16)) * int8_t(b >> 8));
  });
}

TEST(Integer, WrongModifiersAreErrors) {
  EXPECT_NE(whyNot("{.reg .b32 x; add.sat.u32 x, x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b32 x; add.ftz.s32 x, x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b32 x; mul.s32 x, x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b32 x; add.s32 x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b32 x; add.s32 x, x, x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b64 x; add.s32 x, x, x;}", "sm_90a", "8.0"), "");
  EXPECT_NE(whyNot("{.reg .b64 x; mul.wide.u64 x, x, x;}", "sm_90a", "8.0"),
            "");
  std::string old = whyNot("{.reg .b32 x; add.u16x2 x, x, x;}", "sm_80", "8.0");
  EXPECT_NE(old.find("sm_90"), std::string::npos) << old;
  EXPECT_EQ(whyNot("{.reg .b32 x; add.u16x2 x, x, x;}", "sm_90", "8.0"), "");
}

} // namespace
