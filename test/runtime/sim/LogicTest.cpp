// SPDX-License-Identifier: Apache-2.0
//
// Logic, shifts, bits and bit fields, against loops over single bits.
#include "test/runtime/sim/CheckOperation.h"
#include <algorithm>

using namespace act::runtime::sim;

namespace {

using U = uint32_t;
using L = uint64_t;

template <typename T> bool bit(T a, unsigned i) { return a >> i & 1; }
template <typename T> T withBit(T a, unsigned i, bool b) {
  T one = T(T(1) << i);
  return T(b ? a | one : a & ~one);
}

template <typename T> void checkLogic() {
  std::string t = "b" + std::to_string(8 * sizeof(T));
  checkOperation<T, T, T>("and." + t + " d, a, b;",
                          [](T a, T b) { return T(a & b); });
  checkOperation<T, T, T>("or." + t + " d, a, b;",
                          [](T a, T b) { return T(a | b); });
  checkOperation<T, T, T>("xor." + t + " d, a, b;",
                          [](T a, T b) { return T(a ^ b); });
  checkOperation<T, T>("not." + t + " d, a;", [](T a) { return T(~a); });
  checkOperation<T, T>("cnot." + t + " d, a;", [](T a) { return T(!a); });
}
TEST(Logic, Bitwise) {
  checkLogic<uint16_t>();
  checkLogic<U>();
  checkLogic<L>();
}

template <typename T, bool Left> T shifted(T a, U n) { // one place at a time
  for (U i = 0; i < std::min<U>(n, 8 * sizeof(T)); ++i)
    a = Left ? T(T(a) * T(2)) : T(a >> 1);
  return a;
}
template <typename T> void checkShifts(const char *type) {
  if (std::is_unsigned_v<T>)
    checkOperation<T, T, U>("shl.b" + std::to_string(8 * sizeof(T)) +
                                " d, a, b;",
                            shifted<std::make_unsigned_t<T>, true>);
  checkOperation<T, T, U>(std::string("shr.") + type + " d, a, b;",
                          shifted<T, false>);
}
TEST(Logic, Shifts) {
  checkShifts<uint16_t>("u16");
  checkShifts<int16_t>("s16");
  checkShifts<uint32_t>("b32");
  checkShifts<int32_t>("s32");
  checkShifts<uint64_t>("u64");
  checkShifts<int64_t>("s64");
}

TEST(Logic, FunnelShifts) {
  auto funnel = [](bool left, bool clamp) {
    return [=](U low, U high, U n) {
      n = clamp ? std::min(n, 32u) : n % 32;
      L both = L(high) << 32 | low;
      for (U i = 0; i < n; ++i)
        both = left ? both << 1 : both >> 1;
      return U(left ? both >> 32 : both);
    };
  };
  checkOperation<U, U, U, U>("shf.l.clamp.b32 d, a, b, c;", funnel(true, true));
  checkOperation<U, U, U, U>("shf.r.clamp.b32 d, a, b, c;",
                             funnel(false, true));
  checkOperation<U, U, U, U>("shf.l.wrap.b32 d, a, b, c;", funnel(true, false));
  checkOperation<U, U, U, U>("shf.r.wrap.b32 d, a, b, c;",
                             funnel(false, false));
}

TEST(Logic, Lop3DoesEveryTable) {
  for (U table = 0; table < 256; ++table) {
    Setting once;
    once.rounds = 1;
    checkOperation<U, U, U, U>(
        "lop3.b32 d, a, b, c, " + std::to_string(table) + ";",
        [table](U a, U b, U c) {
          U r = 0;
          for (unsigned i = 0; i < 32; ++i)
            r = withBit(r, i,
                        bit(table, 4 * bit(a, i) + 2 * bit(b, i) + bit(c, i)));
          return r;
        },
        once);
  }
}
TEST(Logic, Lop3WithPredicate) {
  Snippet s("lop3.or.b32 d|p, a, b, 0, 0xc0, !q;\n" // a & b
            "lop3.and.b32 _|r, a, b, 0, 0xc0, q;");
  s.in<U>("a", [](int l) { return l; }).in<U>("b", [](int l) { return l % 4; });
  s.inPredicate("q", 0xffff00ff);
  s.out<U>("d").outPredicate("p").outPredicate("r");
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned l = 0; l < 32; ++l) {
    bool q = bit(0xffff00ffu, l);
    EXPECT_EQ(s.get<U>("d")[l], l & l % 4);
    EXPECT_EQ(bit(s.predicate("p"), l), (l & l % 4) != 0 || !q) << l;
    EXPECT_EQ(bit(s.predicate("r"), l), (l & l % 4) != 0 && q) << l;
  }
}

