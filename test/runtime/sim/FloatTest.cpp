// SPDX-License-Identifier: Apache-2.0
//
// f32 and f64. Exact instructions are compared with the machine's arithmetic in
// the rounding mode of the instruction; approximations with their bounds.
#include "runtime/sim/arithmetic/Approximate.h"
#include "test/runtime/sim/CheckOperation.h"
#include "test/runtime/sim/RunKernel.h"
#include <algorithm>
#include <cfenv>
#include <set>

using namespace act::runtime::sim;

namespace {

const struct {
  const char *name;
  int environment;
} modes[] = {{"rn", FE_TONEAREST},
             {"rz", FE_TOWARDZERO},
             {"rm", FE_DOWNWARD},
             {"rp", FE_UPWARD}};

/// Computes in a rounding mode; the compiler may not look through it.
template <typename T, typename F, typename... S>
__attribute__((noinline)) T inMode(int environment, F f, S... sources) {
  std::fesetround(environment);
  volatile T result = f(sources...);
  std::fesetround(FE_TONEAREST);
  return result;
}

float flushed(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}
float canonical(float x) {
  uint32_t nan = 0x7fffffff;
  if (std::isnan(x))
    std::memcpy(&x, &nan, 4);
  return x;
}
template <typename T> T saturated(T x) {
  return std::isnan(x) || x <= 0 ? T(0) : std::min(x, T(1));
}

/// All rounding modes, and for f32 the flags, of a root. The double results are
/// compared unless they are NaN, whose payload is the machine's affair.
template <typename... S, typename F>
void checkFloat32(const std::string &root, const std::string &operands,
                  bool withSat, F f) {
  for (auto &mode : modes)
    for (bool ftz : {false, true})
      for (bool sat : {false, true}) {
        if (sat && !withSat)
          continue;
        int environment = mode.environment;
        checkOperation<float, S...>(
            root + "." + mode.name + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") +
                ".f32 " + operands,
            [=](S... s) {
              float r =
                  ftz ? flushed(inMode<float>(environment, f, flushed(s)...))
                      : inMode<float>(environment, f, s...);
              return canonical(sat ? saturated(r) : r);
            });
      }
}
template <typename... S, typename F>
void checkFloat64(const std::string &root, const std::string &operands, F f) {
  for (auto &mode : modes) {
    int environment = mode.environment;
    checkOperation<uint64_t, S...>(
        "{.reg .f64 x; .reg .pred p; " + root + "." + mode.name + ".f64 x, " +
            operands +
            "mov.b64 d, x; testp.notanumber.f64 p, x; @p mov.b64 d, -1;}",
        [=](S... s) {
          double r = inMode<double>(environment, f, s...);
          uint64_t u = ~uint64_t(0);
          if (!std::isnan(r))
            std::memcpy(&u, &r, 8);
          return u;
        });
  }
}

// volatile keeps the operation behind the change of mode.
struct Sum {
  template <typename T> T operator()(T a, T b) const {
    volatile T x = a, y = b;
    return x + y;
  }
};
struct Difference {
  template <typename T> T operator()(T a, T b) const {
    volatile T x = a, y = b;
    return x - y;
  }
};
struct Product {
  template <typename T> T operator()(T a, T b) const {
    volatile T x = a, y = b;
    return x * y;
  }
};
struct Quotient {
  template <typename T> T operator()(T a, T b) const {
    volatile T x = a, y = b;
    return x / y;
  }
};
struct Inverse {
  template <typename T> T operator()(T a) const {
    volatile T x = 1, y = a;
    return x / y;
  }
};
struct Root {
  template <typename T> T operator()(T a) const {
    volatile T x = a;
    return std::sqrt(T(x));
  }
};
struct Fused {
  template <typename T> T operator()(T a, T b, T c) const {
    volatile T x = a, y = b, z = c;
    return std::fma(T(x), T(y), T(z));
  }
};

TEST(Float, SumsAndProducts) {
  checkFloat32<float, float>("add", "d, a, b;", true, Sum());
  checkFloat32<float, float>("sub", "d, a, b;", true, Difference());
  checkFloat32<float, float>("mul", "d, a, b;", true, Product());
  checkFloat64<double, double>("add", "a, b;", Sum());
  checkFloat64<double, double>("sub", "a, b;", Difference());
  checkFloat64<double, double>("mul", "a, b;", Product());
}
TEST(Float, FusedProducts) {
  checkFloat32<float, float, float>("fma", "d, a, b, c;", true, Fused());
  checkFloat32<float, float, float>("mad", "d, a, b, c;", true, Fused());
  checkFloat64<double, double, double>("fma", "a, b, c;", Fused());
}
TEST(Float, QuotientsAndRoots) {
  checkFloat32<float, float>("div", "d, a, b;", false, Quotient());
  checkFloat32<float>("rcp", "d, a;", false, Inverse());
  checkFloat32<float>("sqrt", "d, a;", false, Root());
  checkFloat64<double, double>("div", "a, b;", Quotient());
  checkFloat64<double>("rcp", "a;", Inverse());
  checkFloat64<double>("sqrt", "a;", Root());
}
TEST(Float, RoundingIsToNearestByDefault) {
  checkOperation<float, float, float>(
      "add.f32 d, a, b;", [](float a, float b) { return canonical(a + b); });
  checkOperation<float, float, float>(
      "mul.ftz.f32 d, a, b;", [](float a, float b) {
        return canonical(flushed(flushed(a) * flushed(b)));
      });
}

// ---- signs and extremes

template <typename T> bool lessWithZeros(T a, T b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
float extremeOf(bool max, bool nan, float a, float b) {
  if (nan ? std::isnan(a) || std::isnan(b) : std::isnan(a) && std::isnan(b))
    return canonical(NAN);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  return lessWithZeros(a, b) != max ? a : b;
}
TEST(Float, MinimumAndMaximum) {
  for (bool max : {false, true})
    for (bool nan : {false, true})
      for (bool ftz : {false, true}) {
        std::string root = std::string(max ? "max" : "min") +
                           (ftz ? ".ftz" : "") + (nan ? ".NaN" : "");
        checkOperation<float, float, float>(
            root + ".f32 d, a, b;", [=](float a, float b) {
              return ftz ? extremeOf(max, nan, flushed(a), flushed(b))
                         : extremeOf(max, nan, a, b);
            });
        checkOperation<float, float, float>(
            root + ".xorsign.abs.f32 d, a, b;", [=](float a, float b) {
              if (ftz)
                a = flushed(a), b = flushed(b);
              float m = extremeOf(max, nan, std::fabs(a), std::fabs(b));
              bool minus = std::signbit(a) != std::signbit(b);
              return std::isnan(m) ? m : minus ? -m : m;
            });
      }
  checkOperation<double, double, double>(
      "{.reg .pred p; max.f64 d, a, b; testp.notanumber.f64 p, d;"
      "@p mov.f64 d, 0d3ff0000000000000;}",
      [](double a, double b) {
        if (std::isnan(a) && std::isnan(b))
          return 1.0;
        if (std::isnan(a) || std::isnan(b))
          return std::isnan(a) ? b : a;
        return lessWithZeros(a, b) ? b : a;
      });
}
TEST(Float, Signs) {
  checkOperation<uint32_t, uint32_t>("neg.f32 d, a;",
                                     [](uint32_t a) { return a ^ 1u << 31; });
  checkOperation<uint32_t, uint32_t>(
      "abs.f32 d, a;", [](uint32_t a) { return a & ~(1u << 31); });
  checkOperation<float, float>("neg.ftz.f32 d, a;",
                               [](float a) { return -flushed(a); });
  checkOperation<double, double>("abs.f64 d, a;",
                                 [](double a) { return std::fabs(a); });
  checkOperation<float, float, float>(
      "copysign.f32 d, a, b;",
      [](float a, float b) { return std::copysign(b, a); });
  checkOperation<double, double, double>(
      "copysign.f64 d, a, b;",
      [](double a, double b) { return std::copysign(b, a); });
}
template <typename T> void checkTestp(const std::string &type) {
  const struct {
    const char *name;
    bool (*holds)(T);
  } properties[] = {
      {"finite", [](T a) { return bool(std::isfinite(a)); }},
      {"infinite", [](T a) { return bool(std::isinf(a)); }},
      {"number", [](T a) { return !std::isnan(a); }},
      {"notanumber", [](T a) { return bool(std::isnan(a)); }},
      {"normal", [](T a) { return std::isnormal(a) || a == 0; }},
      {"subnormal", [](T a) { return std::fpclassify(a) == FP_SUBNORMAL; }}};
  for (auto &p : properties)
    checkOperation<uint32_t, T>(std::string("{.reg .pred p; testp.") + p.name +
                                    "." + type + " p, a; selp.u32 d, 1, 0, p;}",
                                [&](T a) { return uint32_t(p.holds(a)); });
}
TEST(Float, Properties) {
  checkTestp<float>("f32");
  checkTestp<double>("f64");
}

// ---- approximations

double ulp(double exact) {
  int e = std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, e - 23);
}
struct Approximate {
  const char *root;
  double (*exact)(double);
  double low, high; // of the argument
  double (*bound)(double x, double exact);
};
const Approximate approximations[] = {
    {"rcp.approx", [](double x) { return 1 / x; }, 1e-30, 1e30,
     [](double, double e) { return ulp(e); }},
    {"sqrt.approx", [](double x) { return std::sqrt(x); }, 1e-37, 3e38,
     [](double, double e) { return e * std::exp2(-23); }},
    {"rsqrt.approx", [](double x) { return 1 / std::sqrt(x); }, 1e-37, 3e38,
     [](double, double e) { return e * std::exp2(-22.9); }},
    {"sin.approx", [](double x) { return std::sin(x); }, -6.28, 6.28,
     [](double, double) { return std::exp2(-20.5); }},
    {"cos.approx", [](double x) { return std::cos(x); }, -314, 314,
     [](double x, double) {
       return std::exp2(std::fabs(x) <= 2 * M_PI ? -20.5 : -14.7);
     }},
    {"lg2.approx", [](double x) { return std::log2(x); }, 0.25, 4,
     [](double x, double e) {
       return std::exp2(-22) * (x > 0.5 && x < 2 ? 1 : std::fabs(e));
     }},
    {"ex2.approx", [](double x) { return std::exp2(x); }, -120, 120,
     [](double, double e) { return 2 * ulp(e); }},
    {"ex2.approx.ftz", [](double x) { return std::exp2(x); }, -1, 1,
     [](double, double e) { return 2 * ulp(e); }},
    {"tanh.approx", [](double x) { return std::tanh(x); }, -5, 5,
     [](double, double e) { return std::exp2(-11) * std::fabs(e); }},
};

TEST(Approximations, AreRoundedWithoutASeed) {
  for (const Approximate &a : approximations) {
    Random random(2, 2);
    for (int round = 0; round < 20; ++round) {
      Snippet s(std::string(a.root) + ".f32 d, a;");
      s.in<float>("a", [&](int) {
        return a.low + (a.high - a.low) * (random.next() >> 11) * 0x1p-53;
      });
      s.out<float>("d");
      ASSERT_TRUE(s.run()) << s.error;
      for (size_t l = 0; l < 32; ++l)
        EXPECT_EQ(s.get<float>("d")[l],
                  float(a.exact(double(s.get<float>("a")[l]))))
            << a.root << " of " << s.get<float>("a")[l];
    }
  }
}

TEST(Approximations, StayWithinTheirBoundsAndUseThem) {
  for (const Approximate &a : approximations) {
    double worst = 0;
    unsigned different = 0;
    Random random(3, 3);
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      Snippet s(std::string(a.root) + ".f32 d, a;");
      s.options.seed = seed;
      s.in<float>("a", [&](int) {
        return a.low + (a.high - a.low) * (random.next() >> 11) * 0x1p-53;
      });
      s.out<float>("d");
      ASSERT_TRUE(s.run()) << s.error;
      for (size_t l = 0; l < 32; ++l) {
        double x = s.get<float>("a")[l], exact = a.exact(x);
        double error = std::fabs(s.get<float>("d")[l] - exact);
        // A number rounded to nearest is always allowed.
        double bound = std::max(a.bound(x, exact), ulp(exact) / 2);
        ASSERT_LE(error, bound * (1 + 1e-9)) << a.root << " of " << x;
        worst = std::max(worst, error / bound);
        different += s.get<float>("d")[l] != float(exact);
      }
    }
    EXPECT_GT(different, 100u) << a.root;
    EXPECT_GT(worst, 0.8) << a.root << " never comes near its bound";
  }
}

