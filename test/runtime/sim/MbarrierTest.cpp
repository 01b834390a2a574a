// SPDX-License-Identifier: Apache-2.0
//
// mbarriers: each form, phases over many rounds, and every way to get them
// wrong. `ring` is the pipeline that real kernels have; mutations of its text
// must be noticed by a check whatever the seed.
#include "test/Samples.h"
#include "test/runtime/sim/RunSnippet.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

const std::string barriers =
    ".shared .align 8 .b64 bar[4];\n"
    ".shared .align 4 .b32 box[64];\n"
    ".global .align 4 .b32 numbers[9] = {0, 1, 2, 3, 4, "
    "5, 6, 7, 8};\n";

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

// Runs a body; what was found, one line each, empty when nothing.
struct Ran {
  std::vector<Finding> findings;
  std::string error;
  std::string all() const {
    std::string s = error;
    for (const Finding &f : findings)
      s += f.str() + "\n";
    return s;
  }
  bool has(FindingKind kind, const std::string &part = "") const {
    for (const Finding &f : findings)
      if (f.kind == kind && f.message.find(part) != std::string::npos)
        return true;
    return false;
  }
};

Ran runBody(const std::string &body, uint32_t threads, uint64_t seed,
            const std::string &target = "sm_90a") {
  Snippet s("{\n" + body + "\n}");
  s.moduleText = barriers;
  s.threads = threads;
  s.target = target;
  s.options.seed = seed;
  s.findingsAllowed = true;
  Ran r;
  if (!s.run())
    r.error = s.error;
  r.findings = s.findings;
  return r;
}

void expectClean(const std::string &body, uint32_t threads,
                 const std::string &target = "sm_90a") {
  for (uint64_t seed = 0; seed < uint64_t(samples(20)); ++seed) {
    Ran r = runBody(body, threads, seed, target);
    EXPECT_EQ(r.all(), "") << "seed " << seed;
  }
}

void expectNoticed(const std::string &body, uint32_t threads, const char *what,
                   uint64_t seeds = uint64_t(samples(20))) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Ran r = runBody(body, threads, seed);
    EXPECT_EQ(r.error, "") << what;
    EXPECT_FALSE(r.findings.empty()) << what << ", seed " << seed;
  }
}

void expectFinding(const std::string &body, FindingKind kind,
                   const std::string &part, uint32_t threads = 32) {
  Ran r = runBody(body, threads, 0);
  EXPECT_TRUE(r.has(kind, part)) << part << "\n" << r.all();
}

// One warp produces, one consumes: two boxes, full and empty barriers, a
// transaction of 16 bytes besides the 32 arrivals.
const std::string ring = R"(
  .reg .pred p, first, producer, more; .reg .b32 t, n, i, slot, parity, other;
  .reg .b32 full, empty, at, v; .reg .b64 state;
  mov.u32 t, %tid.x;
  and.b32 n, t, 31;
  setp.eq.u32 first, t, 0;
  setp.lt.u32 producer, t, 32;
  @first mbarrier.init.shared::cta.b64 [bar], 32;
  @first mbarrier.init.shared::cta.b64 [bar+8], 32;
  @first mbarrier.init.shared::cta.b64 [bar+16], 32;
  @first mbarrier.init.shared::cta.b64 [bar+24], 32;
  bar.sync 0;
  mov.u32 i, 0;
LOOP:
  and.b32 slot, i, 1;
  shr.u32 parity, i, 1;
  and.b32 parity, parity, 1;
  mov.u32 full, bar;
  mad.lo.u32 full, slot, 8, full;
  add.u32 empty, full, 16;
  mov.u32 at, box;
  mad.lo.u32 at, slot, 128, at;
  @!producer bra CONSUME;
  xor.b32 other, parity, 1;
