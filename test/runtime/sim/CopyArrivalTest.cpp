// SPDX-License-Identifier: Apache-2.0
//
// cp.async.mbarrier.arrive: what an mbarrier that counts copies tells.
#include "test/runtime/sim/CopyKernels.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace act::runtime::sim;

namespace {

Kernel arriving(const std::string &count, const std::string &arrive,
                const std::string &wait) {
  Kernel k = copying("mov.u32 %r10, bar; setp.eq.u32 %p1, %r0, 0;"
                     "@%p1 mbarrier.init.shared.b64 [%r10], " +
                         count +
                         ";\nbar.sync 0;\n"
                         "cp.async.cg.shared.global [%r2], [%rd1], 16;" +
                         arrive,
                     wait + "xor.b32 %r1, %r1, 16; mov.u32 %r3, s;"
                            "add.u32 %r2, %r3, %r1;");
  k.shared += ".shared .align 8 .b64 bar;";
  return k;
}
const char *const waiting =
    "W: mbarrier.test_wait.shared.b64 %p2, [%r10], %rd10; @!%p2 bra W;";

TEST(CopyArrival, ArrivesWhenTheCopiesAreDone) {
  const char *own = "mbarrier.arrive.shared.b64 %rd10, [%r10];";
  // The arrival that .noinc leaves out is counted by the barrier.
  Kernel without = arriving(
      "64",
      std::string("cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];") + own,
      waiting);
  ASSERT_TRUE(without.runClean(16)) << without.error;
  EXPECT_EQ(without.get<uint32_t>(1)[0], 1004u);
  Kernel with = arriving(
      "32", std::string("cp.async.mbarrier.arrive.shared.b64 [%r10];") + own,
      waiting);
  ASSERT_TRUE(with.runClean(16)) << with.error;
  EXPECT_EQ(with.get<uint32_t>(1)[0], 1004u);
}

TEST(CopyArrival, AnArrivalTellsOfEarlierCopiesOnly) {
  Kernel k = arriving("64",
                      "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];"
                      "cp.async.cg.shared.global [%r2+512], [%rd1+512], 16;"
                      "mbarrier.arrive.shared.b64 %rd10, [%r10];",
                      std::string(waiting) + "ld.shared.u32 %r25, [%r2+512];");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "reads memory that another thread writes"));
  EXPECT_EQ(k.findings.size(), 1u) << k.told();
  // Behind an arrival, groups go on as before.
  Kernel group = arriving(
      "64",
      "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];"
      "cp.async.cg.shared.global [%r2+512], [%rd1+512], 16;"
      "mbarrier.arrive.shared.b64 %rd10, [%r10];",
      std::string("cp.async.wait_all; ld.shared.u32 %r25, [%r2+512];") +
          waiting);
  EXPECT_TRUE(group.runClean()) << group.error;
}

TEST(CopyArrival, AMissingArrivalIsADeadlock) {
  std::string sleeping = waiting;
  sleeping.replace(sleeping.find("test"), 4, "try");
  Kernel k =
      arriving("64", "mbarrier.arrive.shared.b64 %rd10, [%r10];", sleeping);
  k.target = "sm_90a";
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::Deadlock, "mbarrier")) << k.told();
}

TEST(CopyArrival, OneArrivalTooManyIsFound) {
  Kernel k =
      arriving("16", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];", "");
  ASSERT_TRUE(k.run());
  EXPECT_FALSE(k.findings.empty());
}

} // namespace
