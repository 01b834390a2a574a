// SPDX-License-Identifier: Apache-2.0
// Launches that became one, run in the wrong order on memory that is reused.
#include "passes/emit/JoinLaunches.h"
#include "lib/Artifact/ValidatePlan.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace act;
using artifact::Function;
using artifact::Launch;
using artifact::Operand;
using artifact::Space;

namespace {

Operand arena(uint64_t offset, uint64_t bytes, bool written) {
  Operand o;
  o.offset = offset;
  o.bytes = bytes;
  o.written = written;
  return o;
}

Operand gradient(uint32_t index) {
  Operand o;
  o.space = Space::State;
  o.index = index;
  o.bytes = 4;
  o.written = true;
  return o;
}

/// A program of values that live until their last reader, each at the first
/// offset that is free; some launches add to a gradient.
Function drawn(std::mt19937 &random, unsigned count, unsigned kinds) {
  struct Value {
    uint64_t offset, bytes;
    uint32_t first, last;
  };
  auto below = [&](unsigned n) { return unsigned(random() % n); };
  std::vector<Value> values;
  std::vector<std::vector<unsigned>> reads(count);
  for (uint32_t i = 0; i < count; ++i) {
    for (unsigned r = below(3); r-- > 0 && !values.empty();) {
      unsigned v =
          values.size() - 1 - below(std::min<size_t>(6, values.size()));
      reads[i].push_back(v);
      values[v].last = i;
    }
    values.push_back({0, 64 * (1 + below(3)), i, i});
  }
  Function f;
  f.name = "drawn";
  for (size_t v = 0; v < values.size(); ++v) {
    Value &own = values[v];
    for (bool clash = true; clash;) {
      clash = false;
      for (size_t o = 0; o < v; ++o)
        if (values[o].last >= own.first &&
            values[o].offset < own.offset + own.bytes &&
            own.offset < values[o].offset + values[o].bytes) {
          own.offset = values[o].offset + values[o].bytes;
          clash = true;
        }
    }
    f.arenaBytes = std::max(f.arenaBytes, own.offset + own.bytes);
    f.plan.push_back(
        {std::to_string(v), own.offset, own.bytes, own.first, own.last, false});
  }
  for (uint32_t i = 0; i < count; ++i) {
    Launch launch;
    launch.name = "layer.0/l" + std::to_string(i);
    launch.kernel = below(kinds);
    for (unsigned v : reads[i])
      launch.args.push_back(arena(values[v].offset, values[v].bytes, false));
    launch.args.push_back(arena(values[i].offset, values[i].bytes, true));
    if (below(4) == 0)
      launch.args.push_back(gradient(below(3)));
    f.launches.push_back(launch);
  }
  return f;
}

struct Memory {
  std::vector<uint64_t> arena;
  std::map<uint32_t, uint64_t> gradients;