WAIT_EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 p, [empty], other;
  @!p bra WAIT_EMPTY;
  mad.lo.u32 at, n, 4, at;
  st.shared.b32 [at], i;
  setp.eq.u32 p, n, 0;
  @p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 16;
  @p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 16;
  mbarrier.arrive.release.cta.shared::cta.b64 state, [full];
  bra NEXT;
CONSUME:
WAIT_FULL:
  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [full], parity;
  @!p bra WAIT_FULL;
  xor.b32 other, n, 5;
  mad.lo.u32 at, other, 4, at;
  ld.shared.b32 v, [at];
  setp.ne.u32 p, v, i;
  @p trap;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [empty];
NEXT:
  add.u32 i, i, 1;
  setp.lt.u32 more, i, 9;
  @more bra LOOP;
)";

TEST(Mbarrier, RingIsClean) { expectClean(ring, 64); }

TEST(Mbarrier, RingWithOneMistakeIsNoticed) {
  const char *wrong[][2] = {
      // parity
      {"[full], parity;", "[full], other;"},
      {"  xor.b32 other, parity, 1;", "  mov.b32 other, parity;"},
      // arrivals
      {"[bar], 32;", "[bar], 31;"},
      {"[bar], 32;", "[bar], 33;"},
      {"[bar+24], 32;", "[bar+24], 31;"},
      {"[bar+24], 32;", "[bar+24], 33;"},
      // transactions
      {"expect_tx.relaxed.cta.shared::cta.b64 [full], 16;",
       "expect_tx.relaxed.cta.shared::cta.b64 [full], 32;"},
      {"expect_tx.relaxed.cta.shared::cta.b64 [full], 16;",
       "expect_tx.relaxed.cta.shared::cta.b64 [full], 0;"},
      // order
      {"mbarrier.arrive.release.cta.shared::cta.b64 state",
       "mbarrier.arrive.relaxed.cta.shared::cta.b64 state"},
      {"mbarrier.arrive.release.cta.shared::cta.b64 _",
       "mbarrier.arrive.relaxed.cta.shared::cta.b64 _"},
      {"try_wait.parity.acquire.cta.shared::cta.b64 p, [full]",
       "try_wait.parity.relaxed.cta.shared::cta.b64 p, [full]"},
      // what is missing
      {"bar.sync 0;", ""},
      {"mbarrier.arrive.release.cta.shared::cta.b64 _, [empty];", ""},
      {"@first mbarrier.init.shared::cta.b64 [bar+8], 32;", ""},
  };
  for (auto &w : wrong)
    expectNoticed(replaced(ring, w[0], w[1]), 64,
                  (std::string(w[0]) + " -> " + w[1]).c_str());
}

// The same with cp.async, whose arrivals are those of the copies: that the warp
// had looked at the empty slot is known from what it copied then (CUTLASS's
// warps that copy, before there was TMA).
const std::string copied = [] {
  std::string s = replaced(ring, R"(  mad.lo.u32 at, n, 4, at;
  st.shared.b32 [at], i;
  setp.eq.u32 p, n, 0;
  @p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 16;
  @p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 16;
  mbarrier.arrive.release.cta.shared::cta.b64 state, [full];
)",
                           R"(  mad.lo.u32 at, n, 4, at;
  mov.u64 from, numbers;
  mad.wide.u32 from, i, 4, from;
  cp.async.ca.shared.global [at], [from], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [full];
)");
  s = replaced(s, ".reg .b64 state;", ".reg .b64 state, from;");
  for (int k = 0; k < 2; ++k)
    s = replaced(s, "try_wait.parity", "test_wait.parity.aside");
  for (size_t at; (at = s.find(".aside")) != std::string::npos;)
    s.erase(at, 6);
  s = replaced(s, "test_wait.parity.acquire.cta", "test_wait.parity");
  s = replaced(s, "mbarrier.arrive.release.cta.shared::cta.b64 _",
               "mbarrier.arrive.shared.b64 _");
  return s;
}();

