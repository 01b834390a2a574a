// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act;
using namespace act::test;

namespace {

struct Gemm {
  int64_t m, n, k;
  const char *form; // operands' subscripts: "mk nk", ...
  const char *type;
};

std::string dims(const std::string &subscripts, const Gemm &g) {
  std::string out;
  for (char c : subscripts)
    out += std::to_string(c == 'm' ? g.m : c == 'n' ? g.n : g.k) + "x";
  return out;
}

std::string list(const std::string &subscripts) {
  return std::string(1, subscripts[0]) + ", " + subscripts[1];
}

/// y = a * b in f32 (f64 for f64), with a bias and a rounding as epilogue.
std::string product(const Gemm &g) {
  std::string form = g.form, a = form.substr(0, 2), b = form.substr(3, 2);
  std::string type = g.type, acc = type == "f64" ? "f64" : "f32";
  bool cast = type != acc;
  return format(
      R"(
func.func @plain(%a: tensor<$A$T>, %b: tensor<$B$T>) -> tensor<$C$U> {
  $BODY
  return %y : tensor<$C$U>
}
func.func @fused(%a: tensor<$A$T>, %b: tensor<$B$T>, %bias: tensor<$Nx$U>,
                 %res: tensor<$C$U>) -> tensor<$C$T> {
  $BODY
  %e2 = tensor.empty() : tensor<$C$T>
  %o = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
        affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %bias, %res : tensor<$C$U>, tensor<$Nx$U>, tensor<$C$U>) outs(%e2 : tensor<$C$T>) {
  ^bb0(%p: $U, %q: $U, %r: $U, %out: $T):
    %1 = arith.addf %p, %q : $U
    %2 = arith.addf %1, %r : $U
    $ROUND
  } -> tensor<$C$T>
  return %o : tensor<$C$T>
}
func.func @accumulate(%a: tensor<$A$T>, %b: tensor<$B$T>,
                      %f: tensor<$C$U> {act.role = #act.role<in_place, result = 0>}) -> tensor<$C$U> {
  $SUM
  return %y : tensor<$C$U>
})",
      {{"$BODY", R"(%z = arith.constant 0.0 : $U
  %e = tensor.empty() : tensor<$C$U>
  %f = linalg.fill ins(%z : $U) outs(%e : tensor<$C$U>) -> tensor<$C$U>
  $SUM)"},
       {"$SUM",
        R"(%y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> ($LA)>, affine_map<(m, n, k) -> ($LB)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<$A$T>, tensor<$B$T>) outs(%f : tensor<$C$U>) {
  ^bb0(%p: $T, %q: $T, %acc: $U):
    $MUL
  } -> tensor<$C$U>)"},
       {"$MUL", cast ? R"(%x1 = arith.extf %p : $T to $U
    %x2 = arith.extf %q : $T to $U
    %x3 = arith.mulf %x1, %x2 : $U
    %x4 = arith.addf %acc, %x3 : $U
    linalg.yield %x4 : $U)"
                     : R"(%x3 = arith.mulf %p, %q : $U
    %x4 = arith.addf %acc, %x3 : $U
    linalg.yield %x4 : $U)"},
       {"$ROUND", cast ? R"(%3 = arith.truncf %2 : $U to $T
    linalg.yield %3 : $T)"
                       : "linalg.yield %2 : $T"},
       {"$LA", list(a)},
       {"$LB", list(b)},
       {"$A", dims(a, g)},
       {"$B", dims(b, g)},
       {"$C", dims("mn", g)},
       {"$N", std::to_string(g.n)},
       {"$T", type},
       {"$U", acc}});
}

class Product : public testing::TestWithParam<Gemm> {};

