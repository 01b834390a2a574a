// SPDX-License-Identifier: Apache-2.0
//
// shfl, vote, match, redux, elect, activemask.
#include "test/runtime/sim/CheckOperation.h"
#include "test/runtime/sim/RunKernel.h"
#include <algorithm>

using namespace act::runtime::sim;

namespace {

using U = uint32_t;

/// The source lane by 9.7.9.6; `inside` is the predicate.
int sourceOf(const std::string &mode, int lane, int b, int c, bool &inside) {
  int bval = b & 31, cval = c & 31, segment = c >> 8 & 31;
  int most = (lane & segment) | (cval & ~segment), least = lane & segment, j;
  if (mode == "up") {
    j = lane - bval;
    inside = j >= most;
  } else if (mode == "down") {
    j = lane + bval;
    inside = j <= most;
  } else if (mode == "bfly") {
    j = lane ^ bval;
    inside = j <= most;
  } else {
    j = least | (bval & ~segment);
    inside = j <= most;
  }
  return inside ? j : lane;
}

TEST(Shfl, AllModesAndSegments) {
  for (const char *mode : {"up", "down", "bfly", "idx"})
    for (int width : {32, 16, 8, 4})
      for (int b : {0, 1, 3, 7, 16, 31}) {
        int c = (32 - width) << 8 | (mode[0] == 'u' ? 0 : 31);
        Snippet s("shfl.sync." + std::string(mode) + ".b32 d|p, a, " +
                  std::to_string(b) + ", " + std::to_string(c) +
                  ", 0xffffffff;");
        s.in<U>("a", [](int l) { return U(1000 + l); });
        s.out<U>("d").outPredicate("p");
        ASSERT_TRUE(s.run()) << s.error;
        for (int l = 0; l < 32; ++l) {
          bool inside = false;
          int j = sourceOf(mode, l, b, c, inside);
          EXPECT_EQ(s.get<U>("d")[size_t(l)], U(1000 + j))
              << mode << " width " << width << " by " << b << " lane " << l;
          EXPECT_EQ(s.predicate("p") >> l & 1, U(inside));
        }
      }
}

TEST(Shfl, EachLaneChooses) {
  Snippet s("shfl.sync.idx.b32 d, a, b, 0x1f, -1; shfl.sync.idx.b32 e, a, b, "
            "c, 0xffffffff;");
  s.in<U>("a", [](int l) { return U(l * l); });
  s.in<U>("b", [](int l) { return U(31 - l); });
  s.in<U>("c", [](int l) { return U(l % 2 ? 0x181f : 0x1f); });
  s.out<U>("d").out<U>("e");
  ASSERT_TRUE(s.run()) << s.error;
  for (int l = 0; l < 32; ++l) {
    EXPECT_EQ(s.get<U>("d")[size_t(l)], U((31 - l) * (31 - l)));
    bool inside;
    int j = sourceOf("idx", l, 31 - l, l % 2 ? 0x181f : 0x1f, inside);
    EXPECT_EQ(s.get<U>("e")[size_t(l)], U(j * j));
  }
}

TEST(Shfl, TilesExchangeSideBySide) {
  // Four tiles of eight lanes, each with its own mask, in one instruction.
  Snippet s("shfl.sync.bfly.b32 d, a, 1, 0x181f, m;");
  s.in<U>("a", [](int l) { return U(l); });
  s.in<U>("m", [](int l) { return 0xffu << (l / 8 * 8); });
  s.out<U>("d");
  ASSERT_TRUE(s.run()) << s.error;
  for (U l = 0; l < 32; ++l)
    EXPECT_EQ(s.get<U>("d")[l], l ^ 1);
}

TEST(Shfl, LanesMeetFromTwoBranches) {
  Snippet s(R"(
    { .reg .pred p; .reg .b32 x, y;
      setp.lt.u32 p, lane__, 16;
      mov.u32 x, lane__;
      @p bra UP;
      add.u32 y, x, 100;
      shfl.sync.bfly.b32 d, y, 16, 31, 0xffffffff;
      bra DONE;
    UP:
      shfl.sync.bfly.b32 d, x, 16, 31, 0xffffffff;
    DONE: })");
  s.out<U>("d");
  ASSERT_TRUE(s.run()) << s.error;
  for (U l = 0; l < 32; ++l)
    EXPECT_EQ(s.get<U>("d")[l], l < 16 ? l + 116 : l - 16);
}

TEST(Shfl, FromAnUndefinedLaneIsUndefined) {
  std::string body = "{.reg .b32 x; .reg .pred p; setp.lt.u32 p, lane__, 16; "
                     "@p mov.u32 x, 5; shfl.sync.idx.b32 d, x, ";
  Snippet good(body + "3, 31, -1;}");
  good.out<U>("d");
  EXPECT_TRUE(good.run()) << good.error;
  Snippet bad(body + "20, 31, -1;}");
  bad.out<U>("d");
  EXPECT_FALSE(bad.run());
  ASSERT_FALSE(bad.findings.empty()) << bad.error;
  EXPECT_EQ(bad.findings[0].kind, FindingKind::Uninitialised);
}

TEST(Sync, MaskMustNameItsLane) {
  Snippet s("vote.sync.any.pred p, q, 0xfffffffe;");
  s.inPredicate("q", 1).outPredicate("p");
  EXPECT_FALSE(s.run());
  ASSERT_FALSE(s.findings.empty()) << s.error;
  EXPECT_EQ(s.findings[0].kind, FindingKind::InvalidOperation);
}

TEST(Vote, AllModes) {
  for (uint32_t q : {0u, ~0u, 0x10u, 0xffff0000u}) {
    Snippet s(
        "vote.sync.all.pred all, q, -1; vote.sync.any.pred any, q, -1;"
        "vote.sync.uni.pred uni, q, -1; vote.sync.ballot.b32 b, q, -1;"
        "vote.sync.all.pred none, !q, -1; vote.sync.ballot.b32 n, !q, -1;");
    s.inPredicate("q", q);
    for (const char *name : {"all", "any", "uni", "none"})
      s.outPredicate(name);
    s.out<U>("b").out<U>("n");
    ASSERT_TRUE(s.run()) << s.error;
    auto whole = [](bool x) { return x ? ~0u : 0u; };
    EXPECT_EQ(s.predicate("all"), whole(q == ~0u));
    EXPECT_EQ(s.predicate("any"), whole(q != 0));
    EXPECT_EQ(s.predicate("uni"), whole(q == 0 || q == ~0u));
    EXPECT_EQ(s.predicate("none"), whole(q == 0));
    EXPECT_EQ(s.get<U>("b")[7], q);
    EXPECT_EQ(s.get<U>("n")[7], ~q);
  }
}

TEST(Vote, CountsOnlyMembers) {
  // Lanes 0 to 15 vote among themselves; the others are gone.
  Snippet s(R"(
    { .reg .pred p; setp.ge.u32 p, lane__, 16;
      @p bra OUT;
      vote.sync.ballot.b32 d, q, 0xffff;
      activemask.b32 m;
      bra OUT;
    OUT: })");
  s.inPredicate("q", 0xf0f0f0f0);
  s.out<U>("d").out<U>("m");
  s.findingsAllowed = true; // d is not written in the upper half
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(s.get<U>("d")[3], 0xf0f0u);
  EXPECT_EQ(s.get<U>("m")[3], 0xffffu);
}

TEST(Match, AnyAndAll) {
  Snippet s("match.any.sync.b32 d, a, -1; match.all.sync.b32 e|p, a, -1;"
            "match.all.sync.b64 f|q, b, -1; match.any.sync.b64 g, b, -1;");
  s.in<U>("a", [](int l) { return U(l % 3); });
  s.in<uint64_t>("b", [](int) { return uint64_t(5) << 40; });
  s.out<U>("d").out<U>("e").out<U>("f").out<U>("g");
  s.outPredicate("p").outPredicate("q");
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned l = 0; l < 32; ++l) {
    U same = 0;
    for (unsigned k = 0; k < 32; ++k)
      same |= U(k % 3 == l % 3) << k;
    EXPECT_EQ(s.get<U>("d")[l], same);
    EXPECT_EQ(s.get<U>("e")[l], 0u);
    EXPECT_EQ(s.get<U>("f")[l], ~0u);
    EXPECT_EQ(s.get<U>("g")[l], ~0u);
  }
  EXPECT_EQ(s.predicate("p"), 0u);
  EXPECT_EQ(s.predicate("q"), ~0u);
}

