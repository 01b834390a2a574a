// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act;
using namespace act::test;

namespace {

using Shape = std::pair<int64_t, int64_t>;

std::string shaped(const std::string &text, Shape shape) {
  return format(text, {{"RR", std::to_string(shape.first)},
                       {"CC", std::to_string(shape.second)}});
}

const char *const kMaps = R"(
#rc = affine_map<(r, c) -> (r, c)>
#r = affine_map<(r, c) -> (r)>
#c = affine_map<(r, c) -> (c)>
#v = affine_map<(r) -> (r)>
)";

const char *const kZeros = R"(
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<RRxf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<RRxf32>) -> tensor<RRxf32>
)";

const char *const kSumOfSquares = R"(
  %ss = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<RRxCCxf32>) outs(%f : tensor<RRxf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %acc, %s : f32
    linalg.yield %t : f32
  } -> tensor<RRxf32>
)";

// Of the sums %ss of squares.
const char *const kRstd = R"(
  %rstd = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%ss : tensor<RRxf32>) outs(%e : tensor<RRxf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.divf %a, %n : f32
    %t = arith.addf %s, %eps : f32
    %u = math.rsqrt %t : f32
    linalg.yield %u : f32
  } -> tensor<RRxf32>
)";

double sumOfSquares(const Operand &x, int64_t row, int64_t columns) {
  double sum = 0;
  for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
    sum += x.get(i) * x.get(i);
  return sum;
}

std::string rmsNorm(Shape shape) {
  return shaped(
      std::string(kMaps) + R"(
func.func @rms_norm(%x: tensor<RRxCCxf32>, %w: tensor<CCxf32>)
    -> (tensor<RRxCCxf32>, tensor<RRxf32>) {
  %n = arith.constant CC.0 : f32
  %eps = arith.constant 1.0e-5 : f32
)" + kZeros +
          kSumOfSquares + kRstd + R"(
  %e2 = tensor.empty() : tensor<RRxCCxf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #c, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %rstd, %w : tensor<RRxCCxf32>, tensor<RRxf32>, tensor<CCxf32>)
      outs(%e2 : tensor<RRxCCxf32>) {
  ^bb0(%a: f32, %s: f32, %g: f32, %o: f32):
    %t = arith.mulf %a, %s : f32
    %u = arith.mulf %t, %g : f32
    linalg.yield %u : f32
  } -> tensor<RRxCCxf32>
  return %y, %rstd : tensor<RRxCCxf32>, tensor<RRxf32>
}
func.func @sum_of_squares(%x: tensor<RRxCCxf32>) -> tensor<RRxf32> {
)" + kZeros +
          kSumOfSquares + R"(
  return %ss : tensor<RRxf32>
}
func.func @squares(%x: tensor<RRxCCxf32>) -> tensor<RRxCCxf32> {
  %e = tensor.empty() : tensor<RRxCCxf32>
  %s = linalg.mul ins(%x, %x : tensor<RRxCCxf32>, tensor<RRxCCxf32>)
      outs(%e : tensor<RRxCCxf32>) -> tensor<RRxCCxf32>
  return %s : tensor<RRxCCxf32>
}
func.func @sum(%x: tensor<RRxCCxf32>) -> tensor<RRxf32> {
)" + kZeros +
          R"(  %s = linalg.reduce { arith.addf } ins(%x : tensor<RRxCCxf32>) outs(%f : tensor<RRxf32>) dimensions = [1]
  return %s : tensor<RRxf32>
}
)",
      shape);
}

class Rows : public testing::TestWithParam<Shape> {
protected:
  const int64_t rows = GetParam().first, columns = GetParam().second;
};

TEST_P(Rows, RmsNormGivesBothResults) {
  auto runner = KernelRunner::create(rmsNorm(GetParam()));
  ASSERT_TRUE(runner);
  Operand x = Operand::random("f32", rows * columns, 1),
          w = Operand::random("f32", columns, 2);
  Call out = call(*runner, "rms_norm", {x, w},
                  {Operand("f32", rows * columns), Operand("f32", rows)});
  auto rstd = [&](int64_t r) {
    return 1 / std::sqrt(sumOfSquares(x, r, columns) / columns + 1e-5);
  };
  expectClose(out.results[1], rstd, 2e-6);
  expectClose(
      out.results[0],
      [&](int64_t i) {
        return x.get(i) * out.results[1].get(i / columns) * w.get(i % columns);
      },
      1e-6);
}

