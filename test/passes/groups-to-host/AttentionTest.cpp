// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/AttentionKernel.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act::test;

namespace {

class Attention : public testing::TestWithParam<AttentionShape> {};

TEST_P(Attention, AgreesWithSoftmaxOfAllScores) {
  AttentionShape a = GetParam();
  auto runner = KernelRunner::create(attentionKernel(a));
  ASSERT_TRUE(runner);
  EXPECT_GE(runner->find("attention")->grid,
            uint64_t(a.batch * a.heads * ((a.sequence + 63) / 64)));
  int64_t rows = a.batch * a.sequence;
  Operand q = Operand::random("f32", rows * a.heads * a.dim, 1),
          k = Operand::random("f32", rows * a.keyHeads * a.dim, 2),
          v = Operand::random("f32", rows * a.keyHeads * a.dim, 3);
  Call out = call(*runner, "attention", {q, k, v},
                  {Operand("f32", q.size()), Operand("f32", rows * a.heads)});
  int64_t group = a.heads / a.keyHeads;
  std::vector<double> want(q.size()), lse(rows * a.heads);
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.sequence; ++i) {
        auto key = [&](int64_t j) {
          return ((b * a.sequence + j) * a.keyHeads + h / group) * a.dim;
        };
        int64_t query = ((b * a.sequence + i) * a.heads + h) * a.dim;
        std::vector<double> weight(i + 1);
        double sum = 0;
        for (int64_t j = 0; j <= i; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < a.dim; ++d)
            dot += q.get(query + d) * k.get(key(j) + d);
          sum += weight[j] = std::exp(dot * attentionScale(a));
        }
        for (int64_t j = 0; j <= i; ++j)
          for (int64_t d = 0; d < a.dim; ++d)
            want[query + d] += weight[j] / sum * v.get(key(j) + d);
        lse[(b * a.heads + h) * a.sequence + i] = std::log(sum);
      }
  expectClose(out.results[0], [&](int64_t i) { return want[i]; }, 1e-5, 0.1);
  expectClose(out.results[1], [&](int64_t i) { return lse[i]; }, 1e-5, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Host, Attention,
                         testing::Values(AttentionShape{2, 128, 3, 3, 64},
                                         AttentionShape{1, 192, 4, 2, 32},
                                         AttentionShape{1, 100, 2, 1, 24},
                                         AttentionShape{2, 17, 2, 2, 8}));

} // namespace
