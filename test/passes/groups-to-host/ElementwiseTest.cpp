// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act::test;

namespace {

std::string unary(const std::string &shape, const std::string &type,
                  const std::string &op) {
  return format(R"(
func.func @f(%x: tensor<$Sx$T>) -> tensor<$Sx$T> {
  %e = tensor.empty() : tensor<$Sx$T>
  %y = linalg.map { $OP } ins(%x : tensor<$Sx$T>) outs(%e : tensor<$Sx$T>)
  return %y : tensor<$Sx$T>
})",
                {{"$S", shape}, {"$T", type}, {"$OP", op}});
}

double ulps(float got, double want) {
  if (std::isnan(got) && std::isnan(want))
    return 0;
  float rounded = float(want);
  if (got == rounded)
    return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded))
    return INFINITY;
  double unit = std::nextafter(std::abs(rounded), INFINITY) - std::abs(rounded);
  return std::abs(got - want) / unit;
}

struct Case {
  const char *op;
  double (*reference)(double);
  double low, high, limit;
};

class MathFunction : public testing::TestWithParam<Case> {};

// Accuracy in units of the last place of the result, over the range in which
// training uses the function, and the same on vectors and in remainders.
TEST_P(MathFunction, IsAccurateInF32) {
  const Case &c = GetParam();
  constexpr int64_t count = 40005;
  Operand x("f32", count);
  for (int64_t i = 0; i < count; ++i)
    x.set(i, c.low + (c.high - c.low) * double(i) / (count - 1));
  Call out = compileAndCall(unary("40005", "f32", c.op), "f", {x},
                            {Operand("f32", count)});
  double worst = 0, where = 0;
  for (int64_t i = 0; i < count; ++i) {
    double error = ulps(float(out.results[0].get(i)), c.reference(x.get(i)));
    if (error > worst)
      worst = error, where = x.get(i);
  }
  EXPECT_LE(worst, c.limit) << c.op << "(" << where << ")";
  RecordProperty("ulps", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(
    Host, MathFunction,
    testing::Values(Case{"math.exp", std::exp, -87, 88, 4},
                    Case{"math.log", std::log, 1e-3, 1000, 4},
                    Case{"math.tanh", std::tanh, -10, 10, 6},
                    Case{"math.erf", std::erf, -5, 5, 8},
                    Case{"math.sin", std::sin, -50, 50, 4},
                    Case{"math.cos", std::cos, -50, 50, 4},
                    Case{"math.sqrt", std::sqrt, 0, 1000, 0.5},
                    Case{"math.rsqrt",
                         [](double x) { return 1 / std::sqrt(x); }, 1e-6, 1000,
                         2}));

TEST(HostElementwise, ExpAtTheEdges) {
  std::vector<double> in = {-INFINITY, -1e30, -200, -104, -88, 0, INFINITY, 89};
  Operand x("f32", 40);
  for (int64_t i = 0; i < 40; ++i)
    x.set(i, in[i % in.size()]);
  Call out = compileAndCall(unary("40", "f32", "math.exp"), "f", {x},
                            {Operand("f32", 40)});
  expectClose(
      out.results[0],
      [&](int64_t i) {
        double want = double(float(std::exp(x.get(i))));
        return want < 1.2e-38 ? 0 : want; // below normals: zero
      },
      4e-7, 1.2e-38);
}

TEST(HostElementwise, F64UsesLibm) {
  Operand x = Operand::random("f64", 7 * 13, 1);
  auto check = [&](const char *op, double (*f)(double)) {
    Call out = compileAndCall(unary("7x13", "f64", op), "f", {x},
                              {Operand("f64", 91)});
    expectClose(out.results[0], [&](int64_t i) { return f(x.get(i)); }, 1e-15);
  };
  check("math.exp", std::exp);
  check("math.tanh", std::tanh);
  check("math.erf", std::erf);
}

class Rounding : public testing::TestWithParam<std::string> {};

// A chain in 16 bits: every value is rounded to its type, also when fused.
TEST_P(Rounding, HappensAtEveryValue) {
  std::string type = GetParam();
  std::string text = format(R"(
#m = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<5x33x$T>, %y: tensor<5x33x$T>) -> tensor<5x33x$T> {
  %e = tensor.empty() : tensor<5x33x$T>
  %s = linalg.add ins(%x, %y : tensor<5x33x$T>, tensor<5x33x$T>)
      outs(%e : tensor<5x33x$T>) -> tensor<5x33x$T>
  %p = linalg.mul ins(%s, %y : tensor<5x33x$T>, tensor<5x33x$T>)
      outs(%e : tensor<5x33x$T>) -> tensor<5x33x$T>
  return %p : tensor<5x33x$T>
})",
                            {{"$T", type}});
  Operand x = Operand::random(type, 165, 1), y = Operand::random(type, 165, 2);
  Call out = compileAndCall(text, "f", {x, y}, {Operand(type, 165)});
  Operand want(type, 165);
  for (int64_t i = 0; i < 165; ++i) {
    want.set(i, x.get(i) + y.get(i)); // exact, or rounded once
    want.set(i, want.get(i) * y.get(i));
  }
  EXPECT_TRUE(out.results[0] == want);
}