TEST(Approximations, KnowTheSpecialCases) {
  const float inf = INFINITY, nan = NAN, none = 12345;
  const float in[] = {-inf, -1.0f, -0.0f, 0.0f, inf, nan};
  const struct {
    const char *root;
    float out[6]; // `none`: not in the tables
  } rows[] = {
      {"rcp.approx", {-0.0f, none, -inf, inf, 0.0f, nan}},
      {"sqrt.approx", {nan, nan, -0.0f, 0.0f, inf, nan}},
      {"rsqrt.approx", {nan, nan, -inf, inf, 0.0f, nan}},
      {"sin.approx", {nan, none, -0.0f, 0.0f, nan, nan}},
      {"cos.approx", {nan, none, 1.0f, 1.0f, nan, nan}},
      {"lg2.approx", {nan, nan, -inf, -inf, inf, nan}},
      {"ex2.approx", {0.0f, none, 1.0f, 1.0f, inf, nan}},
      {"tanh.approx", {-1.0f, none, -0.0f, 0.0f, 1.0f, nan}},
  };
  for (uint64_t seed : {0, 1, 2})
    for (auto &row : rows) {
      Snippet s(std::string(row.root) + ".f32 d, a;");
      s.options.seed = seed;
      s.in<float>("a", [&](int l) { return in[l % 6]; });
      s.out<float>("d");
      ASSERT_TRUE(s.run()) << s.error;
      for (size_t l = 0; l < 32; ++l) {
        float got = s.get<float>("d")[l], expected = canonical(row.out[l % 6]);
        if (expected != none)
          EXPECT_EQ(bitsOf(got), bitsOf(expected)) << row.root << in[l % 6];
      }
    }
}

