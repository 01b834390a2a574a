// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk: copies and reductions of bytes, by mbarrier and by group.
#include "test/runtime/sim/BulkKernels.h"
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace act::runtime::sim;

namespace {

const char *const load = "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::"
                         "complete_tx::bytes [%r1], [%rd0], 128, [%r2];\n";

Kernel loading(const std::string &middle, const std::string &end = out) {
  Kernel k;
  k.shared = ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;";
  k.body = begin + middle + end;
  k.array(counted(128)).output<uint32_t>(32);
  return k;
}

TEST(Bulk, LoadsWhatItsBarrierCounts) {
  for (const char *text :
       {load,
        "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
        "[%r1], [%rd0], 128, [%r2];\n",
        "createpolicy.fractional.L2::evict_first.b64 %rd9;"
        "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%r1], [%rd0], 128, [%r2], %rd9;\n"}) {
    Kernel k = loading(expect(128) + text + landed);
    ASSERT_TRUE(k.runClean(12)) << k.error;
    EXPECT_EQ(k.get<uint32_t>(1), counted(32));
    EXPECT_EQ(k.counters.asyncBytes, 128u);
    EXPECT_EQ(k.counters.bulkSharedStoreBytes, 128u);
    EXPECT_EQ(k.counters.bulkSharedLoadBytes, 0u);
  }
  // Bytes may land before they are expected.
  Kernel k = loading(load + expect(128) + landed);
  ASSERT_TRUE(k.runClean(12)) << k.error;
}

TEST(Bulk, NobodyReadsBeforeThePhaseEnds) {
  Kernel k = loading(expect(128) + load + "bar.sync 0;\n");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "reads memory that another thread writes"))
      << k.told();
  EXPECT_NE(k.told().find("cp.async.bulk"), std::string::npos);
}

TEST(Bulk, WrongByteCountsAreFound) {
  Kernel more = loading(expect(144) + load + landed);
  ASSERT_TRUE(more.run());
  EXPECT_TRUE(more.finds(FindingKind::Deadlock, "16 bytes")) << more.told();
  for (uint64_t seed : {0, 1, 2, 3}) {
    Kernel less = loading(expect(112) + load + landed);
    less.seed = seed;
    ASSERT_TRUE(less.run());
    EXPECT_TRUE(less.finds(FindingKind::InvalidOperation,
                           "128 bytes, 16 more than its mbarrier expected"))
        << less.told();
  }
  // Two copies of which one is expected: the phase may end too early.
  std::string two = expect(128) + load +
                    "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::"
                    "complete_tx::bytes [%r1+128], [%rd0], 128, [%r2];\n" +
                    landed + "ld.shared.u32 %r9, [%r1+128];\n";
  Kernel k = loading(two);
  EXPECT_TRUE(k.findsSometimes(FindingKind::Race,
                               "reads memory that another thread writes"));
}

TEST(Bulk, ChecksSizesAndAddresses) {
  struct {
    std::string operands;
    FindingKind kind;
    const char *why;
  } bad[] = {
      {"[%r1], [%rd0], %r9, [%r2]", FindingKind::InvalidOperation,
       "120 bytes, expected a multiple of 16"},
      {"[%r1+8], [%rd0], 128, [%r2]", FindingKind::Misaligned, "16"},
      {"[%r1], [%rd0+4], 128, [%r2]", FindingKind::Misaligned, "16"},
      {"[%r1+496], [%rd0], 128, [%r2]", FindingKind::OutOfBounds,
       "shared memory"},
      {"[%r1], [%rd0+400], 128, [%r2]", FindingKind::OutOfBounds, ""},
      {"[%r1], [%rd0], %r8, [%r2]", FindingKind::OutOfBounds, "4294967280"},
      {"[%r1], [%rd1], 128, [%r2]", FindingKind::Uninitialised, ""},
      {"[%r1], [%rd0], 128, [%r1]", FindingKind::InvalidOperation, "mbarrier"},
  };
  for (auto &b : bad) {
    Kernel k = loading("mov.u32 %r9, 120; mov.u32 %r8, -16; @%p0 "
                       "cp.async.bulk.shared::cluster."
                       "global.mbarrier::complete_tx::bytes " +
                           b.operands + ";",
                       "");
    k.strict = true; // else what is not used may be undefined
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.finds(b.kind, b.why)) << b.operands << "\n" << k.told();
  }
}

// ---- out: groups, and the async proxy

