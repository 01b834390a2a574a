// SPDX-License-Identifier: Apache-2.0
//
// The solver against brute force, and everything it returns against the
// checker.
#include "act/Remat/Evaluator.h"
#include "act/Remat/LowerBound.h"
#include "act/Remat/Solver.h"
#include "act/Remat/TextFormat.h"
#include "test/Samples.h"
#include "test/lib/RematOracle.h"
#include <gtest/gtest.h>

// Cbc forgets some of its cuts; what is lost there is not for us to mend.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:libOsi.so\nleak:libCgl.so\nleak:libCbc.so\n"
         "leak:libCbcSolver.so\n";
}

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
  for (int i = 0; i < samples(2000) && !testing::Test::HasFailure(); ++i) {
    Graph g = r.any(3 + r.below(7), i % 2);
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    SCOPED_TRACE("graph " + std::to_string(i));
    compare(g, least + r.below(most - least + 1));
  }
}

// With next to no effort the answer is not optimal, and says so.
TEST(RematSolver, BoundsAreBelowAndSchedulesAboveTheOptimum) {
  RandomGraphs r;
  int unfinished = 0;
  for (int i = 0; i < samples(500); ++i) {
    Graph g = r.any(9, i % 2);
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    const int64_t budget = least + r.below(most - least + 1);
    SolverOptions options;
    options.effort = i % 3 ? 1e-4 : 0;
    auto a = solve(g, budget, options);
    ASSERT_TRUE(a);
    auto m = evaluate(g, a->schedule);
    ASSERT_TRUE(m) << m.error().str();
    EXPECT_EQ(m->peakBytes, a->peakBytes);
    EXPECT_EQ(m->extraCost, a->extraCost);
    const int64_t optimum = leastCost(g, budget);
    if (a->outcome == Outcome::Optimal || a->outcome == Outcome::Feasible) {
      EXPECT_LE(m->peakBytes, budget);
      EXPECT_LE(a->lowerBound, optimum);
      EXPECT_GE(a->extraCost, optimum);
    }
    EXPECT_TRUE(a->outcome != Outcome::Optimal || a->extraCost == optimum);
    EXPECT_TRUE(a->outcome != Outcome::Impossible || optimum == never);
    unfinished += a->outcome == Outcome::Feasible;
  }
  EXPECT_GT(unfinished, 0);
}

// What is said to be the least is: one byte less is impossible.
TEST(RematSolver, FindsTheSmallestBudget) {
  RandomGraphs r;
  for (int i = 0; i < samples(300); ++i) {
    Graph g = r.any(8, i % 2);
    auto a = solve(g, 0);
    ASSERT_TRUE(a);
    if (basePeak(g) == 0)
      continue;
    ASSERT_EQ(a->outcome, Outcome::Impossible);
    EXPECT_EQ(a->peakBytes, a->leastPeak) << "graph " << i;
    EXPECT_NE(leastCost(g, a->peakBytes), never) << "graph " << i;
    EXPECT_EQ(leastCost(g, a->peakBytes - 1), never) << "graph " << i;
  }
}

// Sizes and costs may have any scale.
TEST(RematSolver, DoesNotMindLargeNumbers) {
  RandomGraphs r;
  for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
    Graph g = r.any(8, i % 2);
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    const int64_t budget = least + r.below(most - least + 1);
    for (Node &n : g.nodes) {
      n.bytes *= 1'000'000'007;
      n.workspace *= 1'000'000'007;
      n.cost *= 10'000'000'000'019;
    }
    SCOPED_TRACE("graph " + std::to_string(i));
    compare(g, budget * 1'000'000'007);
  }
}

TEST(RematSolver, GivesTheSameAnswerTwice) {
  RandomGraphs r;
  for (int i = 0; i < samples(20); ++i) {
    Graph g = r.training(20);
    auto a = solve(g, basePeak(g) / 2), b = solve(g, basePeak(g) / 2);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->schedule, b->schedule);
    EXPECT_EQ(a->lowerBound, b->lowerBound);
  }
}