TEST(Redux, AllOperations) {
  Snippet s("redux.sync.add.s32 sum, a, -1; redux.sync.min.s32 least, a, -1;"
            "redux.sync.max.s32 most, a, -1; redux.sync.min.u32 ul, a, -1;"
            "redux.sync.max.u32 um, a, -1; redux.sync.and.b32 all, a, -1;"
            "redux.sync.or.b32 some, a, -1; redux.sync.xor.b32 odd, a, m;");
  auto value = [](int l) { return int32_t(U(l - 9) * 0x0f7f1351u); };
  s.in<int32_t>("a", value);
  s.in<U>("m", [](int l) { return l < 16 ? 0xffffu : 0xffff0000u; });
  const char *names[] = {"sum", "least", "most", "ul",
                         "um",  "all",   "some", "odd"};
  for (const char *name : names)
    s.out<U>(name);
  ASSERT_TRUE(s.run()) << s.error;
  U sum = 0, all = ~0u, some = 0, odd[2] = {}, ul = ~0u, um = 0;
  int32_t least = INT32_MAX, most = INT32_MIN;
  for (int l = 0; l < 32; ++l) {
    int32_t v = value(l);
    sum += U(v), all &= U(v), some |= U(v), odd[l / 16] ^= U(v);
    ul = std::min(ul, U(v)), um = std::max(um, U(v));
    least = std::min(least, v), most = std::max(most, v);
  }
  U expected[] = {sum, U(least), U(most), ul, um, all, some, odd[0]};
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(s.get<U>(names[k])[2], expected[k]) << names[k];
  EXPECT_EQ(s.get<U>("odd")[20], odd[1]);
}