// 32 at once, and one at a time by the library.
TEST(Approximations, PowersOfTwoAreRoundedAsTheLibraryDoes) {
  Random random(3, 1);
  const float edges[] = {0.0f,      -0.0f,   1.0f,        -126.0f,  -126.5f,
                         -149.0f,   -150.0f, 127.999992f, 128.0f,   INFINITY,
                         -INFINITY, NAN,     0.5f,        0x1p-30f, -0x1p-140f};
  for (unsigned round = 0; round < 40000; ++round) {
    float x[32], got[32];
    for (unsigned l = 0; l < 32; ++l)
      x[l] = round == 0      ? edges[l % std::size(edges)]
             : round % 4 < 2 ? as<float>(uint32_t(random.next()))
                             : float(int32_t(random.next())) * 0x1p-24f;
    exp2Lanes(x, ~0u, got);
    for (unsigned l = 0; l < 32; ++l)
      ASSERT_EQ(bitsOf(got[l]),
                bitsOf(canonical(float(std::exp2(double(x[l]))))))
          << x[l];
  }
}

TEST(Approximations, FlushWhenTold) {
  Snippet s("ex2.approx.ftz.f32 x, a; ex2.approx.f32 y, a;"
            "rcp.approx.ftz.f32 u, b; rcp.approx.f32 v, b;"
            "lg2.approx.ftz.f32 w, b; tanh.approx.f32 t, b;");
  s.in<float>("a", [](int) { return -130; });
  s.in<float>("b", [](int l) { return l % 2 ? 0x1p-127f : -0x1p-127f; });
  for (const char *name : {"x", "y", "u", "v", "w", "t"})
    s.out<float>(name);
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.get<float>("x")[0], 0.0f);
  EXPECT_EQ(s.get<float>("y")[0], 0x1p-130f);
  EXPECT_EQ(s.get<float>("u")[0], -INFINITY);
  EXPECT_EQ(s.get<float>("u")[1], INFINITY);
  EXPECT_EQ(s.get<float>("v")[1], 0x1p127f);
  EXPECT_EQ(s.get<float>("w")[0], -INFINITY);
  EXPECT_EQ(s.get<float>("t")[0], -0x1p-127f);
}