const char *const fill = R"(
  shl.b32 %r3, %r0, 2;
  add.u32 %r4, %r1, %r3;
  add.u32 %r5, %r0, 500;
  st.shared.u32 [%r4], %r5;
)";
const char *const fence = "fence.proxy.async.shared::cta;\n";
const char *const store =
    "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 128;\n";
const char *const commit = "@%p0 cp.async.bulk.commit_group;\n";
const char *const done = "@%p0 cp.async.bulk.wait_group 0;\n";
const char *const read = "@%p0 cp.async.bulk.wait_group.read 0;\n";
const char *const sync = "bar.sync 0;\n";

std::string operator+(const char *a, const std::string &b) {
  return std::string(a) + b;
}
std::string all(std::initializer_list<const char *> parts) {
  std::string s;
  for (const char *p : parts)
    s += p;
  return s;
}

TEST(Bulk, StoresBehindAProxyFence) {
  for (const std::string &text :
       {all({fill, fence, sync, store, commit, done}),
        all({fill, fence, sync, store, commit, read}),
        all({fill, sync, fence, store, commit, done})}) {
    Kernel k = loading(text, "");
    ASSERT_TRUE(k.runClean(12)) << k.error;
    EXPECT_EQ(k.get<uint32_t>(1), counted(32, 500));
  }
  Kernel no = loading(all({fill, sync, store, commit, done}), "");
  ASSERT_TRUE(no.run());
  EXPECT_TRUE(no.finds(FindingKind::Race, "without a proxy fence"))
      << no.told();
  Kernel unordered = loading(all({fill, fence, store, commit, done}), "");
  ASSERT_TRUE(unordered.run());
  EXPECT_TRUE(unordered.finds(FindingKind::Race,
                              "reads memory that another thread writes"));
}

// PTX ISA 9.7.13.4: a proxy fence of one state space orders that alone.
TEST(Bulk, ProxyFencesAreOfAStateSpace) {
  auto unfenced = [](Kernel k) {
    EXPECT_TRUE(k.run()) << k.error;
    bool found = k.finds(FindingKind::Race, "without a proxy fence");
    EXPECT_EQ(k.findings.empty(), !found) << k.told();
    return found;
  };
  // Thread 0 writes what its copy takes: from shared memory, from global.
  const std::string start = "@%p0 st.global.u32 [%rd0], 7;\n";
  for (const char *space :
       {"", ".shared::cta", ".shared::cluster", ".global"}) {
    const std::string name = space,
                      between = "fence.proxy.async" + name + ";\n";
    EXPECT_EQ(
        unfenced(loading(fill + between + sync + store + commit + done, "")),
        name == ".global")
        << name;
    EXPECT_EQ(
        unfenced(loading(fill + (sync + between) + store + commit + done, "")),
        name == ".global")
        << name;
    EXPECT_EQ(unfenced(loading(start + between + expect(128) + load + landed)),
              name == ".shared::cta" || name == ".shared::cluster")
        << name;
  }
  // From the generic to the async proxy: by who releases, or who acquires.
  const std::string released = "fence.proxy.async::generic.release."
                               "sync_restrict::shared::cta.cluster;\n",
                    acquired = "fence.proxy.async::generic.acquire."
                               "sync_restrict::shared::cluster.cluster;\n",
                    meet = "barrier.cluster.arrive.relaxed;\n"
                           "barrier.cluster.wait.acquire;\n";
  Kernel both =
      loading(fill + released + meet + acquired + store + commit + done, "");
  EXPECT_TRUE(both.runClean(6)) << both.told();
  Kernel taker = loading(fill + (sync + acquired) + store + commit + done, "");
  EXPECT_TRUE(taker.runClean(6)) << taker.told();
  Kernel none = loading(fill + meet + acquired + store + commit + done, "");
  ASSERT_TRUE(none.run());
  EXPECT_TRUE(none.finds(FindingKind::Race, "")) << none.told();
}

TEST(Bulk, BuffersAreFreeWhenTheyAreRead) {
  std::string again = "st.shared.u32 [%r4], 1;\n";
  Kernel good =
      loading(all({fill, fence, sync, store, commit, read, sync}) + again, "");
  ASSERT_TRUE(good.runClean(12)) << good.error;
  EXPECT_EQ(good.get<uint32_t>(1), counted(32, 500));
  Kernel bad =
      loading(all({fill, fence, sync, store, commit, sync}) + again + done, "");
  ASSERT_TRUE(bad.run());
  EXPECT_TRUE(
      bad.finds(FindingKind::Race, "writes memory that another thread reads"));
  Kernel more = loading(all({fill, fence, sync, store, commit}) +
                            "@%p0 cp.async.bulk.wait_group.read 1;\n" + sync +
                            again + done,
                        "");
  ASSERT_TRUE(more.run());
  EXPECT_TRUE(
      more.finds(FindingKind::Race, "writes memory that another thread reads"));
}