TEST_P(Product, AgreesWithTheSum) {
  const Gemm &g = GetParam();
  std::string form = g.form, acc = std::string(g.type) == "f64" ? "f64" : "f32";
  auto runner = KernelRunner::create(product(g));
  ASSERT_TRUE(runner) << product(g);
  Operand a = Operand::random(g.type, g.m * g.k, 1),
          b = Operand::random(g.type, g.k * g.n, 2),
          c = Operand::random(acc, g.m * g.n, 3),
          bias = Operand::random(acc, g.n, 4);
  auto at = [&](const Operand &operand, const std::string &subscripts,
                int64_t m, int64_t n, int64_t k) {
    auto size = [&](char s) { return s == 'm' ? g.m : s == 'n' ? g.n : g.k; };
    auto index = [&](char s) { return s == 'm' ? m : s == 'n' ? n : k; };
    return operand.get(index(subscripts[0]) * size(subscripts[1]) +
                       index(subscripts[1]));
  };
  std::vector<double> want(g.m * g.n);
  for (int64_t i = 0; i < g.m * g.n; ++i)
    for (int64_t k = 0; k < g.k; ++k)
      want[i] += at(a, form.substr(0, 2), i / g.n, i % g.n, k) *
                 at(b, form.substr(3, 2), i / g.n, i % g.n, k);
  double limit = acc == "f64" ? 1e-13 : 3e-6 * std::sqrt(double(g.k));
  Call plain = call(*runner, "plain", {a, b}, {Operand(acc, g.m * g.n)});
  expectClose(plain.results[0], [&](int64_t i) { return want[i]; }, limit, 1.0);
  Call sum = call(*runner, "accumulate", {a, b, c}, {});
  expectClose(
      sum.operands[2], [&](int64_t i) { return want[i] + c.get(i); }, limit,
      1.0);
  // The epilogue sees exactly the plain product.
  Call fused =
      call(*runner, "fused", {a, b, bias, c}, {Operand(g.type, g.m * g.n)});
  Operand exact(g.type, g.m * g.n);
  for (int64_t i = 0; i < g.m * g.n; ++i) {
    Operand step(acc, 1);
    step.set(0, plain.results[0].get(i) + bias.get(i % g.n));
    step.set(0, step.get(0) + c.get(i));
    exact.set(i, step.get(0));
  }
  EXPECT_TRUE(fused.results[0] == exact);
}

INSTANTIATE_TEST_SUITE_P(
    Host, Product,
    testing::Values(
        Gemm{1, 1, 1, "mk kn", "f32"}, Gemm{5, 7, 3, "mk nk", "f32"},
        Gemm{8, 32, 64, "mk kn", "f32"}, Gemm{33, 65, 129, "mk nk", "f32"},
        Gemm{33, 65, 129, "km kn", "f32"}, Gemm{65, 33, 300, "km nk", "f32"},
        Gemm{300, 270, 40, "mk kn", "f32"}, Gemm{1, 384, 96, "mk nk", "f32"},
        Gemm{3, 1031, 64, "mk nk", "bf16"}, Gemm{128, 96, 100, "mk nk", "bf16"},
        Gemm{70, 40, 50, "km kn", "bf16"}, Gemm{40, 70, 90, "mk nk", "f16"},
        Gemm{40, 70, 90, "mk kn", "f64"}, Gemm{37, 20, 19, "mk nk", "f64"}));

// An element's additions go along k whatever the tile, so that a machine with
// shorter vectors gives the same bits.
TEST_P(Product, HasTheSameBitsOnAnOlderCpu) {
  const Gemm &g = GetParam();
  std::string acc = std::string(g.type) == "f64" ? "f64" : "f32";
  HostOptions old;
  old.cpu = "x86-64-v3";
  auto here = KernelRunner::create(product(g));
  auto there = KernelRunner::create(product(g), old);
  ASSERT_TRUE(here && there);
  Operand a = Operand::random(g.type, g.m * g.k, 1),
          b = Operand::random(g.type, g.k * g.n, 2);
  Call first = call(*here, "plain", {a, b}, {Operand(acc, g.m * g.n)});
  Call second = call(*there, "plain", {a, b}, {Operand(acc, g.m * g.n)});
  EXPECT_TRUE(first.results[0] == second.results[0]);
}

