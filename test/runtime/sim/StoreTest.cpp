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
    EXPECT_TRUE(k.finds(FindingKind::Race, "what another writes")) << body;
  }
}

// Two warps, or two instructions, are another matter: nothing says that they
// write at once.
TEST(Store, WarpsMayNot) {
  Kernel k = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;", 64);
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::Race, "what another writes"));
  Kernel two = kernel("mov.u32 %r1, 7; setp.lt.u32 %p0, %r0, 16;"
                      "@%p0 st.shared.u32 [s], %r1;"
                      "@!%p0 st.shared.u32 [s], %r1;");
  ASSERT_TRUE(two.run()) << two.error;
  EXPECT_TRUE(two.finds(FindingKind::Race, "what another writes"));
}

// A warp's load of one address, written back by one of its lanes.
TEST(Store, OneLaneWritesWhatItsWarpRead) {
  const char *body = "ld.global.u32 %r1, [%rd0]; add.u32 %r1, %r1, 1;"
                     "setp.eq.u32 %p0, %r0, 3; @%p0 st.global.u32 [%rd0], %r1;";
  Kernel one = kernel(body);
  EXPECT_TRUE(one.runClean()) << one.error;
  Kernel two = kernel(body, 64);
  ASSERT_TRUE(two.run()) << two.error;
  EXPECT_FALSE(two.findings.empty());
}

// A reader still has to wait for whoever wrote.
TEST(Store, ReadersWait) {
  Kernel k = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;"
                    "setp.eq.u32 %p0, %r0, 9; @%p0 ld.shared.u32 %r2, [s];"
                    "@%p0 st.global.u32 [%rd0], %r2;");
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::Race, "what another writes"));
  Kernel waits = kernel("mov.u32 %r1, 7; st.shared.u32 [s], %r1;"
                        "bar.warp.sync -1;"
                        "setp.eq.u32 %p0, %r0, 9; @%p0 ld.shared.u32 %r2, [s];"
                        "@%p0 st.global.u32 [%rd0], %r2;");
  EXPECT_TRUE(waits.runClean()) << waits.error;
}