INSTANTIATE_TEST_SUITE_P(Host, Rounding,
                         testing::Values("bf16", "f16", "f32", "f64"));

// Bytes hold truth values; a condition from integers selects.
TEST(HostElementwise, BooleansAreBytes) {
  std::string text = R"(
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<9x37xf32>, %m: tensor<9x37xi1>, %n: tensor<9xi32>)
    -> (tensor<9x37xf32>, tensor<9x37xi1>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x37xf32>
  %b = tensor.empty() : tensor<9x37xi1>
  %r:2 = linalg.generic {indexing_maps = [#m, #m, #r, #m, #m],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %n : tensor<9x37xf32>, tensor<9x37xi1>, tensor<9xi32>)
      outs(%e, %b : tensor<9x37xf32>, tensor<9x37xi1>) {
  ^bb0(%v: f32, %c: i1, %k: i32, %o: f32, %p: i1):
    %j = linalg.index 1 : index
    %i = arith.index_cast %j : index to i32
    %in = arith.cmpi slt, %i, %k : i32
    %both = arith.andi %in, %c : i1
    %s = arith.select %both, %v, %zero : f32
    linalg.yield %s, %both : f32, i1
  } -> (tensor<9x37xf32>, tensor<9x37xi1>)
  return %r#0, %r#1 : tensor<9x37xf32>, tensor<9x37xi1>
})";
  Operand x = Operand::random("f32", 333, 1), m = Operand::random("i1", 333, 2),
          n = Operand::random("i32", 9, 3, 40);
  Call out = compileAndCall(text, "f", {x, m, n},
                            {Operand("f32", 333), Operand("i1", 333)});
  auto both = [&](int64_t i) { return m.get(i) && i % 37 < n.get(i / 37); };
  expectClose(
      out.results[0], [&](int64_t i) { return both(i) ? x.get(i) : 0; }, 0);
  expectClose(out.results[1], [&](int64_t i) { return double(both(i)); }, 0);
}