TEST(Mbarrier, RingOfCopies) {
  expectClean(copied, 64);
  expectClean(copied, 64, "sm_80");
  const char *wrong[][2] = {
      {"WAIT_EMPTY:\n  mbarrier.test_wait.parity.shared::cta.b64 p, [empty], "
       "other;\n  @!p bra WAIT_EMPTY;",
       ""},
      {"WAIT_FULL:\n  mbarrier.test_wait.parity.shared::cta.b64 p, [full], "
       "parity;\n  @!p bra WAIT_FULL;",
       ""},
      {"  xor.b32 other, parity, 1;", "  mov.b32 other, parity;"},
      {"cp.async.mbarrier.arrive.noinc.shared.b64 [full];",
       "mbarrier.arrive.shared.b64 state, [full];"},
      // Before the copy: it tells of copies, and of no look, of the round
      // before.
      {"  cp.async.ca.shared.global [at], [from], 4;\n"
       "  cp.async.mbarrier.arrive.noinc.shared.b64 [full];",
       "  cp.async.mbarrier.arrive.noinc.shared.b64 [full];\n"
       "  cp.async.ca.shared.global [at], [from], 4;"},
      {"[bar+24], 32;", "[bar+24], 31;"},
  };
  for (auto &w : wrong)
    expectNoticed(replaced(copied, w[0], w[1]), 64,
                  (std::string(w[0]) + " -> " + w[1]).c_str(), 5);
}

// Who goes on after one look has been lucky when the phase had ended: only then
// there is nothing to find.
TEST(Mbarrier, RingWithoutLoopIsNoticedMostly) {
  for (const char *loop : {"@!p bra WAIT_FULL;", "@!p bra WAIT_EMPTY;"}) {
    unsigned noticed = 0;
    for (uint64_t seed = 0; seed < 20; ++seed)
      noticed += !runBody(replaced(ring, loop, ""), 64, seed).findings.empty();
    EXPECT_GE(noticed, 15u) << loop;
  }
}

// Warp 1 looks at phase 0, and again when phase 1 has ended.
TEST(Mbarrier, MissedPhaseIsSaid) {
  expectFinding(R"(
    .reg .pred p, first, second; .reg .b32 t; .reg .b64 s;
    mov.u32 t, %tid.x;
    setp.eq.u32 first, t, 0;
    setp.ge.u32 second, t, 32;
    @first mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0;
    @second mbarrier.test_wait.parity.shared.b64 p, [bar], 0;
    bar.sync 0;
    @first mbarrier.arrive.shared.b64 s, [bar];
    @first mbarrier.test_wait.shared.b64 p, [bar], s;
    @first mbarrier.arrive.shared.b64 s, [bar];
    bar.sync 0;
    @second mbarrier.test_wait.parity.shared.b64 p, [bar], 0;)",
                FindingKind::InvalidOperation, "misses the end of phase 0", 64);
}

TEST(Mbarrier, FencesCarryRelaxedArrivals) {
  std::string body = replaced(
      ring, "  mbarrier.arrive.release.cta.shared::cta.b64 state",
      "  fence.acq_rel.cta;\n  mbarrier.arrive.relaxed.cta.shared::cta.b64 "
      "state");
  body = replaced(
      body, "  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [full]",
      "  mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [full]");
  expectNoticed(body, 64, "no fence behind the wait");
  body = replaced(body, "  xor.b32 other, n, 5;",
                  "  fence.acq_rel.cta;\n  xor.b32 other, n, 5;");
  expectClean(body, 64);
}

// Every thread arrives and waits for the state it was given.
const std::string states = R"(
  .reg .pred p, first, more; .reg .b32 t, i, at, v; .reg .b64 state;
  mov.u32 t, %tid.x;
  setp.eq.u32 first, t, 0;
  @first mbarrier.init.shared.b64 [bar], 64;
  bar.sync 0;
  mov.u32 i, 0;