// .read says nothing of the writes.
TEST(Bulk, ResultsAreThereWhenTheGroupIsComplete) {
  std::string look = "@%p0 ld.global.u32 %r9, [%rd1];\n";
  Kernel good =
      loading(all({fill, fence, sync, store, commit, done}) + look, "");
  EXPECT_TRUE(good.runClean(12)) << good.error;
  Kernel bad =
      loading(all({fill, fence, sync, store, commit, read}) + look + done, "");
  ASSERT_TRUE(bad.run());
  EXPECT_TRUE(
      bad.finds(FindingKind::Race, "reads memory that another thread writes"));
}

TEST(Bulk, NobodyEndsWhileSharedMemoryIsRead) {
  for (const std::string &text : {all({fill, fence, sync, store, commit}),
                                  all({fill, fence, sync, store}),
                                  all({fill, fence, sync, store, done})}) {
    Kernel k = loading(text, "");
    ASSERT_TRUE(k.run());
    EXPECT_TRUE(k.finds(FindingKind::InvalidOperation,
                        "exits while its bulk copies may still read"))
        << k.told();
  }
}

// A buffer that a store reads from is free for what the async proxy writes,
// too, only when the group was committed and waited for.
TEST(Bulk, BuffersAreFreeForTheNextLoad) {
  const std::string again = expect(128) + load + landed;
  auto kernel = [&](const std::string &commit, const std::string &read) {
    Kernel k = loading(all({fill, fence, sync, store}) + commit + read + sync +
                           again + done,
                       "");
    EXPECT_TRUE(k.run()) << k.error;
    return k;
  };
  EXPECT_TRUE(kernel(commit, read).findings.empty())
      << kernel(commit, read).told();
  for (auto [c, r] :
       {std::pair<std::string, std::string>{"", read}, {commit, ""}, {"", ""}})
    EXPECT_TRUE(
        kernel(c, r).finds(FindingKind::Race, "writes memory that another"))
        << kernel(c, r).told();
}

// The init is told to the async proxy by a fence, of whichever side.
TEST(Bulk, InitsWantAFence) {
  const std::string init = "@%p0 fence.mbarrier_init.release.cluster;\n";
  for (const std::string &other :
       {std::string(), std::string("@%p0 fence.proxy.async.shared::cta;\n")})
    for (const char *later : {"", "fence.proxy.async;\n"}) {
      Kernel k = loading(later + expect(128) + load + landed);
      ASSERT_TRUE(k.run()) << k.error;
      EXPECT_EQ(k.told(), "");
      k.body.replace(k.body.find(init), init.size(), other);
      ASSERT_TRUE(k.run()) << k.error;
      bool missing = other.empty() && !*later;
      EXPECT_EQ(k.finds(FindingKind::MissingInitFence,
                        "whose init is not visible to the async proxy"),
                missing);
      EXPECT_EQ(k.findings.size(), missing) << k.told();
    }
  EXPECT_TRUE(isTolerated(FindingKind::MissingInitFence));
}

// Of two CTAs, or beside a reduction, one value at one place is a race; of one
// CTA it is not, as the first or the second makes no difference.
TEST(Bulk, StoresOfOneValue) {
  auto kinds = [](const std::string &stores, uint32_t grid) {
    std::set<std::string> found;
    for (uint64_t seed : {0, 1, 2}) {
      Kernel k =
          loading(all({fill, fence, sync}) + stores + all({commit, done}), "");
      k.grid = grid;
      k.seed = seed;
      EXPECT_TRUE(k.run()) << k.error;
      for (const Finding &f : k.findings)
        found.insert(nameOf(f.kind));
    }
    return found;
  };
  using Kinds = std::set<std::string>;
  const std::string other =
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 128;\n"
      "@%p1 cp.async.bulk.commit_group;\n"
      "@%p1 cp.async.bulk.wait_group 0;\n";
  const std::string second = "mov.u32 %r9, %tid.x;\n"
                             "setp.eq.u32 %p1, %r9, 1;\n";
  EXPECT_EQ(kinds(store, 1), Kinds{});
  EXPECT_EQ(kinds(store, 2), Kinds{"race"});
  EXPECT_EQ(kinds(second + store + other, 1), Kinds{"benign-race"});
  std::string nothing = other;
  nothing.replace(nothing.find("cp.async.bulk.global"), 20,
                  "cp.reduce.async.bulk.global");
  nothing.replace(nothing.find("bulk_group"), 10, "bulk_group.max.u32");
  EXPECT_TRUE(kinds(second + nothing + store, 1).count("race"));
}