TEST(Approximations, Division) {
  Snippet s("div.approx.f32 x, a, b; div.full.f32 y, a, b;");
  const float a[] = {1, 3, -1, INFINITY, 2, 5},
              b[] = {3, 0, 0x1p127f, 0x1p127f, 0x1p126f, -INFINITY};
  s.in<float>("a", [&](int l) { return a[l % 6]; });
  s.in<float>("b", [&](int l) { return b[l % 6]; });
  s.out<float>("x").out<float>("y");
  ASSERT_TRUE(s.run()) << s.error;
  auto x = s.get<float>("x"), y = s.get<float>("y");
  EXPECT_EQ(x[0], 1.0f / 3);
  EXPECT_EQ(x[1], INFINITY);
  EXPECT_EQ(bitsOf(x[2]), bitsOf(-0.0f));
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_EQ(x[4], 0x1p-125f);
  EXPECT_EQ(bitsOf(x[5]), bitsOf(-0.0f));
  EXPECT_EQ(y[2], -0x1p-127f);
  EXPECT_EQ(y[3], INFINITY);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    Snippet t("div.approx.f32 x, a, b; div.full.ftz.f32 y, a, b;");
    t.options.seed = seed;
    t.in<float>("a", [&](int l) { return 1 + l * 0.37f; });
    t.in<float>("b", [&](int l) { return 3 + l * 0.91f; });
    t.out<float>("x").out<float>("y");
    ASSERT_TRUE(t.run()) << t.error;
    for (size_t l = 0; l < 32; ++l) {
      double exact = double(t.get<float>("a")[l]) / t.get<float>("b")[l];
      EXPECT_LE(std::fabs(t.get<float>("x")[l] - exact), 2 * ulp(exact));
      EXPECT_LE(std::fabs(t.get<float>("y")[l] - exact), 2 * ulp(exact));
    }
  }
}