TEST(Elect, OneLeads) {
  Snippet s("elect.sync d|p, 0xffffffff; elect.sync _|q, m;");
  s.in<U>("m", [](int l) { return l < 16 ? 0xffffu : 0xffff0000u; });
  s.out<U>("d").outPredicate("p").outPredicate("q");
  ASSERT_TRUE(s.run()) << s.error;
  EXPECT_EQ(__builtin_popcount(s.predicate("p")), 1);
  EXPECT_EQ(U(1) << s.get<U>("d")[30], s.predicate("p"));
  EXPECT_EQ(__builtin_popcount(s.predicate("q") & 0xffff), 1);
  EXPECT_EQ(__builtin_popcount(s.predicate("q") >> 16), 1);
}

TEST(Sync, OldFormsAndOldTargetsAreErrors) {
  auto why = [](const char *body, const char *target) {
    return whyNot(std::string("{.reg .b32 x; .reg .pred p;") + body + "}",
                  target, "8.0");
  };
  EXPECT_NE(why("shfl.bfly.b32 x, x, 1, 31;", "sm_90a").find("sync"),
            std::string::npos);
  EXPECT_NE(why("vote.all.pred p, p;", "sm_80").find("sync"),
            std::string::npos);
  EXPECT_NE(why("elect.sync x|p, -1;", "sm_89").find("sm_90"),
            std::string::npos);
  EXPECT_EQ(why("elect.sync x|p, -1;", "sm_90"), "");
  EXPECT_NE(why("redux.sync.min.f32 x, x, -1;", "sm_90a"), "");
  EXPECT_NE(why("redux.sync.and.u32 x, x, -1;", "sm_90a"), "");
  EXPECT_NE(why("shfl.sync.b32 x, x, 1, 31, -1;", "sm_90a"), "");
  EXPECT_NE(why("match.any.sync.b32 x|p, x, -1;", "sm_90a"), "");
}

// ---- barriers that some do not come to

/// Of `threads` threads the first half executes `first`, the other `second`.
Kernel halves(uint32_t threads, const std::string &first,
              const std::string &second) {
  Kernel k;
  k.block = threads;
  k.body = "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, " +
           std::to_string(threads / 2) + ";\n@%p0 bra FIRST;\n" + second +
           "\nret;\nFIRST:\n" + first;
  EXPECT_TRUE(k.run()) << k.error;
  return k;
}

TEST(Barriers, WhoWaitsSaysForWhom) {
  Kernel k = halves(64, "bar.sync 2, 64;", "bar.sync 1;");
  EXPECT_TRUE(
      k.finds(FindingKind::Deadlock, "waits for barrier 2; 32 of 64 threads"))
      << k.told();
  EXPECT_TRUE(k.finds(FindingKind::Deadlock,
                      "waits for barrier 1; 32 of the CTA's threads"))
      << k.told();
}

// ---- lanes that wait for lanes of their own warp