// The sum of squares inside the norm, alone, and as two kernels: same bits.
TEST_P(Rows, OrderOfAdditionsDoesNotDependOnFusion) {
  auto runner = KernelRunner::create(rmsNorm(GetParam()));
  ASSERT_TRUE(runner);
  Operand x = Operand::random("f32", rows * columns, 3), ones("f32", columns);
  Operand row("f32", rows);
  Call alone = call(*runner, "sum_of_squares", {x}, {row});
  Call squares = call(*runner, "squares", {x}, {Operand("f32", x.size())});
  Call sum = call(*runner, "sum", {squares.results[0]}, {row});
  EXPECT_TRUE(alone.results[0] == sum.results[0]);
  Call norm =
      call(*runner, "rms_norm", {x, ones}, {Operand("f32", x.size()), row});
  for (int64_t r = 0; r < rows; ++r) {
    float mean = float(float(alone.results[0].get(r)) / float(columns));
    float want = 1.0f / std::sqrt(mean + 1e-5f);
    EXPECT_EQ(norm.results[1].get(r), want) << r;
  }
}

TEST_P(Rows, HaveTheSameBitsOnAnOlderCpu) {
  HostOptions old;
  old.cpu = "x86-64-v3";
  auto here = KernelRunner::create(rmsNorm(GetParam()));
  auto there = KernelRunner::create(rmsNorm(GetParam()), old);
  ASSERT_TRUE(here && there);
  Operand x = Operand::random("f32", rows * columns, 1),
          w = Operand::random("f32", columns, 2);
  std::vector<Operand> fresh = {Operand("f32", x.size()), Operand("f32", rows)};
  Call first = call(*here, "rms_norm", {x, w}, fresh);
  Call second = call(*there, "rms_norm", {x, w}, fresh);
  EXPECT_TRUE(first.results == second.results);
}

TEST_P(Rows, SoftmaxAndLogSumExp) {
  std::string text = shaped(std::string(kMaps) + R"(
func.func @softmax(%x: tensor<RRxCCxf32>) -> (tensor<RRxCCxf32>, tensor<RRxf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<RRxf32>
  %e2 = tensor.empty() : tensor<RRxCCxf32>
  %f = linalg.fill ins(%ninf : f32) outs(%e : tensor<RRxf32>) -> tensor<RRxf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<RRxCCxf32>) outs(%f : tensor<RRxf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<RRxCCxf32>, tensor<RRxf32>) outs(%e2 : tensor<RRxCCxf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<RRxCCxf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<RRxf32>) -> tensor<RRxf32>
  %sum = linalg.reduce { arith.addf } ins(%p : tensor<RRxCCxf32>) outs(%z : tensor<RRxf32>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<RRxCCxf32>, tensor<RRxf32>) outs(%e2 : tensor<RRxCCxf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<RRxCCxf32>
  %lse = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%sum, %m : tensor<RRxf32>, tensor<RRxf32>) outs(%e : tensor<RRxf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %l = math.log %a : f32
    %s = arith.addf %l, %b : f32
    linalg.yield %s : f32
  } -> tensor<RRxf32>
  return %y, %lse : tensor<RRxCCxf32>, tensor<RRxf32>
})",
                            GetParam());
  Operand x = Operand::random("f32", rows * columns, 5);
  Call out =
      compileAndCall(text, "softmax", {x},
                     {Operand("f32", rows * columns), Operand("f32", rows)});
  auto lse = [&](int64_t r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x.get(r * columns + c));
    return std::log(sum);
  };
  expectClose(out.results[1], lse, 2e-6, 1e-1);
  expectClose(
      out.results[0],
      [&](int64_t i) { return std::exp(x.get(i) - lse(i / columns)); }, 5e-6,
      1e-6);
}