// ---- reductions into global memory

template <typename T>
void reduction(const std::string &words, std::vector<T> sources,
               std::vector<T> olds, std::vector<T> expected) {
  size_t n = sources.size();
  ASSERT_EQ(n * sizeof(T), 16u) << words;
  Kernel k;
  k.shared = ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;";
  k.body = begin +
           std::string("@%p0 ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd0];"
                       "@%p0 st.shared.v4.u32 [%r1], {%r5, %r6, %r7, %r8};") +
           fence + "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group." +
           words + " [%rd1], [%r1], 16;\n" + commit + done;
  k.array(sources).array(olds);
  ASSERT_TRUE(k.runClean(3)) << words << k.error;
  EXPECT_EQ(k.get<T>(1), expected) << words;
}

TEST(Bulk, Reduces) {
  using U = std::vector<uint32_t>;
  using S = std::vector<int32_t>;
  using L = std::vector<uint64_t>;
  using M = std::vector<int64_t>;
  using H = std::vector<uint16_t>;
  reduction("add.u32", U{1, 2, ~0u, 4}, U{5, 6, 7, 8}, U{6, 8, 6, 12});
  reduction("add.s32", S{-1, 2, 3, 4}, S{5, 6, 7, -8}, S{4, 8, 10, -4});
  reduction("add.u64", L{1ull << 40, ~0ull}, L{5, 6}, L{(1ull << 40) + 5, 5});
  reduction("min.u32", U{1, 9, ~0u, 4}, U{5, 6, 7, 8}, U{1, 6, 7, 4});
  reduction("min.s32", S{-1, 9, 3, 4}, S{5, 6, -7, 8}, S{-1, 6, -7, 4});
  reduction("max.s32", S{-1, 9, 3, 4}, S{5, 6, -7, 8}, S{5, 9, 3, 8});
  reduction("max.u64", L{~0ull, 1}, L{5, 6}, L{~0ull, 6});
  reduction("min.s64", M{-2, 1}, M{5, -6}, M{-2, -6});
  reduction("inc.u32", U{5, 5, 5, 0}, U{4, 5, 9, 0}, U{5, 0, 0, 0});
  reduction("dec.u32", U{5, 5, 5, 5}, U{4, 0, 9, 5}, U{3, 5, 5, 4});
  reduction("and.b32", U{12, 1, ~0u, 0}, U{10, 2, 7, 8}, U{8, 0, 7, 0});
  reduction("or.b64", L{12, 1}, L{3, 8}, L{15, 9});
  reduction("xor.b32", U{12, 1, ~0u, 0}, U{10, 2, 0, 8}, U{6, 3, ~0u, 8});
  reduction("add.f32", std::vector<float>{1.5f, -2, 1e-40f, 3},
            std::vector<float>{2, 2, 0, 1e30f},
            std::vector<float>{3.5f, 0, 0, 1e30f}); // subnormals are zero
  reduction("add.f64", std::vector<double>{1.5, -2},
            std::vector<double>{2, 1e300}, std::vector<double>{3.5, 1e300});
  // f16: 1, 2, the least subnormal, -1 ... bf16 the same.
  reduction("add.noftz.f16", H{0x3c00, 0x4000, 1, 0xbc00, 0x7bff, 0, 0, 0x3c00},
            H{0x3c00, 0x3c00, 1, 0x3c00, 0x7bff, 0, 0x8000, 0x6800},
            H{0x4000, 0x4200, 2, 0, 0x7c00, 0, 0, 0x6800});
  reduction("add.noftz.bf16", H{0x3f80, 0x4000, 1, 0xbf80, 0, 0, 0, 0},
            H{0x3f80, 0x3f80, 1, 0x3f80, 0, 0, 0, 1},
            H{0x4000, 0x4040, 2, 0, 0, 0, 0, 1});
  reduction("min.f16", H{0x3c00, 0xbc00, 0, 0, 0, 0, 0, 0},
            H{0x4000, 0x4000, 1, 0, 0, 0, 0, 0},
            H{0x3c00, 0xbc00, 0, 0, 0, 0, 0, 0});
  reduction("max.bf16", H{0x3f80, 0xbf80, 1, 0, 0, 0, 0, 0},
            H{0x4000, 0x4000, 0, 0, 0, 0, 0, 0},
            H{0x4000, 0x4000, 1, 0, 0, 0, 0, 0});
}

