// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act::test;

namespace {

const char *const kEmbedding = R"(
func.func @gather(%t: tensor<50x33x$T>, %ids: tensor<3x20xi32>) -> tensor<3x20x33x$T> {
  %e = tensor.empty() : tensor<3x20x33x$T>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, c) -> (b, s)>, affine_map<(b, s, c) -> (b, s, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<3x20xi32>) outs(%e : tensor<3x20x33x$T>) {
  ^bb0(%i: i32, %o: $T):
    %c = linalg.index 2 : index
    %k = arith.index_cast %i : i32 to index
    %v = tensor.extract %t[%k, %c] : tensor<50x33x$T>
    linalg.yield %v : $T
  } -> tensor<3x20x33x$T>
  return %y : tensor<3x20x33x$T>
}
func.func @scatter(%g: tensor<50x33xf32> {act.role = #act.role<in_place, result = 0>}, %ids: tensor<60xi32>,
                   %dy: tensor<60x33x$T>) -> tensor<50x33xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c60 = arith.constant 60 : index
  %r = scf.for %t = %c0 to %c60 step %c1 iter_args(%acc = %g) -> tensor<50x33xf32> {
    %i = tensor.extract %ids[%t] : tensor<60xi32>
    %k = arith.index_cast %i : i32 to index
    %row = tensor.extract_slice %acc[%k, 0] [1, 33] [1, 1] : tensor<50x33xf32> to tensor<33xf32>
    %d = tensor.extract_slice %dy[%t, 0] [1, 33] [1, 1] : tensor<60x33x$T> to tensor<33x$T>
    %s = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
        ins(%d : tensor<33x$T>) outs(%row : tensor<33xf32>) {
    ^bb0(%a: $T, %o: f32):
      $CAST
      %q = arith.addf %o, %x : f32
      linalg.yield %q : f32
    } -> tensor<33xf32>
    %n = tensor.insert_slice %s into %acc[%k, 0] [1, 33] [1, 1] : tensor<33xf32> into tensor<50x33xf32>
    scf.yield %n : tensor<50x33xf32>
  }
  return %r : tensor<50x33xf32>
}
// The same, shared out over blocks of columns.
func.func @scatter_columns(%g: tensor<50x33xf32> {act.role = #act.role<in_place, result = 0>}, %ids: tensor<60xi32>,
                           %dy: tensor<60x33x$T>) -> tensor<50x33xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c60 = arith.constant 60 : index
  %all = scf.forall (%j) = (0) to (33) step (11) shared_outs(%out = %g) -> tensor<50x33xf32> {
    %part = tensor.extract_slice %out[0, %j] [50, 11] [1, 1] : tensor<50x33xf32> to tensor<50x11xf32>
    %r = scf.for %t = %c0 to %c60 step %c1 iter_args(%acc = %part) -> tensor<50x11xf32> {
      %i = tensor.extract %ids[%t] : tensor<60xi32>
      %k = arith.index_cast %i : i32 to index
      %row = tensor.extract_slice %acc[%k, 0] [1, 11] [1, 1] : tensor<50x11xf32> to tensor<11xf32>
      %d = tensor.extract_slice %dy[%t, %j] [1, 11] [1, 1] : tensor<60x33x$T> to tensor<11x$T>
      %s = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
          ins(%d : tensor<11x$T>) outs(%row : tensor<11xf32>) {
      ^bb0(%a: $T, %o: f32):
        $CAST
        %q = arith.addf %o, %x : f32
        linalg.yield %q : f32
      } -> tensor<11xf32>
      %n = tensor.insert_slice %s into %acc[%k, 0] [1, 11] [1, 1] : tensor<11xf32> into tensor<50x11xf32>
      scf.yield %n : tensor<50x11xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %out[0, %j] [50, 11] [1, 1] : tensor<50x11xf32> into tensor<50x33xf32>
    }
  }
  return %all : tensor<50x33xf32>
}
)";

class Embedding : public testing::TestWithParam<std::string> {};