// [rows, columns] -> [columns], added to what is there.
TEST_P(Rows, ColumnSumsAccumulateInPlace) {
  std::string text = shaped(R"(
func.func @f(%dy: tensor<RRxCCxf32>, %g: tensor<CCxf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<CCxf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(c, r) -> (r, c)>, affine_map<(c, r) -> (c)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%dy : tensor<RRxCCxf32>) outs(%g : tensor<CCxf32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<CCxf32>
  return %r : tensor<CCxf32>
})",
                            GetParam());
  Operand dy = Operand::random("f32", rows * columns, 5),
          g = Operand::random("f32", columns, 6);
  Call out = compileAndCall(text, "f", {dy, g}, {});
  expectClose(
      out.operands[1],
      [&](int64_t c) {
        double sum = g.get(c);
        for (int64_t r = 0; r < rows; ++r)
          sum += dy.get(r * columns + c);
        return sum;
      },
      1e-5, 1.0);
}

// Two results that cannot share a loop: rows for one, columns for the other.
TEST_P(Rows, IndependentReductionsTakeTurns) {
  std::string text = shaped(
      std::string(kMaps) + R"(
func.func @f(%x: tensor<RRxCCxf32>) -> (tensor<RRxf32>, tensor<CCxf32>) {
)" + kZeros +
          R"(  %r = linalg.reduce { arith.addf } ins(%x : tensor<RRxCCxf32>) outs(%f : tensor<RRxf32>) dimensions = [1]
  %e2 = tensor.empty() : tensor<CCxf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<CCxf32>) -> tensor<CCxf32>
  %c = linalg.reduce { arith.addf } ins(%x : tensor<RRxCCxf32>) outs(%f2 : tensor<CCxf32>) dimensions = [0]
  return %r, %c : tensor<RRxf32>, tensor<CCxf32>
})",
      GetParam());
  Operand x = Operand::random("f32", rows * columns, 5);
  Call out = compileAndCall(text, "f", {x},
                            {Operand("f32", rows), Operand("f32", columns)});
  auto sum = [&](int64_t from, int64_t step, int64_t count) {
    double total = 0;
    for (int64_t i = 0; i < count; ++i)
      total += x.get(from + i * step);
    return total;
  };
  expectClose(
      out.results[0], [&](int64_t r) { return sum(r * columns, 1, columns); },
      1e-5, 1.0);
  expectClose(
      out.results[1], [&](int64_t c) { return sum(c, columns, rows); }, 1e-5,
      1.0);
}

// Everything to one number, as for the norm of a gradient.
TEST_P(Rows, SumOfEverything) {
  std::string text = shaped(R"(
func.func @f(%x: tensor<RRxCCxf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<RRxCCxf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %acc, %s : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
})",
                            GetParam());
  Operand x = Operand::random("f32", rows * columns, 5);
  Call out = compileAndCall(text, "f", {x}, {Operand("f32", 1)});
  double sum = sumOfSquares(x, 0, x.size());
  expectClose(out.results[0], [&](int64_t) { return sum; }, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Host, Rows,
                         testing::Values(Shape{1, 1}, Shape{5, 6}, Shape{7, 31},
                                         Shape{13, 32}, Shape{64, 65},
                                         Shape{96, 384}, Shape{3, 1000},
                                         Shape{257, 48}));

// A number that is computed from another result, the rows' sums, has no loop of
// its own that could stand behind theirs.
TEST(HostReduction, NumberFromAResult) {
  int64_t rows = 300, columns = 40;
  std::string text = shaped(std::string(kMaps) + R"(
#none = affine_map<(r) -> ()>
func.func @f(%x: tensor<RRxCCxf32>) -> (tensor<f32>, tensor<RRxf32>) {
)" + kZeros + kSumOfSquares + R"(
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#v, #none], iterator_types = ["reduction"]}
      ins(%ss : tensor<RRxf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %s, %ss : tensor<f32>, tensor<RRxf32>
})",
                            {rows, columns});
  Operand x = Operand::random("f32", rows * columns, 1);
  Call out =
      compileAndCall(text, "f", {x}, {Operand("f32", 1), Operand("f32", rows)});
  double sum = sumOfSquares(x, 0, rows * columns);
  expectClose(out.results[0], [&](int64_t) { return sum; }, 1e-5);
  expectClose(
      out.results[1], [&](int64_t r) { return sumOfSquares(x, r, columns); },
      1e-5);
}

