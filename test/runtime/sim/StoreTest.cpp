// SPDX-License-Identifier: Apache-2.0
//
// Lanes that one st sends to one place: a race, unless they write the same.
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

// %r0: the lane, %rd0: 32 words in global memory.
Kernel kernel(const char *body, uint32_t block = 32) {
  Kernel k;
  k.block = block;
  k.shared = ".shared .align 16 .b8 s[256];";
  k.body = std::string("mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [p0];") + body;
  k.array(std::vector<uint32_t>(32));
  return k;
}

} // namespace

TEST(Store, LanesMayWriteTheSame) {
  for (const char *body : {
           "mov.u32 %r1, 7; st.global.u32 [%rd0], %r1;",
           "mov.u32 %r1, 7; st.shared.u32 [s], %r1;",
           // Not next to each other: lanes l and l ^ 16 the same.
           "and.b32 %r1, %r0, 15; mul.wide.u32 %rd1, %r1, 4;"
           "add.s64 %rd1, %rd1, %rd0; st.global.u32 [%rd1], %r1;",
           // Vectors, and bytes of a word.
           "mov.u32 %r1, 7; mov.u32 %r2, 8; st.global.v2.u32 [%rd0], {%r1, "
           "%r2};",
           "mov.u32 %r1, 7; st.shared.u8 [s+3], %r1;",
       }) {
    Kernel k = kernel(body);
    EXPECT_TRUE(k.runClean()) << body << "\n" << k.error;
  }
}

TEST(Store, LanesMayNotWriteWhatDiffers) {
  for (const char *body : {
           "st.global.u32 [%rd0], %r0;",
           "st.shared.u32 [s], %r0;",
           "shr.u32 %r1, %r0, 4; st.shared.u32 [s], %r1;",
           "and.b32 %r1, %r0, 15; mul.wide.u32 %rd1, %r1, 4;"
           "add.s64 %rd1, %rd1, %rd0; st.global.u32 [%rd1], %r0;",
           // The second element differs.
           "mov.u32 %r1, 7; st.global.v2.u32 [%rd0], {%r1, %r0};",
       }) {
    Kernel k = kernel(body);
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.finds(FindingKind::Race, "memory that another thread writes"))
        << body;
  }
}

// Of two warps too: compilers let all who hold a value write it (Triton does).
TEST(Store, WarpsMayWriteTheSame) {
  Kernel k = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;", 64);
  EXPECT_TRUE(k.runClean()) << k.error;
  Kernel other = kernel("shr.u32 %r1, %r0, 5; st.shared.u32 [s], %r1;", 64);
  ASSERT_TRUE(other.run()) << other.error;
  EXPECT_TRUE(
      other.finds(FindingKind::Race, "memory that another thread writes"));
}

// Two instructions are another matter: a race, which is benign of one value and
// one block alone.
TEST(Store, InstructionsMayNot) {
  Kernel two = kernel("mov.u32 %r1, 7; setp.lt.u32 %p0, %r0, 16;"
                      "@%p0 st.shared.u32 [s], %r1;"
                      "@!%p0 st.shared.u32 [s], %r1;");
  ASSERT_TRUE(two.run()) << two.error;
  ASSERT_EQ(two.findings.size(), 1u) << two.told();
  EXPECT_TRUE(two.finds(FindingKind::BenignRace, "the same value that another"))
      << two.told();
  Kernel differ = kernel("mov.u32 %r1, 7; setp.lt.u32 %p0, %r0, 16;"
                         "@%p0 st.shared.u32 [s], %r1;"
                         "@!%p0 st.shared.u32 [s], 8;");
  ASSERT_TRUE(differ.run()) << differ.error;
  EXPECT_TRUE(
      differ.finds(FindingKind::Race, "memory that another thread writes"))
      << differ.told();
  Kernel blocks = kernel("mov.u32 %r1, 7; mov.u32 %r2, %ctaid.x;"
                         "setp.eq.u32 %p0, %r2, 0;"
                         "@%p0 st.global.u32 [%rd0], %r1;"
                         "@!%p0 st.global.u32 [%rd0], %r1;");
  blocks.grid = 2;
  ASSERT_TRUE(blocks.run()) << blocks.error;
  EXPECT_TRUE(
      blocks.finds(FindingKind::Race, "memory that another thread writes"))
      << blocks.told();
}

// Who computes the same gets the same, whatever error the seed draws.
TEST(Store, WarpsAgreeOnApproximations) {
  Kernel k = kernel("and.b32 %r1, %r0, 31; cvt.rn.f32.u32 %f0, %r1;"
                    "add.f32 %f0, %f0, 0f3E99999A; ex2.approx.f32 %f1, %f0;"
                    "rcp.approx.f32 %f2, %f1; div.full.f32 %f3, %f1, %f0;"
                    "add.f32 %f2, %f2, %f3; mul.wide.u32 %rd1, %r1, 4;"
                    "add.s64 %rd1, %rd1, %rd0; st.global.f32 [%rd1], %f2;",
                    128);
  ASSERT_TRUE(k.runClean(12)) << k.error;
  std::vector<float> quiet = k.get<float>(0);
  k.seed = 5;
  ASSERT_TRUE(k.run());
  EXPECT_NE(k.get<float>(0), quiet);
}

// A reader still has to wait for whoever wrote.
TEST(Store, ReadersWait) {
  Kernel k = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;"
                    "setp.eq.u32 %p0, %r0, 9; @%p0 ld.shared.u32 %r2, [s];"
                    "@%p0 st.global.u32 [%rd0], %r2;");
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::Race, "memory that another thread writes"));
  Kernel waits = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;"
                        "bar.warp.sync -1;"
                        "setp.eq.u32 %p0, %r0, 9; @%p0 ld.shared.u32 %r2, [s];"
                        "@%p0 st.global.u32 [%rd0], %r2;");
  EXPECT_TRUE(waits.runClean()) << waits.error;
}
