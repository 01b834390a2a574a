// SPDX-License-Identifier: Apache-2.0
//
// The solver against brute force, and everything it returns against the
// checker.
#include "act/Remat/Evaluator.h"
#include "act/Remat/LowerBound.h"
#include "act/Remat/Solver.h"
#include "test/lib/RematOracle.h"
#include <gtest/gtest.h>

using namespace act::remat;
using namespace act::remat::test;

namespace {

int64_t basePeak(const Graph &graph) {
  return evaluate(graph, withoutRecomputation(graph))->peakBytes;
}

// The graph of Graph.h.
Graph example() {
  Graph g;
  g.nodes.resize(5);
  const int64_t bytes[] = {4, 1, 3, 1, 1};
  for (int32_t i = 0; i < 5; ++i) {
    g.nodes[i].bytes = bytes[i];
    g.nodes[i].cost = 10;
    if (i > 0)
      g.nodes[i].inputs = {i - 1};
  }
  g.nodes[4].inputs = {0, 3};
  return g;
}

TEST(RematEvaluator, CountsTheExample) {
  auto base = evaluate(example(), {0, 1, 2, 3, 4});
  ASSERT_TRUE(base);
  EXPECT_EQ(base->peakBytes, 8);
  EXPECT_EQ(base->peakStep, 2);
  EXPECT_EQ(base->extraCost, 0);
  auto again = evaluate(example(), {0, 1, 2, 3, 0, 4});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->peakBytes, 6);
  EXPECT_EQ(again->peakStep, 5);
  EXPECT_EQ(again->extraCost, 10);
  EXPECT_DOUBLE_EQ(again->extraPercent, 20);
}

TEST(RematEvaluator, NamesTheStepThatIsWrong) {
  auto message = [](const Graph &g, std::vector<int32_t> steps) {
    auto m = evaluate(g, steps);
    return m ? "accepted" : m.error().str();
  };
  EXPECT_EQ(message(example(), {0, 2}),
            "step 1: expected a node from 0 to 1, found 2");
  EXPECT_EQ(message(example(), {0, 1, -1}),
            "step 2: expected a node from 0 to 2, found -1");
  EXPECT_EQ(message(example(), {0, 1, 2, 3}),
            "step 4: node 4 is never computed");
  EXPECT_EQ(message(example(), {0, 1, 2, 3, 4, 5}),
            "step 5: expected a node from 0 to 5, found 5");
  Graph pinned = example();
  pinned.nodes[0].pinned = true;
  EXPECT_EQ(message(pinned, {0, 1, 2, 3, 0, 4}),
            "step 4: computes the pinned node 0 again");
}

TEST(RematEvaluator, ViewsKeepWhatTheyLookAt) {
  Graph g = example();
  g.nodes[1].viewOf = 0;
  g.nodes[1].bytes = 0;
  // 2 reads 1, and so 0.
  EXPECT_EQ(evaluate(g, {0, 1, 2, 3, 0, 4})->peakBytes, 7);
}

TEST(RematSolver, SolvesTheExample) {
  auto a = solve(example(), 6);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->outcome, Outcome::Optimal);
  EXPECT_EQ(a->schedule, (std::vector<int32_t>{0, 1, 2, 3, 0, 4}));
  EXPECT_EQ(a->lowerBound, 10);
  a = solve(example(), 5);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->outcome, Outcome::Impossible);
  EXPECT_EQ(a->peakBytes, 6);
}

void compare(const Graph &g, int64_t budget) {
  const int64_t optimum = leastCost(g, budget);
  auto a = solve(g, budget);
  ASSERT_TRUE(a) << a.error().str();
  auto m = evaluate(g, a->schedule);
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ(m->peakBytes, a->peakBytes);
  EXPECT_EQ(m->extraCost, a->extraCost);
  if (optimum == never) {
    EXPECT_EQ(a->outcome, Outcome::Impossible);
    EXPECT_GT(a->peakBytes, budget);
  } else {
    EXPECT_EQ(a->outcome, Outcome::Optimal);
    EXPECT_LE(a->peakBytes, budget);
    EXPECT_EQ(a->extraCost, optimum);
    EXPECT_LE(a->lowerBound, optimum);
  }
}

TEST(RematSolver, EqualsBruteForceOnRandomGraphs) {
  RandomGraphs r;
  for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
    Graph g = r.any(3 + r.below(7), i % 2);
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    SCOPED_TRACE("graph " + std::to_string(i));
    compare(g, least + r.below(most - least + 1));
  }
}

TEST(RematSolver, EqualsBruteForceOnTrainingGraphs) {
  RandomGraphs r;
  for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i) {
    Graph g = r.training(2 + r.below(4));
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    SCOPED_TRACE("graph " + std::to_string(i));
    compare(g, least + r.below(most - least + 1));
  }
}

} // namespace