TEST(Approximations, OfDoubles) {
  Snippet s("rcp.approx.ftz.f64 x, a; rsqrt.approx.ftz.f64 y, a;"
            "rsqrt.approx.f64 z, a;");
  s.in<double>("a", [](int l) {
    return l == 0 ? 1e-310 : l == 1 ? NAN : l * 1.37;
  });
  s.out<uint64_t>("x").out<uint64_t>("y").out<double>("z");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.get<uint64_t>("x")[0], 0x7ff0000000000000u);
  EXPECT_EQ(s.get<uint64_t>("y")[0], 0x7ff0000000000000u);
  EXPECT_EQ(s.get<uint64_t>("x")[1], 0x7fffffff00000000u);
  for (size_t l = 2; l < 32; ++l) {
    EXPECT_EQ(s.get<uint64_t>("x")[l] & 0xffffffff, 0u);
    double x, a = s.get<double>("a")[l];
    uint64_t u = s.get<uint64_t>("x")[l];
    std::memcpy(&x, &u, 8);
    EXPECT_NEAR(x * a, 1, 0x1p-19);
    EXPECT_NEAR(s.get<double>("z")[l] * std::sqrt(a), 1, 0x1p-51);
  }
}

// Who takes which ticket is an order; the exponential is rounded.
TEST(Approximations, OrdersMayBeDrawnAlone) {
  Kernel k;
  k.grid = 16;
  k.block = 1;
  k.array(std::vector<uint32_t>(1))
      .output<uint32_t>(k.grid)
      .output<float>(k.grid);
  k.body = R"(
    ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
    atom.global.add.u32 %r1, [%rd0], 1;
    st.global.u32 [%rd1], %r1;
    cvt.rn.f32.u32 %f0, %r0; mul.f32 %f0, %f0, 0f3EBD70A4; ex2.approx.f32 %f1, %f0;
    st.global.f32 [%rd2], %f1;)";
  ASSERT_TRUE(k.run()) << k.error;
  auto numbers = k.get<float>(2);
  std::set<std::vector<uint32_t>> orders;
  bool drawn = false;
  for (k.seed = 1; k.seed < 10; ++k.seed) {
    k.drawsRounding = false;
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_EQ(k.get<float>(2), numbers) << k.seed;
    orders.insert(k.get<uint32_t>(1));
    k.drawsRounding = true;
    ASSERT_TRUE(k.run()) << k.error;
    drawn |= k.get<float>(2) != numbers;
  }
  EXPECT_GT(orders.size(), 5u);
  EXPECT_TRUE(drawn);
}

TEST(Float, CountsExponentials) {
  Snippet s("ex2.approx.f32 d, a;");
  s.in<float>("a", [](int l) { return l; });
  s.out<float>("d");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.counters.exp2, 32u);
}

TEST(Float, WrongModifiersAreErrors) {
  for (const char *bad :
       {"fma.f32 x, x, x, x;", "div.f32 x, x, x;", "sqrt.f32 x, x;",
        "rcp.ftz.f32 x, x;", "add.rni.f32 x, x, x;", "add.ftz.f64 y, y, y;",
        "add.sat.f64 y, y, y;", "ex2.f32 x, x;", "sin.approx.f64 y, y;",
        "mad.f32 x, x, x, x;", "tanh.approx.ftz.f32 x, x;",
        "min.xorsign.f32 x, x, x;", "min.f32 x, x, x, x;",
        "div.rn.sat.f32 x, x, x;", "rcp.approx.f64 y, y;",
        "add.rn.f32.f16 x, h, x;", "add.f32x2 y, y, y;"})
    EXPECT_NE(whyNot(std::string("{.reg .f32 x; .reg .f64 y; .reg .b16 h;") +
                         bad + "}",
                     "sm_90a", "8.8"),
              "")
        << bad;
  EXPECT_NE(
      whyNot("{.reg .f32 x; min.xorsign.abs.f32 x, x, x;}", "sm_80", "8.0")
          .find("sm_86"),
      std::string::npos);
}

} // namespace