// Mean and variance of one row, then the normalised row: layer_norm in 16 bits.
TEST(HostReduction, LayerNormInBf16) {
  std::string text = shaped(
      std::string(kMaps) + R"(
func.func @f(%x: tensor<RRxCCxbf16>, %w: tensor<CCxbf16>, %b: tensor<CCxbf16>)
    -> (tensor<RRxCCxbf16>, tensor<RRxf32>, tensor<RRxf32>) {
  %n = arith.constant CC.0 : f32
  %eps = arith.constant 1.0e-5 : f32
)" + kZeros +
          R"(  %sum = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<RRxCCxbf16>) outs(%f : tensor<RRxf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.addf %acc, %s : f32
    linalg.yield %t : f32
  } -> tensor<RRxf32>
  %mean = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%sum : tensor<RRxf32>) outs(%e : tensor<RRxf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.divf %a, %n : f32
    linalg.yield %s : f32
  } -> tensor<RRxf32>
  %ss = linalg.generic {indexing_maps = [#rc, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %mean : tensor<RRxCCxbf16>, tensor<RRxf32>) outs(%f : tensor<RRxf32>) {
  ^bb0(%a: bf16, %m: f32, %acc: f32):
    %s = arith.extf %a : bf16 to f32
    %d = arith.subf %s, %m : f32
    %q = arith.mulf %d, %d : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  } -> tensor<RRxf32>
)" + kRstd +
          R"(
  %e2 = tensor.empty() : tensor<RRxCCxbf16>
  %y = linalg.generic {indexing_maps = [#rc, #r, #r, #c, #c, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean, %rstd, %w, %b : tensor<RRxCCxbf16>, tensor<RRxf32>, tensor<RRxf32>, tensor<CCxbf16>, tensor<CCxbf16>)
      outs(%e2 : tensor<RRxCCxbf16>) {
  ^bb0(%a: bf16, %m: f32, %s: f32, %g: bf16, %h: bf16, %o: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %g : bf16 to f32
    %2 = arith.extf %h : bf16 to f32
    %3 = arith.subf %0, %m : f32
    %4 = arith.mulf %3, %s : f32
    %5 = arith.mulf %4, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.truncf %6 : f32 to bf16
    linalg.yield %7 : bf16
  } -> tensor<RRxCCxbf16>
  return %y, %mean, %rstd : tensor<RRxCCxbf16>, tensor<RRxf32>, tensor<RRxf32>
})",
      {37, 100});
  int64_t rows = 37, columns = 100;
  Operand x = Operand::random("bf16", rows * columns, 1),
          w = Operand::random("bf16", columns, 2),
          b = Operand::random("bf16", columns, 3);
  Call out = compileAndCall(text, "f", {x, w, b},
                            {Operand("bf16", rows * columns),
                             Operand("f32", rows), Operand("f32", rows)});
  auto mean = [&](int64_t r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += x.get(r * columns + c);
    return sum / columns;
  };
  auto rstd = [&](int64_t r) {
    double sum = 0, m = mean(r);
    for (int64_t c = 0; c < columns; ++c)
      sum += (x.get(r * columns + c) - m) * (x.get(r * columns + c) - m);
    return 1 / std::sqrt(sum / columns + 1e-5);
  };
  expectClose(out.results[1], mean, 1e-5, 0.1);
  expectClose(out.results[2], rstd, 1e-5);
  expectClose(
      out.results[0],
      [&](int64_t i) {
        int64_t r = i / columns, c = i % columns;
        return (x.get(i) - mean(r)) * rstd(r) * w.get(c) + b.get(c);
      },
      0.005, 0.1);
}

} // namespace
