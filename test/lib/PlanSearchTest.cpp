// SPDX-License-Identifier: Apache-2.0
//
// The planner's searches against exhaustion: on tiny problems every offset of
// every buffer is tried, which knows nothing of sections, skylines or demands.
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "lib/Plan/SkylineSearch.h"
#include "lib/Plan/WindowSearch.h"
#include "test/Samples.h"
#include <gtest/gtest.h>
#include <random>

using namespace act;
using namespace act::plan;

namespace {

bool uses(const Buffer &b, int64_t at, int64_t time, int64_t byte) {
  for (const Gap &g : b.gaps)
    if (g.first <= time && time < g.last)
      return at + g.low <= byte && byte < at + g.high;
  return b.first <= time && time < b.last && at <= byte && byte < at + b.bytes;
}

/// Byte by byte, moment by moment.
bool clash(const Buffer &x, int64_t atX, const Buffer &y, int64_t atY) {
  for (int64_t time = std::max(x.first, y.first);
       time < std::min(x.last, y.last); ++time)
    for (int64_t byte = atX; byte < atX + x.bytes; ++byte)
      if (uses(x, atX, time, byte) && uses(y, atY, time, byte))
        return true;
  return false;
}

bool placeable(const Problem &p, int64_t capacity,
               std::vector<int64_t> &offsets) {
  size_t k = offsets.size();
  if (k == p.buffers.size())
    return true;
  const Buffer &b = p.buffers[k];
  for (int64_t at = b.offset.value_or(0); at + b.bytes <= capacity;
       at = b.offset ? capacity + 1 : at + b.alignment) {
    bool free = true;
    for (size_t i = 0; i < k && free; ++i)
      free = !clash(p.buffers[i], offsets[i], b, at);
    if (!free)
      continue;
    offsets.push_back(at);
    if (placeable(p, capacity, offsets))
      return true;
    offsets.pop_back();
  }
  return false;
}

int64_t lowestArena(const Problem &p) {
  int64_t capacity = 0; // nothing below what is alive at once has to be tried
  for (int64_t time = 0; time < 20; ++time) {
    int64_t live = 0;
    for (const Buffer &b : p.buffers)
      for (int64_t byte = 0; byte < b.bytes; ++byte)
        live += uses(b, 0, time, byte);
    capacity = std::max(capacity, live);
  }
  for (;; ++capacity) {
    std::vector<int64_t> offsets;
    if (placeable(p, capacity, offsets))
      return capacity;
  }
}

enum Features { Plain = 0, Aligned = 1, Gapped = 2, Windowed = 4, Fixed = 8 };

/// Fixes some buffers where they do not meet those that are fixed before them.
void fixSome(std::mt19937 &random, Problem &p) {
  for (Buffer &b : p.buffers) {
    if (random() % 3 != 0)
      continue;
    const int64_t at = int64_t(random() % 6) * b.alignment;
    if (std::none_of(p.buffers.begin(), p.buffers.end(), [&](const Buffer &o) {
          return o.offset && clash(o, *o.offset, b, at);
        }))
      b.offset = at;
  }
}

Problem tiny(std::mt19937 &random, int features, int buffers = 6) {
  Problem p;
  for (int i = 0; i < buffers; ++i) {
    int64_t first = random() % buffers;
    Buffer b{"t" + std::to_string(i), int64_t(random() % 5), first,
             first + 1 + int64_t(random() % (buffers - 2))};
    if (features & Aligned)
      b.alignment = 1 + random() % 3;
    if ((features & (Gapped | Windowed)) && b.last - b.first > 1 &&
        random() % 2) {
      Gap g;
      g.first = b.first + random() % (b.last - b.first);
      g.last = g.first + 1 + random() % (b.last - g.first);
      if ((features & Windowed) && b.bytes > 0) {
        g.low = random() % b.bytes;
        g.high = g.low + random() % (b.bytes - g.low + 1);
      }
      b.gaps.push_back(g);
    }
    p.buffers.push_back(b);
  }
  if (features & Fixed)
    fixSome(random, p);
  return p;
}

/// Always `load` bytes alive: what dies makes room for others of other sizes.
/// Mostly these cannot be stacked without a hole.
Problem churn(std::mt19937 &random, int64_t load, int steps) {
  Problem p;
  std::vector<size_t> alive;
  int64_t free = load;
  for (int64_t time = 0; time < steps; ++time) {
    while (free > 0) {
      int64_t bytes = std::min<int64_t>(free, 1 + random() % 5);
      alive.push_back(p.buffers.size());
      p.buffers.push_back({std::to_string(alive.back()), bytes, time, steps});
      free -= bytes;
    }
    for (int k = 0; k < 2; ++k) {
      size_t at = random() % alive.size();
      Buffer &b = p.buffers[alive[at]];
      b.last = time + 1;
      free += b.bytes;
      alive.erase(alive.begin() + at);
    }
  }
  return p;
}

template <typename Search>
void agrees(const Problem &p, const Sections &sections, int64_t lowest) {
  Search search(sections);
  ASSERT_EQ(search.run(lowest, 1'000'000), Outcome::Found);
  Plan plan;
  sections.finish(search.offsets(), plan);
  EXPECT_LE(plan.arenaBytes, lowest);
  auto verdict = validate(p, plan);
  EXPECT_TRUE(bool(verdict)) << verdict.error().str();
  if (lowest > 0)
    EXPECT_EQ(search.run(lowest - 1, 1'000'000), Outcome::Impossible);
}

/// The searches, solve() and fit() on one problem. Returns whether its lowest
/// arena is above the bound.
bool compare(const Problem &p) {
  int64_t lowest = lowestArena(p);
  Sections sections(p);
  if (!sections.windowed())
    agrees<SkylineSearch>(p, sections, lowest);
  // The search for windows is right for all, but slow.
  if (p.buffers.size() <= 10)
    agrees<WindowSearch>(p, sections, lowest);
  auto plan = solve(p);
  EXPECT_TRUE(bool(plan)) << plan.error().str();
  EXPECT_TRUE(bool(validate(p, *plan)));
  EXPECT_EQ(plan->arenaBytes, lowest);
  EXPECT_EQ(plan->provenBytes, lowest);
  auto fitting = fit(p, lowest);
  EXPECT_TRUE(bool(fitting)) << fitting.error().str();
  EXPECT_LE(fitting->arenaBytes, lowest);
  EXPECT_TRUE(bool(validate(p, *fitting)));
  if (lowest > 0) {
    auto none = fit(p, lowest - 1);
    EXPECT_FALSE(bool(none));
    EXPECT_EQ(none.error().message.find("no plan fits in "), 0u);
  }
  return lowest > p.lowerBound();
}

void compare(int features, int problems, unsigned seed, int buffers = 6) {
  std::mt19937 random(seed);
  for (int i = 0; i < samples(problems) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("problem " + std::to_string(i));
    compare(tiny(random, features, buffers));
  }
}

TEST(PlanSearch, IsExactWhereTheBoundIsOutOfReach) {
  std::mt19937 random(10);
  int above = 0;
  for (int i = 0; i < samples(500) && !HasFailure(); ++i) {
    SCOPED_TRACE("problem " + std::to_string(i));
    above += compare(churn(random, 10 + i % 4, 9 + i % 3));
  }
  EXPECT_GT(above, samples(20));
}
TEST(PlanSearch, IsExactOnPlainProblems) { compare(Plain, 2000, 1); }
TEST(PlanSearch, IsExactWithAlignments) { compare(Aligned, 1500, 2); }
TEST(PlanSearch, IsExactWithGaps) { compare(Gapped, 2000, 3); }
TEST(PlanSearch, IsExactWithGapsAndAlignments) {
  compare(Gapped | Aligned, 1500, 4);
}
TEST(PlanSearch, IsExactWithWindows) { compare(Windowed, 1500, 5); }
TEST(PlanSearch, IsExactWithWindowsAndAlignments) {
  compare(Windowed | Aligned, 1500, 6);
}

TEST(PlanSearch, IsExactWithFixedOffsets) { compare(Fixed, 300, 21); }
TEST(PlanSearch, IsExactWithFixedOffsetsAndAlignments) {
  compare(Fixed | Aligned, 300, 22);
}
TEST(PlanSearch, IsExactWithFixedOffsetsAndGaps) {
  compare(Fixed | Gapped | Aligned, 300, 23);
}
TEST(PlanSearch, IsExactWithFixedOffsetsAndWindows) {
  compare(Fixed | Windowed | Aligned, 300, 24, 5);
}

/// The oracle and the validator are two spellings of one definition.
TEST(PlanSearch, ValidatorSaysWhatTheOracleSays) {
  std::mt19937 random(7);
  int clean = 0;
  for (int i = 0; i < 5000; ++i) {
    Problem p = tiny(random, Gapped | Windowed | Aligned, 4);
    Plan plan;
    plan.arenaBytes = 40;
    for (const Buffer &b : p.buffers)
      plan.offsets.push_back(int64_t(random() % 12) / b.alignment *
                             b.alignment);
    bool expected = true;
    for (size_t x = 0; x < 4; ++x)
      for (size_t y = 0; y < x; ++y)
        expected &= !clash(p.buffers[x], plan.offsets[x], p.buffers[y],
                           plan.offsets[y]);
    clean += expected;
    ASSERT_EQ(bool(validate(p, plan)), expected) << i;
  }
  EXPECT_GT(clean, 500);
  EXPECT_LT(clean, 4500);
}

/// Rectangles that a cut-up rectangle consists of fill it without a hole.
class Puzzle {
public:
  Puzzle(std::mt19937 &random, int64_t time, int64_t bytes, int cuts)
      : random(random) {
    cut(0, time, 0, bytes, cuts);
  }
  Problem problem;
  std::vector<int64_t> offsets; // of its pieces before it was taken apart

private:
  void cut(int64_t t0, int64_t t1, int64_t b0, int64_t b1, int cuts) {
    bool tall = random() % 2;
    if (cuts == 0 || (tall ? b1 - b0 : t1 - t0) < 2) {
      problem.buffers.push_back(
          {std::to_string(problem.buffers.size()), b1 - b0, t0, t1});
      offsets.push_back(b0);
      return;
    }
    if (tall) {
      int64_t at = b0 + 1 + random() % (b1 - b0 - 1);
      cut(t0, t1, b0, at, cuts - 1);
      cut(t0, t1, at, b1, cuts - 1);
    } else {
      int64_t at = t0 + 1 + random() % (t1 - t0 - 1);
      cut(t0, at, b0, b1, cuts - 1);
      cut(at, t1, b0, b1, cuts - 1);
    }
  }
  std::mt19937 &random;
};

TEST(PlanSearch, SolvesPuzzlesWithoutAHole) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    Puzzle puzzle(random, 60, 997, 3 + i % 4);
    if (i % 2) // some pieces are where they belong
      for (size_t k = 0; k < puzzle.offsets.size(); k += 3)
        puzzle.problem.buffers[k].offset = puzzle.offsets[k];
    std::shuffle(puzzle.problem.buffers.begin(), puzzle.problem.buffers.end(),
                 random);
    SolverOptions options;
    options.nodes = 2'000'000;
    auto plan = fit(puzzle.problem, 997, options);
    ASSERT_TRUE(bool(plan)) << i << ": " << plan.error().str();
    EXPECT_TRUE(bool(validate(puzzle.problem, *plan)));
  }
}