LOOP:
  and.b32 at, i, 1;
  mov.u32 v, box;
  mad.lo.u32 v, at, 128, v;
  setp.lt.u32 p, t, 32;
  and.b32 at, t, 31;
  mad.lo.u32 at, at, 4, v;
  @p st.shared.b32 [at], i;
  mbarrier.arrive.shared.b64 state, [bar];
WAIT:
  mbarrier.test_wait.shared.b64 p, [bar], state;
  @!p bra WAIT;
  ld.shared.b32 v, [at];
  setp.ne.u32 p, v, i;
  @p trap;
  add.u32 i, i, 1;
  setp.lt.u32 more, i, 12;
  @more bra LOOP;
  bar.sync 0;
  @first mbarrier.inval.shared.b64 [bar];
  bar.sync 0;
  @first st.shared.b64 [bar], state;
)";

TEST(Mbarrier, StatesOverManyPhases) {
  expectClean(states, 64);
  // As sm_80 has it.
  expectClean(states, 64, "sm_80");
}

TEST(Mbarrier, StatesWithOneMistakeAreNoticed) {
  expectNoticed(replaced(states, "[bar], 64", "[bar], 63"), 64, "count");
  expectNoticed(replaced(states, "[bar], 64", "[bar], 65"), 64, "count",
                2); // a deadlock of threads that spin takes its time
  expectNoticed(replaced(states, "  @!p bra WAIT;", ""), 64, "no loop");
  // The barrier before inval orders it behind the others' last look.
  expectNoticed(replaced(states, "  bar.sync 0;\n  @first mbarrier.inval",
                         "  @first mbarrier.inval"),
                64, "no barrier before inval");
  expectNoticed(
      replaced(states, "  @first mbarrier.inval.shared.b64 [bar];", ""), 64,
      "no inval");
}

// ---- one lane alone

const std::string one = R"(
  .reg .pred p, q; .reg .b32 t, x, y; .reg .b64 s, u, a;
  mov.u32 t, %laneid;
  setp.ne.u32 q, t, 0;
  @q bra END;
  mbarrier.init.shared.b64 [bar], 3;
)";
std::string alone(const std::string &body) { return one + body + "\nEND:\n"; }

TEST(Mbarrier, CountsAndDrop) {
  Snippet s("{\n" + alone(R"(
    mbarrier.arrive.noComplete.shared.b64 s, [bar], 2;
    mbarrier.pending_count.b64 c0, s;
    mbarrier.arrive.shared.b64 u, [bar];
    mbarrier.test_wait.shared.b64 p, [bar], s;
    selp.u32 c1, 1, 0, p;
    mbarrier.test_wait.parity.shared.b64 p, [bar], 1;
    selp.u32 c2, 1, 0, p;
    mbarrier.arrive_drop.noComplete.shared.b64 s, [bar], 1;
    mbarrier.pending_count.b64 c3, s;
    mbarrier.arrive.shared.b64 u, [bar], 2;
    mbarrier.test_wait.shared.b64 p, [bar], u;
    selp.u32 c4, 1, 0, p;
    mbarrier.arrive.noComplete.shared.b64 s, [bar], 1;
    mbarrier.pending_count.b64 c5, s;
    cvta.shared.u64 a, bar;
    mbarrier.arrive_drop.expect_tx.b64 u, [a], 64;
    mbarrier.try_wait.b64 p, [a], u, 1000;
    selp.u32 c6, 1, 0, p;
    mbarrier.complete_tx.b64 [a], 64;
    mbarrier.test_wait.b64 p, [a], u;
    selp.u32 c7, 1, 0, p;
    mbarrier.inval.b64 [a];
    mbarrier.init.b64 [a], 1048575;
    mbarrier.arrive.noComplete.b64 s, [a], 1;
    mbarrier.pending_count.b64 c8, s;)") +
            "\n}");
  s.moduleText = barriers;
  const uint32_t expected[] = {3, 1, 0, 3, 1, 2, 0, 1, 1048575};
  for (unsigned k = 0; k < 9; ++k)
    s.out<uint32_t>("c" + std::to_string(k));
  s.findingsAllowed = true; // the other lanes' results are not written
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned k = 0; k < 9; ++k)
    EXPECT_EQ(s.get<uint32_t>("c" + std::to_string(k))[0], expected[k]) << k;
  for (const Finding &f : s.findings)
    EXPECT_EQ(f.kind, FindingKind::Uninitialised) << f.str();
}

