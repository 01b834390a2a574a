// SPDX-License-Identifier: Apache-2.0
//
// The compiler's table of GPUs beside the simulator's own numbers: they agree,
// but for what each entry below says.
#include "runtime/sim/program/Target.h"
#include "act/Target/Target.h"
#include <gtest/gtest.h>

using namespace act;

namespace {

TEST(Target, LimitsAreTheSimulators) {
  for (const Target &t : allTargets()) {
    auto sim = runtime::sim::targetNamed(t.name);
    ASSERT_TRUE(sim) << t.name;
    EXPECT_EQ(t.sm, sim->sm) << t.name;
    EXPECT_EQ(t.suffix, sim->suffix) << t.name;
    EXPECT_EQ(t.limits.sharedBytesPerBlock, sim->sharedBytesPerBlock) << t.name;
    EXPECT_EQ(t.limits.sharedBytesPerSm, sim->sharedBytesPerSm) << t.name;
    EXPECT_EQ(t.limits.registersPerSm, sim->registersPerSm) << t.name;
    EXPECT_EQ(t.limits.warpsPerSm, sim->warpsPerSm) << t.name;
    EXPECT_EQ(t.limits.blocksPerSm, sim->blocksPerSm) << t.name;
  }
}

TEST(Target, CardsAreTheSimulators) {
  for (const Target &t : allTargets()) {
    auto sim = runtime::sim::targetNamed(t.name);
    ASSERT_TRUE(sim) << t.name;
    const double sms = double(t.card.sms), clock = sim->clockGHz * 1e9;
    EXPECT_EQ(t.card.sms, sim->processors) << t.name;
    EXPECT_DOUBLE_EQ(t.card.clock, clock) << t.name;
    EXPECT_DOUBLE_EQ(t.card.exp2, sim->exp2PerClock * sms * clock) << t.name;
    // Data sheets round to three digits.
    EXPECT_NEAR(t.card.tensorFlops / (sim->tensorFlops * sms * clock), 1, 0.003)
        << t.name;
    // An H100's f32 units are rated at 1.98 GHz, its tensor cores at 1.83 GHz.
    const double f32Clock = t.sm == 90 ? 1.98e9 : clock;
    EXPECT_NEAR(t.card.f32Flops / (sim->f32Flops * sms * f32Clock), 1, 0.003)
        << t.name;
    // The compiler means an A100 of 80 GB, the simulator one of 40 GB.
    const double simulated = sim->memoryBytesPerClock * sms * clock;
    EXPECT_NEAR(t.sm == 80 ? 2.039e12 : simulated, t.card.memoryBytes, 1e9)
        << t.name;
    if (t.sm == 80)
      EXPECT_NEAR(simulated, 1.555e12, 1e9);
  }
}

TEST(Target, CodeRunsWhereTheSimulatorRunsIt) {
  for (const Target &t : allTargets())
    for (const char *device : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
      auto sim = runtime::sim::targetNamed(device);
      ASSERT_TRUE(sim);
      EXPECT_EQ(t.runsOn(device), runtime::sim::runs(*sim, t.sm, t.suffix))
          << t.name << " on " << device;
    }
}

TEST(Target, NewestForADevice) {
  auto name = [](const char *device) -> std::string {
    const Target *t = newestTargetFor(device);
    return t ? t->name : "none";
  };
  EXPECT_EQ(name("sm_80"), "sm_80");
  EXPECT_EQ(name("sm_87"), "sm_86");
  EXPECT_EQ(name("sm_89"), "sm_89");
  EXPECT_EQ(name("sm_90"), "sm_89"); // no 'a': sm_90a code does not run
  EXPECT_EQ(name("sm_90a"), "sm_90a");
  EXPECT_EQ(name("sm_100"), "sm_89");
  EXPECT_EQ(name("sm_75"), "none");
  EXPECT_EQ(name("host"), "none");
}

TEST(Target, Named) {
  ASSERT_TRUE(targetNamed("sm_90a"));
  EXPECT_TRUE((*targetNamed("sm_90a"))->features.wgmma);
  EXPECT_FALSE((*targetNamed("sm_86"))->features.float8Products);
  EXPECT_TRUE((*targetNamed("sm_89"))->features.float8Products);
  auto none = targetNamed("sm_90");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "unknown target 'sm_90', expected sm_80, sm_86, sm_89 or sm_90a");
}

} // namespace