TEST(Logic, Predicates) {
  Snippet s("and.pred x, p, q; or.pred y, p, q; xor.pred z, p, q;"
            "not.pred n, p; and.pred m, p, !q; mov.pred c, q;"
            "mov.pred t, 1; mov.pred f, 0;");
  s.inPredicate("p", 0x0f0f0f0f).inPredicate("q", 0x00ff00ff);
  for (const char *name : {"x", "y", "z", "n", "m", "c", "t", "f"})
    s.outPredicate(name);
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.predicate("x"), 0x000f000fu);
  EXPECT_EQ(s.predicate("y"), 0x0fff0fffu);
  EXPECT_EQ(s.predicate("z"), 0x0ff00ff0u);
  EXPECT_EQ(s.predicate("n"), 0xf0f0f0f0u);
  EXPECT_EQ(s.predicate("m"), 0x0f000f00u);
  EXPECT_EQ(s.predicate("c"), 0x00ff00ffu);
  EXPECT_EQ(s.predicate("t"), 0xffffffffu);
  EXPECT_EQ(s.predicate("f"), 0u);
}

// ---- bits

template <typename T> void checkCounts() {
  constexpr unsigned width = 8 * sizeof(T);
  std::string t = "b" + std::to_string(width);
  checkOperation<U, T>("popc." + t + " d, a;", [](T a) {
    U n = 0;
    for (unsigned i = 0; i < width; ++i)
      n += bit(a, i);
    return n;
  });
  checkOperation<U, T>("clz." + t + " d, a;", [](T a) {
    U n = 0;
    while (n < width && !bit(a, width - 1 - n))
      ++n;
    return n;
  });
  checkOperation<T, T>("brev." + t + " d, a;", [](T a) {
    T r = 0;
    for (unsigned i = 0; i < width; ++i)
      r = withBit(r, i, bit(a, width - 1 - i));
    return r;
  });
}
TEST(Logic, Counts) {
  checkCounts<U>();
  checkCounts<L>();
}

template <typename T> U leading(T a, bool amount) {
  constexpr int msb = 8 * sizeof(T) - 1;
  if (a < 0)
    a = T(~a);
  for (int i = msb; i >= 0; --i)
    if (bit(a, unsigned(i)))
      return U(amount ? msb - i : i);
  return ~0u;
}
template <typename T> void checkBfind(const std::string &t) {
  checkOperation<U, T>("bfind." + t + " d, a;",
                       [](T a) { return leading(a, false); });
  checkOperation<U, T>("bfind.shiftamt." + t + " d, a;",
                       [](T a) { return leading(a, true); });
}
TEST(Logic, Bfind) {
  checkBfind<uint32_t>("u32");
  checkBfind<int32_t>("s32");
  checkBfind<uint64_t>("u64");
  checkBfind<int64_t>("s64");
}

TEST(Logic, Fns) {
  struct Row {
    U mask, base;
    int32_t offset;
    U expected;
  } rows[] = {{0xaaaaaaaa, 3, 1, 3},   {0xaaaaaaaa, 3, -1, 3},
              {0xaaaaaaaa, 2, 1, 3},   {0xaaaaaaaa, 2, -1, 1},
              {0xaaaaaaaa, 2, 0, ~0u}, {0xaaaaaaaa, 5, 0, 5},
              {0xaaaaaaaa, 0, 16, 31}, {0xaaaaaaaa, 0, 17, ~0u},
              {0, 4, 1, ~0u},          {0x80000001, 31, -2, 0}};
  Snippet s("fns.b32 d, a, b, c;");
  constexpr int count = sizeof rows / sizeof *rows;
  s.in<U>("a", [&](int l) { return rows[l % count].mask; });
  s.in<U>("b", [&](int l) { return rows[l % count].base; });
  s.in<int32_t>("c", [&](int l) { return rows[l % count].offset; });
  s.out<U>("d");
  ASSERT_TRUE(s.run()) << s.error;
  for (int l = 0; l < count; ++l)
    EXPECT_EQ(s.get<U>("d")[size_t(l)], rows[l].expected) << l;
}