// The same cost or more under a smaller budget.
TEST(RematSolver, CostsFallAsTheBudgetGrows) {
  RandomGraphs r;
  for (int i = 0; i < samples(4); ++i) {
    Graph g = r.training(10);
    int64_t before = never;
    for (int64_t budget = leastPeak(g); budget <= basePeak(g); budget += 3) {
      auto a = solve(g, budget);
      ASSERT_TRUE(a);
      if (a->outcome != Outcome::Optimal)
        continue;
      EXPECT_LE(a->extraCost, before);
      before = a->extraCost;
    }
    EXPECT_NE(before, never);
  }
}

// Whenever it is stopped: what it calls optimal, a bound or impossible is.
TEST(RematSolver, OutOfTimeNothingIsProvenThatIsNotSo) {
  RandomGraphs r;
  int stopped = 0;
  for (int i = 0; i < 6; ++i) {
    Graph g = r.training(30 + 4 * i);
    const int64_t budget = basePeak(g) * (60 + 5 * (i % 3)) / 100;
    const std::clock_t start = std::clock();
    auto whole = solve(g, budget);
    const double needed = double(std::clock() - start) / CLOCKS_PER_SEC;
    ASSERT_TRUE(whole);
    if (whole->outcome != Outcome::Optimal)
      continue;
    const int parts = samples(48);
    for (int part = 1; part <= parts; ++part) {
      SolverOptions options;
      options.seconds = needed * 1.2 * part / parts;
      auto a = solve(g, budget, options);
      ASSERT_TRUE(a);
      EXPECT_NE(a->outcome, Outcome::Impossible);
      EXPECT_LE(a->lowerBound, whole->extraCost);
      if (a->outcome == Outcome::Optimal)
        EXPECT_EQ(a->extraCost, whole->extraCost);
      else
        ++stopped;
    }
  }
  EXPECT_GT(stopped, 0);
}

TEST(RematSolver, RefusesWhatIsNoProblem) {
  EXPECT_EQ(solve(example(), -1).error().str(),
            "budget: expected at least 0 bytes, found -1");
  EXPECT_EQ(solve(Graph{}, 1).error().str(),
            "graph: expected at least one node, found none");
  Graph g = example();
  g.nodes[2].inputs = {2};
  EXPECT_EQ(solve(g, 1).error().str(), "node 2: expected inputs with numbers "
                                       "from 0 to below 2, found 2");
  g = example();
  g.nodes[2].cost = -1;
  EXPECT_EQ(solve(g, 1).error().str(), "node 2: expected bytes, cost and "
                                       "workspace from 0, found 3, -1 and 0");
}

TEST(RematText, ReadsWhatItWrites) {
  RandomGraphs r;
  for (int i = 0; i < 100; ++i) {
    Graph g = r.any(12, false);
    auto text = writeText(g);
    ASSERT_TRUE(text);
    auto back = readText(*text);
    ASSERT_TRUE(back) << back.error().str();
    EXPECT_EQ(*writeText(*back), *text);
  }
}

TEST(RematText, SurvivesDamage) {
  RandomGraphs r;
  const std::string whole = *writeText(example());
  int bad = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int k = r.below(3); k >= 0; --k)
      text[r.below(static_cast<int32_t>(text.size()))] =
          "0123456789 -\n\rx"[r.below(15)];
    if (r.below(4) == 0)
      text.resize(r.below(static_cast<int32_t>(text.size())));
    auto g = readText(text, "f");
    bad += !g;
    if (!g) {
      EXPECT_EQ(g.error().where.rfind("f", 0), 0u) << g.error().str();
    } else {
      EXPECT_TRUE(g->check());
    }
  }
  EXPECT_GT(bad, 1000);
}

TEST(RematSolver, EqualsBruteForceOnTrainingGraphs) {
  RandomGraphs r;
  for (int i = 0; i < samples(1000) && !testing::Test::HasFailure(); ++i) {
    Graph g = r.training(2 + r.below(4));
    const auto least = static_cast<int32_t>(leastPeak(g));
    const auto most = static_cast<int32_t>(basePeak(g));
    SCOPED_TRACE("graph " + std::to_string(i));
    compare(g, least + r.below(most - least + 1));
  }
}

} // namespace
