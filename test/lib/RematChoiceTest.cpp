// SPDX-License-Identifier: Apache-2.0
//
// What to keep across a moment, and how to run a stack of layers, against brute
// force on small problems drawn at random.
#include "act/Remat/Bytes.h"
#include "act/Remat/Compose.h"
#include "act/Remat/Crossing.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace act::remat;

namespace {

CrossingGraph randomGraph(std::mt19937 &dice) {
  auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(dice);
  };
  CrossingGraph g;
  for (int i = draw(1, 2); i > 0; --i)
    g.values.push_back({draw(0, 9), -1, draw(0, 3) == 0});
  for (int m = 0, makers = draw(1, 9); m < makers; ++m) {
    CrossingGraph::Maker maker;
    maker.cost = draw(0, 9);
    for (int r = draw(1, 3); r > 0; --r)
      maker.reads.push_back(draw(0, int(g.values.size()) - 1));
    g.makers.push_back(maker);
    for (int v = draw(1, 2); v > 0; --v)
      g.values.push_back({draw(0, 9), m, draw(0, 1) == 0});
  }
  return g;
}

struct Point {
  int64_t bytes, cost;
};

/// Every choice of what runs again.
std::vector<Point> everything(const CrossingGraph &g) {
  std::vector<Point> points;
  for (unsigned set = 0; set < 1u << g.makers.size(); ++set) {
    std::vector<char> needed(g.values.size());
    for (size_t v = 0; v < g.values.size(); ++v)
      needed[v] = g.values[v].needed;
    Point p{0, 0};
    for (size_t m = 0; m < g.makers.size(); ++m)
      if (set >> m & 1) {
        p.cost += g.makers[m].cost;
        for (int32_t v : g.makers[m].reads)
          needed[v] = true;
      }
    for (size_t v = 0; v < g.values.size(); ++v) {
      int32_t m = g.values[v].maker;
      if (needed[v] && (m < 0 || !(set >> m & 1)))
        p.bytes += g.values[v].bytes;
    }
    points.push_back(p);
  }
  return points;
}

TEST(Crossing, CornersAreThoseOfAllChoices) {
  std::mt19937 dice(1);
  for (int round = 0; round < 2000; ++round) {
    CrossingGraph g = randomGraph(dice);
    ASSERT_TRUE(g.check());
    auto points = everything(g);
    auto corners = frontier(g);
    ASSERT_FALSE(corners.empty());
    EXPECT_EQ(corners.front().cost, 0);
    for (size_t i = 0; i < corners.size(); ++i) {
      // It is one of the choices,
      EXPECT_TRUE(std::any_of(points.begin(), points.end(), [&](Point p) {
        return p.bytes == corners[i].bytes && p.cost == corners[i].cost;
      }));
      // and nothing lies below the line to the next.
      if (i + 1 == corners.size())
        break;
      const Crossing &a = corners[i], &b = corners[i + 1];
      ASSERT_LT(b.bytes, a.bytes);
      for (Point p : points)
        EXPECT_GE((p.cost - a.cost) * (a.bytes - b.bytes) +
                      (p.bytes - a.bytes) * (b.cost - a.cost),
                  0);
    }
    for (Point p : points) {
      EXPECT_GE(p.bytes, corners.back().bytes);
      if (p.bytes == corners.back().bytes)
        EXPECT_GE(p.cost, corners.back().cost);
    }
  }
}

TEST(Crossing, NoChoiceOfSoManyBytesCostsLess) {
  std::mt19937 dice(2);
  for (int round = 0; round < 1000; ++round) {
    CrossingGraph g = randomGraph(dice);
    auto points = everything(g);
    for (int64_t bytes = 0; bytes < 60; bytes += 3) {
      int64_t best = std::numeric_limits<int64_t>::max();
      for (Point p : points)
        if (p.bytes <= bytes)
          best = std::min(best, p.cost);
      auto bound = leastCost(g, bytes);
      ASSERT_EQ(bound.has_value(), best != std::numeric_limits<int64_t>::max());
      if (bound)
        EXPECT_LE(*bound, best);
    }
  }
}

TEST(Crossing, RefusesWhatIsNoGraph) {
  CrossingGraph g;
  g.values.push_back({4, 0, true});
  EXPECT_FALSE(g.check()); // no maker 0
  g.makers.push_back({1, {0}});
  EXPECT_FALSE(g.check()); // reads what it makes
  g.makers[0].reads.clear();
  EXPECT_TRUE(g.check());
  g.values[0].bytes = -1;
  EXPECT_FALSE(g.check());
}