TEST_P(Embedding, GathersAndScatters) {
  std::string type = GetParam();
  auto runner = KernelRunner::create(format(
      kEmbedding, {{"$CAST", type == "f32" ? "%zz = arith.constant 0.0 : f32\n"
                                             "%x = arith.addf %a, %zz : f32"
                                           : "%x = arith.extf %a : $T to f32"},
                   {"$T", type}}));
  ASSERT_TRUE(runner);
  Operand table = Operand::random(type, 50 * 33, 1),
          ids = Operand::random("i32", 60, 2, 50),
          dy = Operand::random(type, 60 * 33, 3),
          g = Operand::random("f32", 50 * 33, 4);
  Call rows = call(*runner, "gather", {table, ids}, {Operand(type, 60 * 33)});
  expectClose(
      rows.results[0],
      [&](int64_t i) {
        return table.get(int64_t(ids.get(i / 33)) * 33 + i % 33);
      },
      0);
  Operand want = g;
  for (int64_t t = 0; t < 60; ++t)
    for (int64_t c = 0; c < 33; ++c) {
      int64_t at = int64_t(ids.get(t)) * 33 + c;
      want.set(at, float(want.get(at)) + float(dy.get(t * 33 + c)));
    }
  for (const char *name : {"scatter", "scatter_columns"}) {
    Call out = call(*runner, name, {g, ids, dy}, {});
    EXPECT_TRUE(out.operands[0] == want) << name;
  }
  EXPECT_EQ(runner->find("scatter")->grid, 1u);
  EXPECT_GE(runner->find("scatter_columns")->grid, 1u);
}

INSTANTIATE_TEST_SUITE_P(Host, Embedding, testing::Values("f32", "bf16"));