  /// Writes what depends on all that is read, in order, and on the launch.
  void run(const Launch &launch, uint64_t seed) {
    uint64_t hash = seed * 0x9e3779b97f4a7c15;
    for (const Operand &o : launch.args)
      for (uint64_t at = o.offset; !o.written && at < o.offset + o.bytes; ++at)
        hash = (hash ^ arena[at]) * 0x100000001b3;
    for (const Operand &o : launch.args)
      if (o.space == Space::State)
        gradients[o.index] = (gradients[o.index] ^ hash) * 0x100000001b3;
      else if (o.written)
        for (uint64_t at = o.offset; at < o.offset + o.bytes; ++at)
          arena[at] = hash + at;
  }
};

TEST(JoinLaunches, ComputeTheSameInAnyOrderWithin) {
  std::mt19937 random(1);
  size_t before = 0, after = 0;
  for (int round = 0; round < 400; ++round) {
    unsigned kinds = 1 + random() % 3;
    Function f = drawn(random, 60, kinds);
    ASSERT_TRUE(artifact::validatePlan(f));
    auto joined = joinLaunches(
        f, [&](uint32_t i) { return int64_t(f.launches[i].kernel); });
    before += f.launches.size();
    after += joined.size();
    std::vector<bool> seen(f.launches.size());
    Memory one{std::vector<uint64_t>(f.arenaBytes), {}}, other = one;
    // All that a launch reads, whoever wrote it.
    for (uint32_t i = 0; i < f.launches.size(); ++i)
      one.run(f.launches[i], i + 1);
    for (const std::vector<uint32_t> &members : joined)
      for (auto i = members.rbegin(); i != members.rend(); ++i) {
        ASSERT_FALSE(seen[*i]);
        seen[*i] = true;
        EXPECT_EQ(f.launches[*i].kernel, f.launches[members[0]].kernel);
        other.run(f.launches[*i], *i + 1);
      }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
    EXPECT_EQ(one.gradients, other.gradients);
    EXPECT_EQ(one.arena, other.arena);

    Function g = withLaunches(f, joined, [](const auto &) { return 7u; });
    ASSERT_EQ(g.launches.size(), joined.size());
    auto status = artifact::validatePlan(g);
    EXPECT_TRUE(status) << status.error().str();
    // Who touches a buffer does so while it is there.
    for (size_t l = 0; l < g.launches.size(); ++l)
      for (const Operand &o : g.launches[l].args) {
        if (o.space != Space::Arena)
          continue;
        EXPECT_TRUE(std::any_of(g.plan.begin(), g.plan.end(),
                                [&](const artifact::Buffer &b) {
                                  return b.first <= l && l <= b.last &&
                                         b.offset == o.offset &&
                                         b.bytes == o.bytes;
                                }))
            << "launch " << l << " at " << o.offset;
      }
  }
  EXPECT_LT(after * 10, before * 9);
}

Launch named(const char *name, std::vector<Operand> args) {
  Launch launch;
  launch.name = name;
  launch.args = std::move(args);
  return launch;
}

TEST(JoinLaunches, ThreeProjectionsAreOne) {
  Function f;
  f.launches = {
      named("layer.0/norm", {arena(0, 64, false), arena(64, 64, true)}),
      named("layer.0/q", {arena(64, 64, false), arena(128, 64, true)}),
      named("layer.0/k", {arena(64, 64, false), arena(192, 64, true)}),
      named("layer.0/rope", {arena(128, 64, false), arena(256, 64, true)}),
      named("layer.0/v", {arena(64, 64, false), arena(320, 64, true)}),
      named("layer.0/o", {arena(256, 64, false), arena(0, 64, true)})};
  int64_t kinds[] = {0, 1, 1, 0, 1, 1};
  auto joined = joinLaunches(f, [&](uint32_t i) { return kinds[i]; });
  std::vector<std::vector<uint32_t>> expected = {{0}, {1, 2, 4}, {3}, {5}};
  EXPECT_EQ(joined, expected);
  Function g = withLaunches(f, joined, [](const auto &) { return 0u; });
  EXPECT_EQ(g.launches[1].name, "layer.0/q + k + v");
  EXPECT_EQ(g.launches[1].args.size(), 6u);
}

TEST(JoinLaunches, WhoWritesWhatAnotherReadsWaits) {
  Function f;
  f.launches = {named("a", {arena(0, 64, false), arena(64, 64, true)}),
                named("b", {arena(128, 64, false), arena(0, 64, true)}),
                named("c", {arena(192, 64, true)}),
                named("d", {arena(192, 64, true)}),
                named("e", {gradient(1)}),
                named("f", {gradient(1)}),
                named("g", {gradient(2)})};
  auto joined = joinLaunches(f, [](uint32_t) { return 1; });
  std::vector<std::vector<uint32_t>> expected = {{0}, {1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(joined, expected);
  auto alone = joinLaunches(f, [](uint32_t) { return -1; });
  EXPECT_EQ(alone.size(), f.launches.size());
}

} // namespace