std::string withSums(const std::string &text) {
  return format(text, {{"$MULTIPLY_ADD", R"(^bb0(%l: f32, %r: f32, %acc: f32):
    %1 = arith.mulf %l, %r : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32)"}});
}

// y[b, s, n] = x[b, s, k] w[n, k], and its weight gradient over b and s.
TEST(HostProduct, LeadingDimensions) {
  std::string text = withSums(R"(
func.func @linear(%x: tensor<3x20x48xf32>, %w: tensor<40x48xf32>) -> tensor<3x20x40xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x20x40xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (n, k)>,
        affine_map<(b, s, n, k) -> (b, s, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x20x48xf32>, tensor<40x48xf32>) outs(%f : tensor<3x20x40xf32>) {
  $MULTIPLY_ADD
  } -> tensor<3x20x40xf32>
  return %y : tensor<3x20x40xf32>
}
func.func @dw(%dy: tensor<3x20x40xf32>, %x: tensor<3x20x48xf32>,
              %g: tensor<40x48xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<40x48xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(n, k, b, s) -> (b, s, n)>, affine_map<(n, k, b, s) -> (b, s, k)>,
        affine_map<(n, k, b, s) -> (n, k)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%dy, %x : tensor<3x20x40xf32>, tensor<3x20x48xf32>) outs(%g : tensor<40x48xf32>) {
  $MULTIPLY_ADD
  } -> tensor<40x48xf32>
  return %y : tensor<40x48xf32>
})");
  auto runner = KernelRunner::create(text);
  ASSERT_TRUE(runner);
  Operand x = Operand::random("f32", 60 * 48, 1),
          w = Operand::random("f32", 40 * 48, 2),
          dy = Operand::random("f32", 60 * 40, 3),
          g = Operand::random("f32", 40 * 48, 4);
  Call y = call(*runner, "linear", {x, w}, {Operand("f32", 60 * 40)});
  expectClose(
      y.results[0],
      [&](int64_t i) {
        double sum = 0;
        for (int64_t k = 0; k < 48; ++k)
          sum += x.get(i / 40 * 48 + k) * w.get(i % 40 * 48 + k);
        return sum;
      },
      2e-5, 1.0);
  Call dw = call(*runner, "dw", {dy, x, g}, {});
  expectClose(
      dw.operands[2],
      [&](int64_t i) {
        double sum = g.get(i);
        for (int64_t t = 0; t < 60; ++t)
          sum += dy.get(t * 40 + i / 48) * x.get(t * 48 + i % 48);
        return sum;
      },
      2e-5, 1.0);
}

// Scores of grouped heads: head h reads key head h floordiv 3.
TEST(HostProduct, GroupedHeads) {
  std::string text = withSums(R"(
func.func @f(%q: tensor<2x33x6x16xf32>, %k: tensor<2x40x2x16xf32>) -> tensor<2x6x33x40xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x33x40xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x33x40xf32>) -> tensor<2x6x33x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, s, t, d) -> (b, s, h, d)>,
        affine_map<(b, h, s, t, d) -> (b, t, h floordiv 3, d)>, affine_map<(b, h, s, t, d) -> (b, h, s, t)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x33x6x16xf32>, tensor<2x40x2x16xf32>) outs(%f : tensor<2x6x33x40xf32>) {
  $MULTIPLY_ADD
  } -> tensor<2x6x33x40xf32>
  return %y : tensor<2x6x33x40xf32>
})");
  Operand q = Operand::random("f32", 2 * 33 * 6 * 16, 1),
          k = Operand::random("f32", 2 * 40 * 2 * 16, 2);
  Call out =
      compileAndCall(text, "f", {q, k}, {Operand("f32", 2 * 6 * 33 * 40)});
  expectClose(
      out.results[0],
      [&](int64_t i) {
        int64_t t = i % 40, s = i / 40 % 33, h = i / 1320 % 6, b = i / 7920;
        double sum = 0;
        for (int64_t d = 0; d < 16; ++d)
          sum += q.get(((b * 33 + s) * 6 + h) * 16 + d) *
                 k.get(((b * 40 + t) * 2 + h / 3) * 16 + d);
        return sum;
      },
      2e-5, 1.0);
}

} // namespace
