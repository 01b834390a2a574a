// SPDX-License-Identifier: Apache-2.0
//
// cp.async.mbarrier.arrive: what an mbarrier that counts copies tells.
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace act::runtime::sim;

namespace {

std::vector<uint32_t> counted(size_t n) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), 1000u);
  return v;
}

// %rd1: this lane's 16 bytes of p0, %r2: this lane's 16 bytes of s, %rd3: of p1
const char *const places = R"(
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 4;
  ld.param.u64 %rd0, [p0];
  cvt.u64.u32 %rd2, %r1;
  add.u64 %rd1, %rd0, %rd2;
  mov.u32 %r3, s;
  add.u32 %r2, %r3, %r1;
  ld.param.u64 %rd3, [p1];
  add.u64 %rd3, %rd3, %rd2;
)";
const char *const results = R"(
  ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r2];
  st.global.v4.u32 [%rd3], {%r20, %r21, %r22, %r23};
)";

Kernel copying(const std::string &copies, const std::string &wait) {
  Kernel k;
  k.target = "sm_80";
  k.version = "8.0";
  k.shared = ".shared .align 16 .b8 s[1024];";
  k.body = places + copies + wait + results;
  k.array(counted(256)).output<uint32_t>(128);
  return k;
}

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
  EXPECT_TRUE(k.finds(FindingKind::Race, "reads what another writes"));
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