TEST(Mbarrier, MisuseIsSaid) {
  auto invalid = [](const std::string &body, const std::string &part) {
    expectFinding(alone(body), FindingKind::InvalidOperation, part);
  };
  invalid("mbarrier.arrive.shared.b64 s, [bar+8];", "not initialised");
  invalid("mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 s, "
          "[bar];",
          "was invalidated");
  invalid("mbarrier.arrive.shared.b64 s, [bar]; mbarrier.init.shared.b64 "
          "[bar], 1;",
          "initialises an mbarrier that is in use");
  invalid("mbarrier.init.shared.b64 [bar+8], 0;", "with 0 arrivals");
  invalid("mbarrier.init.shared.b64 [bar+8], 1048576;", "1048576 arrivals");
  invalid("mbarrier.arrive.shared.b64 s, [bar], 4;",
          "arrives 4 times at an mbarrier with 3 of 3 arrivals pending");
  invalid("mbarrier.arrive.shared.b64 s, [bar], 0;", "arrives 0 times");
  invalid("mbarrier.arrive.noComplete.shared.b64 s, [bar], 3;",
          "with .noComplete");
  invalid("mbarrier.expect_tx.shared.b64 [bar], 1048576;",
          "makes an mbarrier expect 1048576 bytes");
  invalid("mbarrier.complete_tx.shared.b64 [bar], 1048576;", "bytes to come");
  invalid("mbarrier.arrive.shared.b64 s, [bar]; mbarrier.pending_count.b64 x, "
          "s;",
          "no arrival with .noComplete");
  invalid("mov.u64 s, 12; mbarrier.test_wait.shared.b64 p, [bar], s;",
          "a state that no arrival at it returned");
  invalid("mbarrier.test_wait.parity.shared.b64 p, [bar], 2;", "parity 2");
  invalid("mbarrier.arrive.shared.b64 s, [bar], 3; "
          "mbarrier.arrive.shared.b64 u, [bar], 3;",
          "before any wait observed the end of phase 0");
  invalid("mbarrier.arrive.shared.b64 s, [bar], 3; "
          "mbarrier.test_wait.shared.b64 p, [bar], s; "
          "mbarrier.arrive.shared.b64 u, [bar], 3; "
          "mbarrier.test_wait.shared.b64 p, [bar], s;",
          "tests phase 0 of an mbarrier that is in phase 2");
  invalid("mbarrier.arrive.shared.b64 s, [bar]; ld.shared.b32 x, [bar+4];",
          "reads the bytes of a live mbarrier, which are opaque");
  invalid("mbarrier.arrive.shared.b64 s, [bar]; st.shared.b32 [bar], t;",
          "overwrites an mbarrier");
  invalid("st.shared.b32 [bar], t; mbarrier.arrive.shared.b64 s, [bar];",
          "that was overwritten");
  expectFinding(alone("mbarrier.arrive.shared.b64 s, [bar+4];"),
                FindingKind::Misaligned, "");
  expectFinding(alone("mbarrier.inval.shared.b64 [bar]; "
                      "ld.shared.b64 s, [bar]; setp.eq.u64 p, s, 0;"
                      "@p ret;"),
                FindingKind::Uninitialised, "never written");
}