// Every CTA adds to the same words: reductions do not race with each other.
TEST(Bulk, ReductionsOfManyCtas) {
  Kernel k;
  k.shared = ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;";
  k.body =
      begin + all({fill, fence, sync,
                   "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group."
                   "add.u32 [%rd1], [%r1], 128;\n",
                   commit, done});
  k.grid = 16;
  k.array(counted(4)).array(std::vector<uint32_t>(32, 1));
  ASSERT_TRUE(k.runClean(4)) << k.error;
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(k.get<uint32_t>(1)[i], 1 + 16 * (500 + i));
  // Stores do, of one value, too: a tile that two CTAs write is no flag.
  size_t at = k.body.find("cp.reduce");
  k.body.replace(at, k.body.find("[%rd1]") - at,
                 "cp.async.bulk.global.shared::cta.bulk_group ");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "writes memory that another thread writes"));
  const std::string value = "add.u32 %r5, %r0, 500;";
  at = k.body.find(value);
  k.body.replace(at, value.size(), "mov.u32 %r5, %ctaid.x;");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "writes memory that another thread writes"));
}

TEST(Bulk, PrefetchesAreHints) {
  Kernel k = loading("cp.async.bulk.prefetch.L2.global [%rd0], 128;", "");
  EXPECT_TRUE(k.runClean(1)) << k.error;
  Kernel bad = loading(
      "mov.u32 %r9, 100; cp.async.bulk.prefetch.L2.global [%rd0], %r9;", "");
  ASSERT_TRUE(bad.run());
  EXPECT_TRUE(bad.finds(FindingKind::InvalidOperation, "100 bytes"));
}

// ---- what is refused

TEST(Bulk, RefusesWhatIsNotThere) {
  const std::string in = "cp.async.bulk.shared::cluster.global.mbarrier::"
                         "complete_tx::bytes",
                    cta = "cp.async.bulk.shared::cta.global.mbarrier::"
                          "complete_tx::bytes",
                    to = "cp.async.bulk.global.shared::cta.bulk_group",
                    red = "cp.reduce.async.bulk.global.shared::cta.bulk_group",
                    ds = "cp.reduce.async.bulk.shared::cluster.shared::cta."
                         "mbarrier::complete_tx::bytes",
                    three = " [%rd1], [%r1], 16;",
                    four = " [%r1], [%rd1], 16, [%r2];";
  struct {
    std::string text, version, why;
  } bad[] = {
      {in + four, "7.8", "PTX 8.0"},
      {cta + four, "8.5", "PTX 8.6"},
      {cta + ".multicast::cluster [%r1], [%rd1], 16, [%r2], %h0;", "8.8",
       "unknown modifier '.multicast::cluster'"},
      {in + " [%r1], [%rd1], 100, [%r2];", "8.8", "moves 100 bytes"},
      {in + " [%r1], [%rd1], 16;", "8.8", "expects more than 3 operands"},
      {in + ".bulk_group" + four, "8.8", "unknown modifier '.bulk_group'"},
      {to + ".cp_mask [%rd1], [%r1], 16, %h0;", "8.8",
       "unknown modifier '.cp_mask'"},
      {"cp.async.bulk.global.shared::cluster.bulk_group" + three, "8.8",
       "cannot copy between these state spaces"},
      {"cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes"
       " [%r1], [%r1], 16, [%r2];",
       "8.8", "cannot copy between these state spaces"},
      {red + three, "8.8", "needs one of .and"},
      {red + ".add.f16" + three, "8.8", "needs .noftz"},
      {red + ".add.noftz.f32" + three, "8.8", ".noftz"},
      {red + ".max.f32" + three, "8.8", "does not support this reduction"},
      {red + ".add.s64" + three, "8.8", "does not support this reduction"},
      {red + ".inc.s32" + three, "8.8", "does not support this reduction"},
      {red + ".and.u32" + three, "8.8", "does not support this reduction"},
      {ds + ".add.f32 [%r1], [%r1], 16, [%r2];", "8.8",
       "does not support this reduction"},
      {ds + ".and.b64 [%r1], [%r1], 16, [%r2];", "8.8",
       "does not support this reduction"},
      {"cp.async.bulk.wait_group.write 0;", "8.8", "'.write'"},
      {"cp.async.bulk.commit_group 0;", "8.8", "does not take 1 operands"},
  };
  for (auto &b : bad)
    expectRefused(b.text, b.version, b.why);
}

} // namespace