// Two halves rotated and put together again.
TEST(HostIndexed, RotaryHalves) {
  std::string text = R"(
#f = affine_map<(b, s, h, d) -> (b, s, h, d)>
#t = affine_map<(b, s, h, d) -> (s, d)>
func.func @rope(%x: tensor<2x9x3x20xf32>, %cos: tensor<9x10xf32>, %sin: tensor<9x10xf32>) -> tensor<2x9x3x20xf32> {
  %lo = tensor.extract_slice %x[0, 0, 0, 0] [2, 9, 3, 10] [1, 1, 1, 1] : tensor<2x9x3x20xf32> to tensor<2x9x3x10xf32>
  %hi = tensor.extract_slice %x[0, 0, 0, 10] [2, 9, 3, 10] [1, 1, 1, 1] : tensor<2x9x3x20xf32> to tensor<2x9x3x10xf32>
  %e = tensor.empty() : tensor<2x9x3x10xf32>
  %r:2 = linalg.generic {indexing_maps = [#f, #f, #t, #t, #f, #f], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%lo, %hi, %cos, %sin : tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<9x10xf32>, tensor<9x10xf32>)
      outs(%e, %e : tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %s: f32, %o0: f32, %o1: f32):
    %1 = arith.mulf %a, %c : f32
    %2 = arith.mulf %b, %s : f32
    %3 = arith.subf %1, %2 : f32
    %4 = arith.mulf %b, %c : f32
    %5 = arith.mulf %a, %s : f32
    %6 = arith.addf %4, %5 : f32
    linalg.yield %3, %6 : f32, f32
  } -> (tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>)
  %e4 = tensor.empty() : tensor<2x9x3x20xf32>
  %i0 = tensor.insert_slice %r#0 into %e4[0, 0, 0, 0] [2, 9, 3, 10] [1, 1, 1, 1] : tensor<2x9x3x10xf32> into tensor<2x9x3x20xf32>
  %i1 = tensor.insert_slice %r#1 into %i0[0, 0, 0, 10] [2, 9, 3, 10] [1, 1, 1, 1] : tensor<2x9x3x10xf32> into tensor<2x9x3x20xf32>
  return %i1 : tensor<2x9x3x20xf32>
}
// By a select on the index and a gather at the partner.
func.func @rope_gather(%x: tensor<2x9x3x20xf32>, %cos: tensor<9x10xf32>, %sin: tensor<9x10xf32>) -> tensor<2x9x3x20xf32> {
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %e = tensor.empty() : tensor<2x9x3x20xf32>
  %r = linalg.generic {indexing_maps = [#f, #f], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x9x3x20xf32>) outs(%e : tensor<2x9x3x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = linalg.index 0 : index
    %s = linalg.index 1 : index
    %h = linalg.index 2 : index
    %d = linalg.index 3 : index
    %low = arith.cmpi ult, %d, %c10 : index
    %up = arith.addi %d, %c10 : index
    %partner = arith.remui %up, %c20 : index
    %angle = arith.remui %d, %c10 : index
    %p = tensor.extract %x[%b, %s, %h, %partner] : tensor<2x9x3x20xf32>
    %cc = tensor.extract %cos[%s, %angle] : tensor<9x10xf32>
    %ss = tensor.extract %sin[%s, %angle] : tensor<9x10xf32>
    %1 = arith.mulf %a, %cc : f32
    %2 = arith.mulf %p, %ss : f32
    %3 = arith.subf %1, %2 : f32
    %4 = arith.addf %1, %2 : f32
    %5 = arith.select %low, %3, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<2x9x3x20xf32>
  return %r : tensor<2x9x3x20xf32>
})";
  auto runner = KernelRunner::create(text);
  ASSERT_TRUE(runner);
  Operand x = Operand::random("f32", 2 * 9 * 3 * 20, 1),
          cosine = Operand::random("f32", 90, 2),
          sine = Operand::random("f32", 90, 3);
  for (const char *name : {"rope", "rope_gather"}) {
    Call out =
        call(*runner, name, {x, cosine, sine}, {Operand("f32", x.size())});
    expectClose(
        out.results[0],
        [&](int64_t i) {
          int64_t d = i % 20, s = i / 60 % 9, a = s * 10 + d % 10;
          double partner = x.get(d < 10 ? i + 10 : i - 10);
          return x.get(i) * cosine.get(a) +
                 (d < 10 ? -1 : 1) * partner * sine.get(a);
        },
        1e-5, 0.1);
  }
}

// Per-row loss and log-sum-exp, the label's logit gathered, labels ignored.
TEST(HostIndexed, CrossEntropyRows) {
  std::string text = R"(
#rc = affine_map<(r, c) -> (r, c)>
#r = affine_map<(r, c) -> (r)>
#v = affine_map<(r) -> (r)>
func.func @loss(%x: tensor<37x65xbf16>, %labels: tensor<37xi32>) -> (tensor<37xf32>, tensor<37xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %ignore = arith.constant -100 : i32
  %c0 = arith.constant 0 : i32
  %e = tensor.empty() : tensor<37xf32>
  %f = linalg.fill ins(%ninf : f32) outs(%e : tensor<37xf32>) -> tensor<37xf32>
  %m = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<37x65xbf16>) outs(%f : tensor<37xf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %1 = arith.extf %a : bf16 to f32
    %2 = arith.maximumf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<37xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<37xf32>) -> tensor<37xf32>
  %sum = linalg.generic {indexing_maps = [#rc, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<37x65xbf16>, tensor<37xf32>) outs(%z : tensor<37xf32>) {
  ^bb0(%a: bf16, %b: f32, %acc: f32):
    %1 = arith.extf %a : bf16 to f32
    %2 = arith.subf %1, %b : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %acc, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<37xf32>
  %lse = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%m, %sum : tensor<37xf32>, tensor<37xf32>) outs(%e : tensor<37xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = math.log %b : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<37xf32>
  %loss = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%lse, %labels : tensor<37xf32>, tensor<37xi32>) outs(%e : tensor<37xf32>) {
  ^bb0(%a: f32, %label: i32, %o: f32):
    %ignored = arith.cmpi eq, %label, %ignore : i32
    %safe = arith.select %ignored, %c0, %label : i32
    %k = arith.index_cast %safe : i32 to index
    %row = linalg.index 0 : index
    %logit = tensor.extract %x[%row, %k] : tensor<37x65xbf16>
    %1 = arith.extf %logit : bf16 to f32
    %2 = arith.subf %a, %1 : f32
    %3 = arith.select %ignored, %zero, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<37xf32>
  return %loss, %lse : tensor<37xf32>, tensor<37xf32>
})";
  Operand x = Operand::random("bf16", 37 * 65, 1),
          labels = Operand::random("i32", 37, 2, 65);
  labels.set(5, -100);
  Call out = compileAndCall(text, "loss", {x, labels},
                            {Operand("f32", 37), Operand("f32", 37)});
  auto lse = [&](int64_t r) {
    double sum = 0;
    for (int64_t c = 0; c < 65; ++c)
      sum += std::exp(x.get(r * 65 + c));
    return std::log(sum);
  };
  expectClose(out.results[1], lse, 2e-6, 0.1);
  expectClose(
      out.results[0],
      [&](int64_t r) {
        return r == 5 ? 0 : lse(r) - x.get(r * 65 + int64_t(labels.get(r)));
      },
      2e-6, 1.0);
}

} // namespace