/// Lanes of all warps go through a section one after the other, each of so many
/// steps; the lock lies in shared memory.
Kernel locked(uint32_t threads, uint32_t grid, uint32_t steps) {
  Kernel k;
  k.block = threads;
  k.grid = grid;
  k.shared = ".shared .align 4 .b8 lock[8];";
  k.body = R"(mov.u32 %r0, %tid.x;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 st.shared.u32 [lock], 0;
    @%p0 st.shared.u32 [lock+4], 0;
    bar.sync 0;
    AGAIN: atom.shared.acquire.cta.cas.b32 %r1, [lock], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    mov.u32 %r2, 0;
    WORK: add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, )" +
           std::to_string(steps) + R"(;
    @%p2 bra WORK;
    ld.shared.u32 %r3, [lock+4];
    add.u32 %r3, %r3, 1;
    st.shared.u32 [lock+4], %r3;
    atom.shared.release.cta.exch.b32 %r1, [lock], 0;
    bar.sync 0;
    @!%p0 bra END;
    ld.param.u64 %rd0, [p0];
    mov.u32 %r4, %ctaid.x;
    mul.wide.u32 %rd1, %r4, 4;
    add.u64 %rd0, %rd0, %rd1;
    ld.shared.u32 %r3, [lock+4];
    st.global.u32 [%rd0], %r3;
    END:)";
  k.output<uint32_t>(grid);
  return k;
}

// Forward progress: whoever has the lock goes on while the others of its warp
// spin, however long, and that is no waiting for another CTA.
TEST(Progress, LanesWaitForALaneOfTheirWarp) {
  for (uint32_t grid : {1, 2, 4})
    for (uint32_t steps : {1, 300, 5000}) {
      if (steps > 300 && grid > 1)
        continue;
      for (uint64_t seed : {0, 1}) {
        Kernel k = locked(steps > 300 ? 32 : 64, grid, steps);
        k.seed = seed;
        ASSERT_TRUE(k.run()) << k.error;
        EXPECT_TRUE(k.findings.empty()) << grid << " " << steps << k.told();
        for (uint32_t n : k.get<uint32_t>(0))
          EXPECT_EQ(n, k.block);
      }
    }
}

// A lock that is never opened is a deadlock all the same.
TEST(Progress, ALockThatStaysClosedIsADeadlock) {
  for (uint64_t seed : {0, 1, 2}) {
    Kernel k = locked(32, 1, 1);
    k.seed = seed;
    std::string open = "atom.shared.release.cta.exch.b32 %r1, [lock], 0;";
    k.body.replace(k.body.find(open), open.size(), "");
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.finds(FindingKind::Deadlock, "")) << k.told();
  }
}

// An alias is called, and its address is the function's.
TEST(Calls, AnAliasIsItsFunction) {
  Kernel k;
  k.functions = R"(.func (.param .b32 r) f(.param .b32 x) {
      .reg .b32 %q<2>;
      ld.param.b32 %q0, [x];
      add.u32 %q1, %q0, 1;
      st.param.b32 [r], %q1;
      ret;
    }
    .func (.param .b32 r) g(.param .b32 x);
    .alias g, f;)";
  k.body = R"(ld.param.u64 %rd0, [p0];
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], 41;
      call.uni (b), g, (a);
      ld.param.b32 %r1, [b]; }
    mov.u64 %rd1, f;
    mov.u64 %rd2, g;
    setp.eq.u64 %p0, %rd1, %rd2;
    selp.u32 %r2, 100, 0, %p0;
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd0], %r1;)";
  k.block = 1;
  k.output<uint32_t>(1);
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_EQ(k.get<uint32_t>(0)[0], 142u);
}

TEST(Barriers, LanesAtDifferentOnesDiverge) {
  Kernel k = halves(32, "bar.sync 0;", "bar.sync 0;");
  EXPECT_TRUE(k.finds(FindingKind::DivergentBarrier,
                      "while other lanes of the warp wait elsewhere"))
      << k.told();
  EXPECT_FALSE(k.finds(FindingKind::Deadlock, "")) << k.told();
}

// PTX ISA 9.7.13.1: bar.red is not mixed with bar.sync at one barrier.
TEST(Barriers, ReducingAndNotReducingDoNotMix) {
  Kernel k = halves(64, "bar.sync 1;", "bar.red.popc.u32 %r1, 1, %p0;");
  EXPECT_TRUE(k.finds(FindingKind::DivergentBarrier, "at barrier 1 with"))
      << k.told();
}

} // namespace
