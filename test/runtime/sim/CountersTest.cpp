// SPDX-License-Identifier: Apache-2.0
//
// What is counted, beside numbers worked out by hand.
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

// %r0: the thread; %rd0: the array; %r9: shared memory.
Kernel kernel(const std::string &body) {
  Kernel k;
  k.target = "sm_80";
  k.version = "8.0";
  k.shared = ".shared .align 128 .b8 s[8192];";
  k.body =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [p0]; mov.u32 %r9, s;" + body;
  k.array(std::vector<uint32_t>(4096, 1));
  return k;
}

struct Access {
  unsigned stride; // bytes between lanes
  const char *operation;
  unsigned bytes; // of a lane
  unsigned cost, conflicts;
};

TEST(Counters, SectorsOfGlobalMemory) {
  const Access accesses[] = {
      {4, "ld.global.u32 %r1, [%rd1];", 4, 4, 0},
      {0, "ld.global.u32 %r1, [%rd1];", 4, 1, 0},
      {8, "ld.global.u32 %r1, [%rd1];", 4, 8, 0},
      {32, "ld.global.u32 %r1, [%rd1];", 4, 32, 0},
      {64, "ld.global.u32 %r1, [%rd1];", 4, 32, 0},
      {1, "ld.global.u8 %r1, [%rd1];", 1, 1, 0},
      {2, "ld.global.u16 %h1, [%rd1];", 2, 2, 0},
      {8, "ld.global.u64 %rd2, [%rd1];", 8, 8, 0},
      {16,
       "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, "
       "[%rd1];",
       16, 16, 0},
      {4, "st.global.u32 [%rd1], %r0;", 4, 4, 0},
      {16, "st.global.v2.u32 [%rd1], {%r0, %r0};", 8, 16, 0},
      {0, "red.global.add.u32 [%rd1], %r0;", 4, 1, 0},
      {32, "atom.global.add.u32 %r1, [%rd1], %r0;", 4, 32, 0}};
  for (const Access &a : accesses) {
    Kernel k = kernel("mul.wide.u32 %rd1, %r0, " + std::to_string(a.stride) +
                      "; add.u64 %rd1, %rd0, %rd1;" + a.operation);
    ASSERT_TRUE(k.run()) << a.operation << k.error;
    EXPECT_TRUE(k.findings.empty()) << k.told();
    bool store = a.operation[0] != 'l';
    const Counters &c = k.counters;
    EXPECT_EQ(store ? c.globalStoreSectors : c.globalLoadSectors, a.cost)
        << a.operation << " every " << a.stride;
    EXPECT_EQ(store ? c.globalStoreBytes : c.globalLoadBytes, 32 * a.bytes);
    EXPECT_EQ(store ? c.globalLoadSectors : c.globalStoreSectors, 0u);
    EXPECT_EQ(c.sharedLoadWavefronts + c.sharedStoreWavefronts, 0u);
  }
}

TEST(Counters, WavefrontsOfSharedMemory) {
  const Access accesses[] = {{4, "st.shared.u32 [%r1], %r0;", 4, 1, 0},
                             {8, "st.shared.u32 [%r1], %r0;", 4, 2, 1},
                             {12, "st.shared.u32 [%r1], %r0;", 4, 1, 0},
                             {128, "st.shared.u32 [%r1], %r0;", 4, 32, 31},
                             {132, "st.shared.u32 [%r1], %r0;", 4, 1, 0},
                             {16,
                              "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, "
                              "%r0};",
                              16, 4, 0},
                             {8, "st.shared.u64 [%r1], %rd0;", 8, 2, 0},
                             {64, "st.shared.u64 [%r1], %rd0;", 8, 16, 14}};
  for (const Access &a : accesses) {
    Kernel k = kernel("mad.lo.u32 %r1, %r0, " + std::to_string(a.stride) +
                      ", %r9;" + a.operation);
    ASSERT_TRUE(k.run()) << a.operation << k.error;
    EXPECT_TRUE(k.findings.empty()) << k.told();
    EXPECT_EQ(k.counters.sharedStoreWavefronts, a.cost)
        << a.operation << " every " << a.stride;
    EXPECT_EQ(k.counters.sharedConflicts, a.conflicts)
        << a.operation << " every " << a.stride;
    EXPECT_EQ(k.counters.sharedLoadWavefronts, 0u);
  }
}

TEST(Counters, OnlyLanesThatTakePartCount) {
  Kernel k = kernel("setp.lt.u32 %p0, %r0, 8; mul.wide.u32 %rd1, %r0, 4;"
                    "add.u64 %rd1, %rd0, %rd1;"
                    "@%p0 ld.global.u32 %r1, [%rd1];");
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_EQ(k.counters.globalLoadBytes, 32u);
  EXPECT_EQ(k.counters.globalLoadSectors, 1u);
}

// Rows of 16 bytes: side by side they touch all banks once, 128 bytes apart
// the same banks eight times.
TEST(Counters, WavefrontsOfMatrices) {
  for (unsigned stride : {16u, 128u, 144u}) {
    Kernel k =
        kernel("shl.b32 %r1, %r0, 2; mov.u32 %r3, 0;"
               "fill: mad.lo.u32 %r2, %r3, 128, %r1; add.u32 %r2, %r2, %r9;"
               "st.shared.u32 [%r2], %r0; add.u32 %r3, %r3, 1;"
               "setp.lt.u32 %p0, %r3, 64; @%p0 bra fill; bar.sync 0;"
               "mad.lo.u32 %r1, %r0, " +
               std::to_string(stride) +
               ", %r9; ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
               "{%r4, %r5, %r6, %r7}, [%r1];");
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.findings.empty()) << k.told();
    EXPECT_EQ(k.counters.sharedLoadWavefronts, stride == 128 ? 32u : 4u);
    EXPECT_EQ(k.counters.sharedConflicts, stride == 128 ? 28u : 0u);
    EXPECT_EQ(k.counters.warpInstructions[unsigned(Class::MatrixLoad)], 1u);
  }
}

TEST(Counters, ArithmeticByKind) {
  Kernel k = kernel(
      "mov.f32 %f0, 0f3F800000; ex2.approx.f32 %f1, %f0; rcp.approx.f32 %f2, "
      "%f0; fma.rn.f32 %f3, %f0, %f0, %f0; mov.u32 %r1, 0;"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, "
      "%f7}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f0, %f0, %f0};"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f4, %f5, %f6, "
      "%f7}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f0, %f0, %f0};"
      "bar.sync 0;");
  k.block = 64;
  ASSERT_TRUE(k.run()) << k.error;
  const Counters &c = k.counters;
  auto of = [&](Class kind) { return c.warpInstructions[unsigned(kind)]; };
  EXPECT_EQ(c.exp2, 64u);
  EXPECT_EQ(of(Class::Special), 4u);
  EXPECT_EQ(of(Class::Float), 2u);
  EXPECT_EQ(of(Class::Matrix), 4u);
  EXPECT_EQ(of(Class::Barrier), 2u);
  EXPECT_EQ(c.tensorFlops[unsigned(Tensor::BF16)], 2u * 2 * 16 * 8 * 16);
  EXPECT_EQ(c.tensorFlops[unsigned(Tensor::TF32)], 2u * 2 * 16 * 8 * 8);
  EXPECT_EQ(c.tensorFlops[unsigned(Tensor::F16)], 0u);
  EXPECT_EQ(c.barrierWaits, 1u); // the second warp finds it complete
  EXPECT_EQ(c.warps, 2u);
  EXPECT_EQ(c.ctas, 1u);
}

} // namespace
