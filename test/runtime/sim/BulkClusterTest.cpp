// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk between the CTAs of a cluster.
#include "test/runtime/sim/BulkKernels.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace act::runtime::sim;

namespace {

const char *const fill = R"(
  shl.b32 %r3, %r0, 2;
  add.u32 %r4, %r1, %r3;
  add.u32 %r5, %r0, 500;
  st.shared.u32 [%r4], %r5;
)";
const char *const fence = "fence.proxy.async.shared::cta;\n";

// Each CTA sends 128 bytes to its neighbour, whose barrier counts them.
Kernel sending(const std::string &copy, const std::string &words = "") {
  Kernel k;
  k.grid = 4;
  k.cluster = 2;
  k.shared = ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;";
  k.body = std::string(begin) + fill +
           "mov.u32 %r10, %ctaid.x; mad.lo.u32 %r5, %r10, "
           "100, %r5; st.shared.u32 [%r4], %r5;" +
           fence + expect(128) +
           "barrier.cluster.arrive.release.aligned;"
           "barrier.cluster.wait.acquire.aligned;"
           "mov.u32 %r11, %cluster_ctarank; xor.b32 %r12, %r11, 1;"
           "mapa.shared::cluster.u32 %r13, %r1, %r12;"
           "mapa.shared::cluster.u32 %r14, %r2, %r12;\n" +
           copy + landed +
           "mad.wide.u32 %rd1, %r10, 128, %rd1; add.u32 %r1, %r1, 256;" + out +
           words +
           "barrier.cluster.arrive.release.aligned;"
           "barrier.cluster.wait.acquire.aligned;";
  k.array(counted(64)).output<uint32_t>(128);
  return k;
}

TEST(BulkCluster, CopiesToAnotherCtaOfTheCluster) {
  Kernel k = sending("@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
                     "complete_tx::bytes [%r13+256], [%r1], 128, [%r14];");
  ASSERT_TRUE(k.runClean(8)) << k.error;
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(k.get<uint32_t>(1)[i], 500 + (i / 32 ^ 1) * 100 + i % 32);
  Kernel own =
      sending("@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
              "complete_tx::bytes [%r1+256], [%r1], 128, [%r2];");
  ASSERT_TRUE(own.run());
  EXPECT_TRUE(own.finds(FindingKind::InvalidOperation, "its own CTA"));
}

TEST(BulkCluster, ReducesIntoAnotherCtaOfTheCluster) {
  Kernel k =
      sending("@%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::"
              "complete_tx::bytes.add.u32 [%r13+256], [%r1], 128, [%r14];");
  size_t at = k.body.find("st.shared.u32 [%r4], %r5;");
  k.body.insert(at, "st.shared.u32 [%r4+256], 3;");
  ASSERT_TRUE(k.runClean(8)) << k.error;
  EXPECT_EQ(k.get<uint32_t>(1)[0], 603u);
}

TEST(BulkCluster, MulticastsToTheCtasOfItsMask) {
  const char *copy =
      "mov.b16 %h0, 3; setp.eq.and.u32 %p1, %r11, 1, %p0;"
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
      "multicast::cluster [%r1+256], [%rd0], 128, [%r2], %h0;";
  Kernel k = sending(copy);
  ASSERT_TRUE(k.runClean(8)) << k.error;
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(k.get<uint32_t>(1)[i], 1000 + i % 32);
  Kernel beyond = sending(copy);
  beyond.body.replace(beyond.body.find("%h0, 3"), 6, "%h0, 7");
  ASSERT_TRUE(beyond.run());
  EXPECT_TRUE(beyond.finds(FindingKind::InvalidOperation,
                           "mask 7, but the cluster has 2"));
  // The other CTA does not expect the bytes yet.
  Kernel early = sending(copy);
  size_t at = early.body.find("barrier.cluster");
  early.body.erase(at, early.body.find("mov.u32 %r11") - at);
  EXPECT_TRUE(early.findsSometimes(FindingKind::InvalidOperation, "") ||
              early.findsSometimes(FindingKind::Race, ""))
      << early.told();
}

} // namespace