TEST(PlanSearch, SaysWhyNothingFits) {
  Problem p{{{"a", 4, 0, 3}, {"b", 5, 2, 4}}};
  auto plan = fit(p, 8);
  ASSERT_FALSE(bool(plan));
  EXPECT_EQ(plan.error().message,
            "no plan fits in 8 bytes: 9 bytes are live at 2");
  // A whole buffer has to be inside, though most of it is never used.
  Problem q{{{"a", 9, 0, 3, 1, {{0, 3, 2, 4}}}}};
  plan = fit(q, 8);
  ASSERT_FALSE(bool(plan));
  EXPECT_EQ(plan.error().message,
            "no plan fits in 8 bytes: buffer 'a' has 9 bytes");
}

TEST(PlanSearch, MeetsHintsThatCostNothing) {
  Problem p{{{"a", 4, 0, 3}, {"b", 4, 1, 4}, {"c", 4, 2, 5}}};
  p.buffers[0].hint = 8;
  p.buffers[2].hint = 4;
  auto plan = solve(p);
  ASSERT_TRUE(bool(plan));
  EXPECT_EQ(plan->offsets, (std::vector<int64_t>{8, 0, 4}));
  auto verdict = validate(p, *plan);
  ASSERT_TRUE(bool(verdict));
  EXPECT_EQ(verdict->hints, 2);
  EXPECT_EQ(verdict->hintsMet, 2);
  // Both cannot be at 2 without a hole: the height comes first.
  p.buffers[0].hint = p.buffers[2].hint = 2;
  plan = solve(p);
  ASSERT_TRUE(bool(plan));
  EXPECT_EQ(plan->arenaBytes, 12);
  EXPECT_TRUE(bool(validate(p, *plan)));
}

TEST(PlanSearch, TheSameOnEveryRun) {
  std::mt19937 random(9);
  Puzzle puzzle(random, 60, 997, 6);
  auto a = fit(puzzle.problem, 997), b = fit(puzzle.problem, 997);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->offsets, b->offsets);
  EXPECT_EQ(a->nodes, b->nodes);
}

} // namespace
