// SPDX-License-Identifier: Apache-2.0
//
// Knowledge of a warp's lanes (Clock.h) against a model: a set of epochs for
// each lane.
#include "runtime/sim/memory/Clock.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace act::runtime::sim;

namespace {

KnowledgeRef knows(uint32_t cta, uint32_t agent, uint32_t tick) {
  Gathering one;
  one.add({cta, agent, tick});
  return one.freeze();
}

TEST(Clock, LanesLearnAsEachLaneAlone) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 200; ++round) {
    Joiner joiner;
    LaneKnowledge known;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> model[32]; // ticks
    const uint32_t live = round % 3 ? ~0u : 0x0fffffff;
    for (unsigned step = 0; step < 20; ++step) {
      uint32_t lanes = random();
      if (random() % 2)
        lanes = ~0u;
      else if (random() % 2)
        lanes = 1u << random() % 32;
      lanes &= live;
      const uint32_t cta = random() % 3, agent = random() % 70,
                     tick = 1 + random() % 4;
      known.learn(lanes, live, knows(cta, agent, tick), joiner);
      for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) {
          uint32_t &of = model[lane][{cta, agent}];
          of = std::max(of, tick);
        }
      Gathering all;
      known.addTo(all, lanes);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (uint32_t c = 0; c < 3; ++c)
          for (uint32_t a = 0; a < 70; ++a) {
            auto at = model[lane].find({c, a});
            const uint32_t of = at == model[lane].end() ? 0 : at->second;
            const KnowledgeRef &k = known[lane];
            if (!(live >> lane & 1))
              continue;
            ASSERT_TRUE(!of || (k && k->knows({c, a, of})));
            ASSERT_FALSE(k && k->knows({c, a, of + 1}));
            if (lanes >> lane & 1 && of)
              ASSERT_TRUE(all.freeze()->knows({c, a, of}));
          }
    }
  }
}

TEST(Clock, LanesThatKnowTheSameShareIt) {
  Joiner joiner;
  LaneKnowledge known;
  known.learn(1, ~0u, knows(0, 5, 1), joiner);
  EXPECT_FALSE(known.isCommon());
  EXPECT_EQ(known[1], nullptr);
  // What all learn includes what lane 0 knew.
  known.learn(~0u, ~0u, knows(0, 5, 2), joiner);
  EXPECT_TRUE(known.isCommon());
  // Lanes 16 to 31 have exited.
  known.learn(0xffff, 0xffff, knows(0, 6, 1), joiner);
  EXPECT_TRUE(known.isCommon());
  known.learn(0xff, 0xffff, knows(0, 7, 1), joiner);
  EXPECT_FALSE(known.isCommon());
  EXPECT_FALSE(known[8]->knows({0, 7, 1}));
}

TEST(Clock, TicksOfLanesAreGatheredAtOnce) {
  std::mt19937 random(2);
  for (unsigned round = 0; round < 100; ++round) {
    Gathering together, alone;
    for (unsigned step = 0; step < 5; ++step) {
      const uint32_t lanes = random(), first = 32 * (random() % 4);
      std::array<uint32_t, 32> ticks;
      for (uint32_t &tick : ticks)
        tick = random() % 3;
      together.add(1, first, ticks, lanes);
      for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1)
          alone.add({1, first + lane, ticks[lane]});
    }
    for (uint32_t agent = 0; agent < 160; ++agent)
      for (uint32_t tick = 1; tick < 4; ++tick) {
        auto has = [&](Gathering &g) {
          return g.freeze() && g.freeze()->knows({1, agent, tick});
        };
        ASSERT_EQ(has(together), has(alone));
      }
  }
}

TEST(Clock, NothingIsGatheredOfLanesWithoutAccesses) {
  Gathering g;
  std::array<uint32_t, 32> ticks = {};
  ticks[3] = 7;
  g.add(1, 32, ticks, ~8u);
  EXPECT_TRUE(g.empty());
  g.add(1, 32, ticks, 8u);
  EXPECT_TRUE(g.freeze()->knows({1, 35, 7}));
}

TEST(Clock, LeastTickIsOfTheAgentsAskedFor) {
  Gathering g;
  for (uint32_t agent = 32; agent < 40; ++agent)
    g.add(Epoch{0, agent, agent});
  const KnowledgeRef k = g.freeze();
  EXPECT_EQ(k->leastTick(0, 32, ~0u), 0u); // 40 to 63 are unknown
  EXPECT_EQ(k->leastTick(0, 32, 0xff), 32u);
  EXPECT_EQ(k->leastTick(0, 32, 0xf0), 36u);
  EXPECT_EQ(k->leastTick(0, 32, 0x80), 39u);
  EXPECT_EQ(k->leastTick(0, 32, 0x180), 0u);
  EXPECT_EQ(k->leastTick(1, 32, 1), 0u);
}

} // namespace
