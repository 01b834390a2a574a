// SPDX-License-Identifier: Apache-2.0
//
// cp.async and its groups: what arrives, when it may be read, what is refused.
#include "test/runtime/sim/CopyKernels.h"
#include "test/runtime/sim/RunSnippet.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace act::runtime::sim;

namespace {

TEST(Copy, MovesFourEightAndSixteenBytes) {
  struct {
    const char *text;
    unsigned bytes;
  } forms[] = {
      {"cp.async.ca.shared.global [%r2], [%rd1], 4;", 4},
      {"cp.async.ca.shared::cta.global.L2::64B [%r2], [%rd1], 8;", 8},
      {"cp.async.ca.shared.global [%r2], [%rd1], 16;", 16},
      {"cp.async.cg.shared.global.L2::256B [%r2], [%rd1], 16;", 16},
      {"createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;"
       "cp.async.cg.shared.global.L2::cache_hint [%r2], [%rd1], 16, %rd9;",
       16}};
  for (auto &form : forms) {
    Kernel k = copying("st.shared.v4.u32 [%r2], {7, 7, 7, 7};" +
                           std::string(form.text),
                       "cp.async.wait_all;");
    ASSERT_TRUE(k.runClean()) << form.text << k.error;
    auto got = k.get<uint32_t>(1);
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(got[i], i % 4 * 4 < form.bytes ? 1000 + i : 7)
          << form.text << " word " << i;
    EXPECT_EQ(k.counters.asyncBytes, 32 * form.bytes);
    EXPECT_EQ(k.counters.globalLoadBytes, 32 * form.bytes);
  }
}

// The bytes beyond src-size are zero, and are not read: the last lanes' source
// is outside of all allocations.
TEST(Copy, FillsWithZerosBeyondTheSource) {
  for (unsigned size : {0u, 1u, 4u, 7u, 12u, 16u}) {
    Kernel k = copying("cp.async.ca.shared.global [%r2], [%rd1], 16, " +
                           std::to_string(size) + ";",
                       "cp.async.wait_all;");
    ASSERT_TRUE(k.runClean(3)) << k.error;
    auto got = k.get<uint8_t>(1);
    auto source = counted(256);
    const auto *bytes = reinterpret_cast<const uint8_t *>(source.data());
    for (unsigned i = 0; i < 512; ++i)
      EXPECT_EQ(got[i], i % 16 < size ? bytes[i] : 0) << size << " byte " << i;
  }
  Kernel k = copying("setp.lt.u32 %p0, %r0, 16; selp.b32 %r9, 16, 0, %p0;"
                     "add.u64 %rd1, %rd1, 768;"
                     "cp.async.cg.shared.global [%r2], [%rd1], 16, %r9;",
                     "cp.async.wait_all;");
  ASSERT_TRUE(k.runClean(3)) << k.error;
  EXPECT_EQ(k.get<uint32_t>(1)[63], 1255u);
  EXPECT_EQ(k.get<uint32_t>(1)[64], 0u);
  Kernel ignoring = copying("setp.ge.u32 %p0, %r0, 16;"
                            "add.u64 %rd1, %rd1, 768;"
                            "cp.async.cg.shared.global [%r2], [%rd1], 16, %p0;",
                            "cp.async.wait_all;");
  ASSERT_TRUE(ignoring.runClean(3)) << ignoring.error;
  EXPECT_EQ(ignoring.get<uint32_t>(1), k.get<uint32_t>(1));
}

// Two groups; the first is used while the second is under way.
TEST(Copy, GroupsCompleteInOrder) {
  const char *two = "cp.async.cg.shared.global [%r2], [%rd1], 16;"
                    "cp.async.commit_group;"
                    "cp.async.cg.shared.global [%r2+512], [%rd1+512], 16;"
                    "cp.async.commit_group;";
  Kernel k = copying(two, "cp.async.wait_group 1;");
  ASSERT_TRUE(k.runClean(12)) << k.error;
  EXPECT_EQ(k.get<uint32_t>(1)[5], 1005u);

  Kernel early = copying(two, "cp.async.wait_group 2;");
  ASSERT_TRUE(early.run()) << early.error;
  EXPECT_TRUE(
      early.finds(FindingKind::Race, "reads memory that another thread writes"))
      << early.told();
  Kernel second = copying(two, "cp.async.wait_group 1; add.u32 %r2, %r2, 512;");
  ASSERT_TRUE(second.run());
  EXPECT_TRUE(second.finds(FindingKind::Race,
                           "reads memory that another thread writes"));
  // An empty group counts.
  Kernel empty = copying(std::string(two) + "cp.async.commit_group;",
                         "cp.async.wait_group 1; add.u32 %r2, %r2, 512;");
  ASSERT_TRUE(empty.runClean()) << empty.error;
  EXPECT_EQ(empty.get<uint32_t>(1)[5], 1133u);
}

TEST(Copy, UncommittedCopiesAreInNoGroup) {
  Kernel k = copying("cp.async.cg.shared.global [%r2], [%rd1], 16;",
                     "cp.async.wait_group 0;");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "reads memory that another thread writes"));
  // Values go wrong too, for some seed.
  bool wrong = false;
  for (k.seed = 1; k.seed < 20; ++k.seed) {
    ASSERT_TRUE(k.run());
    wrong |= k.get<uint32_t>(1)[0] != 1000u;
  }
  EXPECT_TRUE(wrong);
}