TEST(HostElementwise, UpdatesInPlaceWithScalars) {
  std::string text = R"(
#m = affine_map<(i, j) -> (i, j)>
func.func @sgd(%p: tensor<123x45xf32> {act.role = #act.role<in_place, result = 1>},
               %m: tensor<123x45xf32> {act.role = #act.role<in_place, result = 0>},
               %g: tensor<123x45xbf16>, %lr: f32, %step: i64)
    -> (tensor<123x45xf32>, tensor<123x45xf32>) {
  %e = tensor.empty() : tensor<123x45xf32>
  %mu = arith.constant 0.5 : f32
  %s = arith.sitofp %step : i64 to f32
  %r:2 = linalg.generic {indexing_maps = [#m, #m, #m, #m, #m],
                         iterator_types = ["parallel", "parallel"]}
      ins(%p, %m, %g : tensor<123x45xf32>, tensor<123x45xf32>, tensor<123x45xbf16>)
      outs(%e, %e : tensor<123x45xf32>, tensor<123x45xf32>) {
  ^bb0(%pp: f32, %mm: f32, %gg: bf16, %o0: f32, %o1: f32):
    %0 = arith.extf %gg : bf16 to f32
    %1 = arith.mulf %mm, %mu : f32
    %2 = arith.addf %1, %0 : f32
    %3 = arith.mulf %2, %lr : f32
    %4 = arith.mulf %3, %s : f32
    %5 = arith.subf %pp, %4 : f32
    linalg.yield %2, %5 : f32, f32
  } -> (tensor<123x45xf32>, tensor<123x45xf32>)
  return %r#0, %r#1 : tensor<123x45xf32>, tensor<123x45xf32>
})";
  int64_t n = 123 * 45;
  Operand p = Operand::random("f32", n, 1), m = Operand::random("f32", n, 2),
          g = Operand::random("bf16", n, 3), lr("f32", 2), step("i64", 1);
  lr.set(0, 0.125), step.set(0, 3);
  auto runner = KernelRunner::create(text);
  ASSERT_TRUE(runner);
  EXPECT_EQ(runner->find("sgd")->scratchBytes, 0u);
  Call out = call(*runner, "sgd", {p, m, g, lr, step}, {});
  auto momentum = [&](int64_t i) { return m.get(i) * 0.5 + g.get(i); };
  expectClose(out.operands[1], momentum, 1e-6);
  expectClose(
      out.operands[0],
      [&](int64_t i) { return p.get(i) - 0.375 * momentum(i); }, 1e-6, 1e-1);
}

TEST(HostElementwise, BroadcastsOverMiddleDimensions) {
  std::string text = R"(
func.func @f(%x: tensor<3x5x7x33xf32>, %y: tensor<5x33xf32>) -> tensor<3x5x7x33xf32> {
  %e = tensor.empty() : tensor<3x5x7x33xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>,
        affine_map<(a, b, c, d) -> (b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<3x5x7x33xf32>, tensor<5x33xf32>)
      outs(%e : tensor<3x5x7x33xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<3x5x7x33xf32>
  return %r : tensor<3x5x7x33xf32>
})";
  Operand x = Operand::random("f32", 3 * 5 * 7 * 33, 1),
          y = Operand::random("f32", 5 * 33, 2);
  Call out = compileAndCall(text, "f", {x, y}, {Operand("f32", x.size())});
  expectClose(
      out.results[0],
      [&](int64_t i) {
        return double(float(x.get(i) * y.get(i / 231 % 5 * 33 + i % 33)));
      },
      0);
}

class Transpose : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Transpose, Copies) {
  auto [rows, columns] = GetParam();
  for (std::string type : {"f32", "bf16", "f64"}) {
    std::string text = format(
        R"(
func.func @f(%x: tensor<2xRxCx$T>) -> tensor<2xCxRx$T> {
  %e = tensor.empty() : tensor<2xCxRx$T>
  %y = linalg.transpose ins(%x : tensor<2xRxCx$T>) outs(%e : tensor<2xCxRx$T>)
      permutation = [0, 2, 1]
  return %y : tensor<2xCxRx$T>
})",
        {{"xR", "x" + std::to_string(rows)},
         {"xC", "x" + std::to_string(columns)},
         {"$T", type}});
    int64_t r = rows, c = columns;
    Operand x = Operand::random(type, 2 * r * c, 1);
    Call out = compileAndCall(text, "f", {x}, {Operand(type, 2 * r * c)});
    expectClose(
        out.results[0],
        [&](int64_t i) {
          return x.get(i / (r * c) * r * c + i % r * c + i / r % c);
        },
        0);
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Transpose,
                         testing::Values(std::pair{1, 1}, std::pair{5, 7},
                                         std::pair{16, 16}, std::pair{33, 65},
                                         std::pair{64, 48},
                                         std::pair{257, 31}));

} // namespace
