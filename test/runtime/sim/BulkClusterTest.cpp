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

// A word of each lane, or two of each of 16, to the neighbour: 128 bytes.
TEST(BulkCluster, StoresWordsInAnotherCta) {
  const char *const word =
      "add.u32 %r15, %r13, %r3; st.async.weak.shared::cluster.mbarrier::"
      "complete_tx::bytes.u32 [%r15+256], %r5, [%r14];";
  const char *const pairs =
      "setp.lt.u32 %p1, %r0, 16; shl.b32 %r3, %r0, 3; add.u32 %r4, %r1, %r3;"
      "@%p1 ld.shared.v2.u32 {%r16, %r17}, [%r4]; cvt.u64.u32 %rd4, %r13;"
      "cvta.shared::cluster.u64 %rd5, %rd4; cvt.u64.u32 %rd6, %r3;"
      "add.u64 %rd5, %rd5, %rd6; cvt.u64.u32 %rd4, %r14;"
      "cvta.shared::cluster.u64 %rd6, %rd4;"
      "@%p1 st.async.mbarrier::complete_tx::bytes.v2.b32 [%rd5+256], "
      "{%r16, %r17}, [%rd6];";
  for (const char *copy : {word, pairs}) {
    Kernel k = sending(copy);
    ASSERT_TRUE(k.runClean(8)) << k.error << k.told();
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(k.get<uint32_t>(1)[i], 500 + (i / 32 ^ 1) * 100 + i % 32);
  }
}

TEST(BulkCluster, AnAsynchronousStoreIsOrderedByItsMbarrierAlone) {
  const std::string store =
      "add.u32 %r15, %r13, %r3; st.async.weak.shared::cluster.mbarrier::"
      "complete_tx::bytes.u32 [%r15+256], %r5, [%r14];";
  // Who reads and has not waited, races, under any seed.
  Kernel early = sending(store + "ld.shared.u32 %r9, [%r4+256];");
  ASSERT_TRUE(early.run());
  EXPECT_TRUE(early.finds(FindingKind::Race, "")) << early.told();
  // Both sides are threads: who issued them, not whose mbarrier counts.
  Kernel both = sending(
      "setp.eq.u32 %p1, %r0, 7; @%p1 " + store.substr(store.find("st.")) +
      "setp.eq.u32 %p1, %r0, 9; @%p1 " + store.substr(store.find("st.")));
  both.body.insert(both.body.find("setp.eq.u32 %p1, %r0, 7"),
                   "mov.u32 %r15, %r13;");
  both.body.replace(both.body.find(landed), strlen(landed), "\n");
  both.run();
  ASSERT_TRUE(both.finds(FindingKind::Race,
                         "writes memory that another thread writes"));
  EXPECT_NE(both.told().find("mbarrier-tracked copy of thread (9,0,0) of CTA"),
            std::string::npos)
      << both.told();
  EXPECT_NE(both.told().find("mbarrier-tracked copy of thread (7,0,0) of CTA"),
            std::string::npos)
      << both.told();
  // More bytes than expected, or fewer.
  Kernel twice = sending(store + "@%p0 " + store.substr(store.find("st.")));
  ASSERT_TRUE(twice.run());
  EXPECT_TRUE(twice.finds(FindingKind::InvalidOperation, "")) << twice.told();
  // The generic proxy wrote: a copy of the async proxy needs a fence.
  Kernel proxy = sending(
      store +
      "V: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra V;"
      "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1+256], 128;"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bar.sync 0;");
  ASSERT_TRUE(proxy.run()) << proxy.error;
  EXPECT_TRUE(proxy.finds(FindingKind::Race, "without a proxy fence"))
      << proxy.told();
}

TEST(BulkCluster, AnAsynchronousStoreStaysWithinItsRules) {
  auto store = [](const char *to, const char *barrier) {
    return std::string("@%p0 st.async.weak.shared::cluster.mbarrier::complete_"
                       "tx::bytes.u32 [") +
           to + "+256], %r5, [" + barrier + "];";
  };
  Kernel apart = sending(store("%r13", "%r2"));
  ASSERT_TRUE(apart.run());
  EXPECT_TRUE(apart.finds(FindingKind::InvalidOperation, "mbarrier of another"))
      << apart.told();
  Kernel uneven = sending(store("%r13+2-", "%r14"));
  uneven.body.replace(uneven.body.find("+2-+256"), 7, "+254");
  ASSERT_TRUE(uneven.run());
  EXPECT_TRUE(uneven.finds(FindingKind::Misaligned, "")) << uneven.told();
  Kernel alone = sending(store("%r1", "%r2"));
  alone.cluster = 1;
  alone.body.replace(alone.body.find("xor.b32 %r12, %r11, 1"), 21,
                     "mov.u32 %r12, 0");
  ASSERT_TRUE(alone.run()) << alone.error;
  EXPECT_TRUE(alone.finds(FindingKind::InvalidOperation, "more than one CTA"))
      << alone.told();
  // Within the cluster, to oneself: a store may, a reduction may not.
  Kernel own = sending(
      "@%p0 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
      "bytes.add.u32 [%r1+256], %r5, [%r2];");
  ASSERT_TRUE(own.run());
  EXPECT_TRUE(own.finds(FindingKind::InvalidOperation, "its own CTA"))
      << own.told();
}

TEST(BulkCluster, ReducesWordsInAnotherCta) {
  struct Form {
    const char *words;
    uint32_t start, result; // of lanes 0 ... 31 with 500 + lane
  };
  uint32_t sum = 0, bits = 0, odd = 0, common = ~0u;
  for (uint32_t i = 500; i < 532; ++i) {
    sum += i;
    bits |= i;
    odd ^= i;
    common &= i;
  }
  for (Form f : {Form{"add.u32", 7, 7 + sum}, Form{"add.s32", 7, 7 + sum},
                 Form{"min.u32", 900, 500}, Form{"max.s32", 0, 531},
                 Form{"or.b32", 0, bits}, Form{"and.b32", ~0u, common},
                 Form{"xor.b32", 0, odd}, Form{"inc.u32", 3, 35},
                 Form{"dec.u32", 100, 68}}) {
    Kernel k = sending(
        std::string("mov.u32 %r12, 500; add.u32 %r5, %r12, %r0; red.async."
                    "relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                    "bytes.") +
        f.words + " [%r13+256], %r5, [%r14];");
    size_t at = k.body.find("st.shared.u32 [%r4], %r5;");
    k.body.insert(at, "st.shared.u32 [%r4+256], " +
                          std::to_string(int32_t(f.start)) + ";");
    ASSERT_TRUE(k.runClean(4)) << f.words << k.error << k.told();
    EXPECT_EQ(k.get<uint32_t>(1)[0], f.result) << f.words;
    EXPECT_EQ(k.get<uint32_t>(1)[1], f.start) << f.words;
  }
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
                           "mask of 7, but the cluster has 2 CTAs"));
  // The other CTA does not expect the bytes yet.
  Kernel early = sending(copy);
  size_t at = early.body.find("barrier.cluster");
  early.body.erase(at, early.body.find("mov.u32 %r11") - at);
  EXPECT_TRUE(early.findsSometimes(FindingKind::InvalidOperation, "") ||
              early.findsSometimes(FindingKind::Race, ""))
      << early.told();
}

} // namespace