TEST(Copy, OthersNeedABarrier) {
  const char *copy = "cp.async.cg.shared.global [%r2], [%rd1], 16;";
  const char *others = "xor.b32 %r1, %r1, 16; mov.u32 %r3, s;"
                       "add.u32 %r2, %r3, %r1;";
  Kernel k = copying(copy, std::string("cp.async.wait_all;") + others);
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "reads memory that another thread writes"));
  Kernel good =
      copying(copy, std::string("cp.async.wait_all; bar.sync 0;") + others);
  ASSERT_TRUE(good.runClean()) << good.error;
  EXPECT_EQ(good.get<uint32_t>(1)[0], 1004u);
}

TEST(Copy, TheSourceStaysUntilItIsRead) {
  const char *copy = "cp.async.cg.shared.global [%r2], [%rd1], 16;";
  const char *change = "st.global.u32 [%rd1], 5;";
  Kernel k = copying(copy, std::string(change) + "cp.async.wait_all;");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "writes memory that another thread reads"));
  Kernel good = copying(copy, std::string("cp.async.wait_all;") + change);
  EXPECT_TRUE(good.runClean()) << good.error;
}

TEST(Copy, CopiesAreNotOrderedAmongThemselves) {
  Kernel k = copying("cp.async.cg.shared.global [%r2], [%rd1], 16;"
                     "cp.async.cg.shared.global [%r2], [%rd1+512], 16;",
                     "cp.async.wait_all;");
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "writes memory that another thread writes"));
}

TEST(Copy, BadAddressesAreFound) {
  struct {
    const char *text;
    FindingKind kind;
  } bad[] = {{"cp.async.cg.shared.global [%r2+8], [%rd1], 16;",
              FindingKind::Misaligned},
             {"cp.async.ca.shared.global [%r2], [%rd1+4], 8;",
              FindingKind::Misaligned},
             {"cp.async.cg.shared.global [%r2+1024], [%rd1], 16;",
              FindingKind::OutOfBounds},
             {"cp.async.cg.shared.global [%r2], [%rd1+1024], 16;",
              FindingKind::OutOfBounds},
             {"cp.async.ca.shared.global [%r2], [%rd3], 16;",
              FindingKind::Uninitialised},
             {"cp.async.ca.shared.global [%r2], [%rd1], 4, 5;",
              FindingKind::InvalidOperation}};
  for (auto &b : bad) {
    Kernel k = copying(b.text, "cp.async.wait_all;");
    k.strict = true; // else what is not used may be undefined
    ASSERT_TRUE(k.run()) << b.text << k.error;
    EXPECT_TRUE(k.finds(b.kind, "")) << b.text << k.told();
  }
}

// ---- what ptxas refuses

TEST(Copy, RefusesWhatIsNotThere) {
  const std::string copy = "cp.async.ca.shared.global [x], [r], ";
  struct {
    std::string text, target, version, why;
  } bad[] = {
      {"cp.async.wait_all;", "sm_75", "7.0", "sm_80"},
      {"cp.async.wait_all;", "sm_80", "6.5", "PTX 7.0"},
      {copy + "12;", "sm_80", "8.0", "copies 12 bytes, expected 4, 8 or 16"},
      {"cp.async.cg.shared.global [x], [r], 8;", "sm_80", "8.0",
       "copies 8 bytes, expected 16"},
      {copy + "x;", "sm_80", "8.0", "must be an integer constant"},
      {"cp.async.ca.shared.global.L2::64B [x], [r], 4;", "sm_80", "7.0",
       "PTX 7.4"},
      {copy + "4, p;", "sm_80", "7.4", "PTX 7.5"},
      {"cp.async.ca.shared.global.L2::32B [x], [r], 4;", "sm_80", "8.0",
       "unknown modifier '.L2::32B'"},
      {"cp.async.shared.global [x], [r], 4;", "sm_80", "8.0",
       "needs one of .ca, .cg"},
      {"cp.async.wait_group x;", "sm_80", "8.0", "integer constant"},
      {"cp.sync.ca.shared.global [x], [r], 4;", "sm_80", "8.0",
       "needs one of .async"},
      {"cp.async.mbarrier.arrive.inc.b64 [r];", "sm_80", "8.0", "'.inc'"},
      {"cp.async.bulk.commit_group;", "sm_80", "8.0", "needs sm_90"},
      {"cp.async.ca.global.shared [x], [r], 4;", "sm_80", "8.0",
       "has .global before .shared"},
  };
  for (auto &b : bad) {
    std::string body =
        "{.reg .b32 x; .reg .b64 r; .reg .pred p;" + b.text + "}";
    std::string target = b.target == "sm_75" ? "sm_80" : b.target;
    Snippet s(body);
    s.target = b.target;
    s.version = b.version;
    Simulator sim(*targetNamed(target), {});
    auto module = sim.load(s.text(), "t");
    ASSERT_FALSE(module) << b.text;
    EXPECT_NE(module.error().str().find(b.why), std::string::npos)
        << module.error().str();
  }
}

} // namespace