/// As 9.7.1.19 writes it.
template <typename T> T extracted(T a, U b, U c) {
  using N = std::make_unsigned_t<T>;
  constexpr unsigned msb = 8 * sizeof(T) - 1;
  unsigned position = b & 255, length = c & 255;
  bool sign = std::is_signed_v<T> && length &&
              bit(N(a), std::min(position + length - 1, msb));
  N d = 0;
  for (unsigned i = 0; i <= msb; ++i)
    d = withBit(d, i,
                i < length && position + i <= msb ? bit(N(a), position + i)
                                                  : sign);
  return T(d);
}
template <typename T> T inserted(T a, T b, U c, U e) {
  constexpr unsigned msb = 8 * sizeof(T) - 1;
  unsigned position = c & 255, length = e & 255;
  for (unsigned i = 0; i < length && position + i <= msb; ++i)
    b = withBit(b, position + i, bit(a, i));
  return b;
}
TEST(Logic, BitFields) {
  checkOperation<U, U, U, U>("bfe.u32 d, a, b, c;", extracted<U>);
  checkOperation<int32_t, int32_t, U, U>("bfe.s32 d, a, b, c;",
                                         extracted<int32_t>);
  checkOperation<L, L, U, U>("bfe.u64 d, a, b, c;", extracted<L>);
  checkOperation<int64_t, int64_t, U, U>("bfe.s64 d, a, b, c;",
                                         extracted<int64_t>);
  checkOperation<U, U, U, U, U>("bfi.b32 d, a, b, c, e;", inserted<U>);
  checkOperation<L, L, L, U, U>("bfi.b64 d, a, b, c, e;", inserted<L>);
}
TEST(Logic, BitFieldsInRange) { // small positions and lengths
  for (const char *t : {"u32", "s32", "u64", "s64"}) {
    bool wide = t[1] == '6', isSigned = t[0] == 's';
    Setting often;
    often.rounds = 20;
    std::string text = std::string("{.reg .b32 x, y; and.b32 x, b, 63; "
                                   "and.b32 y, c, 31; bfe.") +
                       t + " d, a, x, y;}";
    if (wide && isSigned)
      checkOperation<int64_t, int64_t, U, U>(
          text,
          [](int64_t a, U b, U c) { return extracted(a, b & 63, c & 31); },
          often);
    else if (wide)
      checkOperation<L, L, U, U>(
          text, [](L a, U b, U c) { return extracted(a, b & 63, c & 31); },
          often);
    else if (isSigned)
      checkOperation<int32_t, int32_t, U, U>(
          text,
          [](int32_t a, U b, U c) { return extracted(a, b & 63, c & 31); },
          often);
    else
      checkOperation<U, U, U, U>(
          text, [](U a, U b, U c) { return extracted(a, b & 63, c & 31); },
          often);
  }
}

TEST(Logic, ExtensionsAndMasks) {
  for (bool clamp : {true, false}) {
    std::string mode = clamp ? "clamp" : "wrap";
    auto length = [=](U n) { return clamp ? std::min(n, 32u) : n % 32; };
    checkOperation<U, U, U>("szext." + mode + ".u32 d, a, b;", [=](U a, U b) {
      U r = 0;
      for (unsigned i = 0; i < length(b); ++i)
        r = withBit(r, i, bit(a, i));
      return r;
    });
    checkOperation<U, U, U>("szext." + mode + ".s32 d, a, b;", [=](U a, U b) {
      U n = length(b), r = 0;
      for (unsigned i = 0; i < 32 && n; ++i)
        r = withBit(r, i, bit(a, std::min(i, n - 1)));
      return r;
    });
    checkOperation<U, U, U>("bmsk." + mode + ".b32 d, a, b;", [=](U a, U b) {
      if (clamp && a >= 32)
        return U(0);
      U r = 0;
      for (unsigned i = 0; i < length(b) && a % 32 + i < 32; ++i)
        r = withBit(r, a % 32 + i, true);
      return r;
    });
  }
}

TEST(Logic, Prmt) {
  auto byteOf = [](U a, U b, unsigned i) {
    return (i < 4 ? a >> 8 * i : b >> 8 * (i - 4)) & 255;
  };
  checkOperation<U, U, U, U>("prmt.b32 d, a, b, c;", [=](U a, U b, U c) {
    U r = 0;
    for (unsigned k = 0; k < 4; ++k) {
      U select = c >> 4 * k & 15, v = byteOf(a, b, select & 7);
      r |= (select < 8 ? v : v >= 128 ? 255 : 0) << 8 * k;
    }
    return r;
  });
  // The table of 9.7.9.7: source bytes of d.b3, d.b2, d.b1, d.b0.
  struct Mode {
    const char *name;
    int from[4][4];
  } modes[] = {
      {"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
      {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
      {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  for (const Mode &m : modes)
    checkOperation<U, U, U, U>(
        std::string("prmt.b32.") + m.name + " d, a, b, c;", [=](U a, U b, U c) {
          U r = 0;
          for (unsigned k = 0; k < 4; ++k)
            r |= byteOf(a, b, unsigned(m.from[c & 3][3 - k])) << 8 * k;
          return r;
        });
}

TEST(Logic, Lop3DropsWhatItsTableHasAbove255) {
  checkOperation<U, U, U, U>("lop3.b32 d, a, b, c, 0x180;",
                             [](U a, U b, U c) { return a & b & c; });
}

TEST(Logic, WrongOnesAreErrors) {
  for (const char *bad :
       {"{.reg .b32 x; and.s32 x, x, x;}", "{.reg .b32 x; and.f32 x, x, x;}",
        "{.reg .b32 x; shl.u32 x, x, 1;}",
        "{.reg .b32 x; shf.l.b32 x, x, x, 1;}",
        "{.reg .b32 x; lop3.b32 x, x, x, x, 1.0;}",
        "{.reg .b32 x; lop3.b32 x, x, x, x, x;}",
        "{.reg .b32 x; prmt.b32.xyz x, x, x, x;}",
        "{.reg .pred p; .reg .b32 x; and.b32 x, x, p;}"})
    EXPECT_NE(whyNot(bad, "sm_90a", "8.0"), "") << bad;
}

} // namespace