StackProblem randomStack(std::mt19937 &dice) {
  auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(dice);
  };
  StackProblem p;
  p.apart = draw(0, 6);
  for (int c = draw(1, 2); c > 0; --c) {
    LayerChain chain;
    chain.layers = draw(1, 4);
    chain.behind = draw(0, 9);
    for (int k = draw(1, 3); k > 0; --k) {
      UnitChoice u;
      u.cost = draw(0, 20);
      u.saved = draw(0, 8);
      u.working = u.saved + draw(0, 9);
      u.layers = k > 1 && draw(0, 3) == 0 ? 2 : 1;
      chain.choices.push_back(u);
    }
    p.chains.push_back(chain);
  }
  return p;
}

/// Every sequence of units, in any order: (peak, cost).
std::vector<Point> everyStack(const StackProblem &p) {
  std::vector<Point> points;
  std::function<void(size_t, int64_t, int64_t, int64_t, int64_t)> go =
      [&](size_t c, int64_t layers, int64_t saved, int64_t peak, int64_t cost) {
        if (c == p.chains.size()) {
          points.push_back({peak, cost});
          return;
        }
        const LayerChain &chain = p.chains[c];
        if (layers == chain.layers)
          return go(c + 1, 0, saved, std::max(peak, saved + chain.behind),
                    cost);
        for (const UnitChoice &u : chain.choices)
          if (layers + u.layers <= chain.layers)
            go(c, layers + u.layers, saved + u.saved,
               std::max(peak, saved + u.working), cost + u.cost);
      };
  go(0, 0, 0, p.apart, 0);
  return points;
}

TEST(Compose, FindsTheCheapestOfAllSequences) {
  std::mt19937 dice(3);
  for (int round = 0; round < 3000; ++round) {
    StackProblem p = randomStack(dice);
    auto points = everyStack(p);
    int64_t least = leastBudget(p);
    if (points.empty()) {
      EXPECT_EQ(least, -1);
      continue;
    }
    int64_t smallest = std::numeric_limits<int64_t>::max();
    for (Point q : points)
      smallest = std::min(smallest, q.bytes);
    EXPECT_EQ(least, smallest);
    int64_t before = std::numeric_limits<int64_t>::max();
    for (int64_t budget = smallest - 1; budget < smallest + 40; budget += 3) {
      int64_t best = std::numeric_limits<int64_t>::max();
      for (Point q : points)
        if (q.bytes <= budget)
          best = std::min(best, q.cost);
      Stack s = compose(p, budget);
      ASSERT_EQ(s.found, budget >= smallest);
      ASSERT_TRUE(s.complete);
      if (!s.found)
        continue;
      EXPECT_EQ(s.cost, best);
      EXPECT_LE(s.peak, budget);
      EXPECT_EQ(s.peak, peakOf(p, s));
      EXPECT_LE(s.cost, before);
      before = s.cost;
    }
  }
}

TEST(Compose, SaysWhenItGaveUp) {
  // Many sums, and room for two of them.
  StackProblem p;
  LayerChain chain;
  chain.layers = 60;
  for (int k = 0; k < 8; ++k)
    chain.choices.push_back(
        {1000 * k * k + 7 * k, 5000 - 611 * k, 6000 + 13 * k, 1});
  p.chains.push_back(chain);
  Stack exact = compose(p, 200000), hasty = compose(p, 200000, 2);
  ASSERT_TRUE(exact.found && hasty.found);
  EXPECT_TRUE(exact.complete);
  EXPECT_FALSE(hasty.complete);
  EXPECT_LE(exact.cost, hasty.cost);
  EXPECT_LE(hasty.peak, 200000);
}

TEST(Bytes, ReadsWhatPeopleWrite) {
  auto bytes = [](const char *text) {
    auto r = parseBytes(text);
    return r ? *r : -1;
  };
  EXPECT_EQ(bytes("24GB"), 24'000'000'000);
  EXPECT_EQ(bytes("24GiB"), int64_t(24) << 30);
  EXPECT_EQ(bytes("1.5MiB"), 3 << 19);
  EXPECT_EQ(bytes("0.3GB"), 300'000'000);
  EXPECT_EQ(bytes("1234567"), 1234567);
  for (const char *bad : {"", "GB", "-1GB", "24 GB", "24gb", "1e400", "nan",
                          "inf", "5EiB", "8e18"})
    EXPECT_EQ(bytes(bad), -1) << bad;
}

} // namespace