TEST(Mbarrier, DeadlockSaysWhatIsMissing) {
  for (const char *wait : {"try_wait", "test_wait"})
    for (uint64_t seed : {0, 1, 2, 3}) {
      Ran r = runBody(alone("mbarrier.arrive.expect_tx.shared.b64 s, [bar], 48;"
                            "\nW: mbarrier." +
                            std::string(wait) +
                            ".shared.b64 p, [bar], s;\n@!p bra W;"),
                      32, seed);
      EXPECT_TRUE(r.has(FindingKind::Deadlock,
                        "phase 0 of an mbarrier: 2 of 3 arrivals and 48 bytes "
                        "of transactions are missing"))
          << wait << seed << r.all();
    }
}

TEST(Mbarrier, RefusesWhatPtxasRefuses) {
  const std::string d = "{.reg .pred p; .reg .b32 x; .reg .b64 r, s; ";
  auto why = [&](const char *spelling, const char *target,
                 const char *version) {
    return whyNot(d + spelling + "}", target, version);
  };
  const char *old = "sm_80", *all = "8.8", *now = "sm_90";
  for (const char *good :
       {"mbarrier.init.b64 [s], 0;", "mbarrier.arrive.shared.b64 _, [x];",
        "mbarrier.arrive.noComplete.release.cta.shared.b64 r, [x], 2;",
        "mbarrier.arrive_drop.noComplete.shared.b64 _, [x], 1;",
        "mbarrier.pending_count.b64 x, r;"}) {
    EXPECT_EQ(why(good, old, all), "") << good;
    EXPECT_EQ(why(good, now, all), "") << good;
  }
  for (const char *newer :
       {"mbarrier.arrive.b64 r, [s], 3;",
        "mbarrier.arrive.shared::cluster.b64 _, [x];",
        "mbarrier.arrive.relaxed.cta.shared.b64 _, [x];",
        "mbarrier.arrive.release.cluster.shared.b64 _, [x];",
        "mbarrier.try_wait.shared.b64 p, [x], r, x;",
        "mbarrier.try_wait.parity.shared.b64 p, [x], x, 100;",
        "mbarrier.expect_tx.shared.b64 [x], 8;",
        "mbarrier.arrive.expect_tx.b64 _, [s], x;",
        "mbarrier.arrive_drop.expect_tx.shared.b64 r, [x], x;",
        "mbarrier.arrive_drop.shared.b64 r, [x], 1;"}) {
    EXPECT_NE(why(newer, old, all), "") << newer;
    EXPECT_EQ(why(newer, now, all), "") << newer;
  }
  for (const char *bad :
       {"mbarrier.init.shared::cluster.b64 [x], 3;",
        "mbarrier.init.global.b64 [s], 3;",
        "mbarrier.arrive.noComplete.b64 r, [s];",
        "mbarrier.arrive.shared::cluster.b64 r, [x];",
        "mbarrier.arrive.release.shared.b64 _, [x];",
        "mbarrier.arrive.cta.shared.b64 _, [x];",
        "mbarrier.arrive.noComplete.release.cluster.shared.b64 r, [x], 2;",
        "mbarrier.arrive.release.gpu.shared.b64 _, [x];",
        "mbarrier.test_wait.shared.b64 p, [x], r, 100;",
        "mbarrier.test_wait.parity.shared::cluster.b64 p, [x], x;",
        "mbarrier.expect_tx.release.cta.shared.b64 [x], 8;",
        "mbarrier.pending_count.shared.b64 x, r;",
        "mbarrier.arrive.expect_tx.noComplete.b64 r, [s], x;"})
    EXPECT_NE(why(bad, now, all), "") << bad;
  EXPECT_NE(why("mbarrier.arrive.relaxed.cta.shared.b64 _, [x];", now, "8.5"),
            "");
  EXPECT_NE(why("mbarrier.arrive.shared.b64 _, [x];", old, "7.0"), "");
  EXPECT_NE(why("mbarrier.arrive.shared::cta.b64 r, [x];", old, "7.7"), "");
  EXPECT_NE(why("mbarrier.test_wait.parity.shared.b64 p, [x], x;", old, "7.0"),
            "");
}

} // namespace
