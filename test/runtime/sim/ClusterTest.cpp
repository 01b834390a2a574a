// SPDX-License-Identifier: Apache-2.0
//
// Clusters: addresses of other CTAs, arrivals at their mbarriers, the cluster's
// barrier with its orders, and registers that move between warps.
#include "test/runtime/sim/RunSnippet.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

struct Ran {
  std::vector<Finding> findings;
  std::vector<uint32_t> out;
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

struct Shape {
  uint32_t ctas = 2, cluster = 2, threads = 32;
};

// A kernel k(out) with `directives` in front of its body; `out` holds 4096
// words, and %out its address.
Ran runKernel(const std::string &directives, const std::string &body, Shape s,
              uint64_t seed = 0) {
  std::string text = ".version 8.8\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 memory) " +
                     directives +
                     "\n{\n.reg .b64 out;\n.shared .align 8 .b64 bar[4];\n"
                     ".shared .align 4 .b32 box[64];\n"
                     ".reg .pred p, q; .reg .b32 t, x, y, rank, other, i;\n"
                     ".reg .b64 a, b, at;\nld.param.u64 out, [memory];\n"
                     "mov.u32 t, %tid.x;\nmov.u32 rank, %cluster_ctarank;\n"
                     "xor.b32 other, rank, 1;\n" +
                     body + "\nret;\n}\n";
  Options options;
  options.seed = seed;
  Simulator sim(*targetNamed("sm_90a"), options);
  Ran r;
  auto module = sim.load(text, "cluster");
  if (!module) {
    r.error = module.error().str();
    return r;
  }
  void *memory = *sim.allocate(4 * 4096, "out");
  std::memset(memory, 0, 4 * 4096);
  LaunchRequest request;
  request.grid[0] = s.ctas;
  request.block[0] = s.threads;
  if (s.cluster > 1)
    request.cluster[0] = s.cluster;
  request.parameters.resize(8);
  std::memcpy(request.parameters.data(), &memory, 8);
  auto report = sim.launch(**module, "k", request);
  if (report)
    r.findings = report->findings;
  else
    r.error = report.error().str();
  r.out.resize(4096);
  std::memcpy(r.out.data(), memory, 4 * 4096);
  (void)sim.free(memory);
  return r;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

const std::string sync = "barrier.cluster.arrive.aligned;\n"
                         "barrier.cluster.wait.aligned;\n";

// Each CTA leaves 100 + its rank; all forms of mapa lead to the other's.
TEST(Cluster, MapsAddresses) {
  Ran r = runKernel("",
                    R"(
    setp.eq.u32 p, t, 0;
    add.u32 x, rank, 100;
    @p st.shared.b32 [box+4], x;
)" + sync + R"(
    @!p bra END;
    mul.wide.u32 at, rank, 64;
    add.u64 at, at, out;
    mapa.shared::cluster.u32 x, box, other;
    ld.shared::cluster.b32 y, [x+4];
    st.global.b32 [at], y;
    mov.u32 x, box;
    mapa.shared::cluster.u32 x, x, 1;
    ld.shared::cluster.b32 y, [x+4];
    st.global.b32 [at+4], y;
    mapa.shared::cluster.u32 x, box+4, 0;
    ld.shared::cluster.b32 y, [x];
    st.global.b32 [at+8], y;
    cvta.shared.u64 a, box;
    mapa.u64 b, a, other;
    ld.b32 y, [b+4];
    st.global.b32 [at+12], y;
    getctarank.u64 y, b;
    st.global.b32 [at+16], y;
    getctarank.u64 y, a;
    st.global.b32 [at+20], y;
    getctarank.shared::cluster.u32 y, x;
    st.global.b32 [at+24], y;
    getctarank.shared::cluster.u32 y, box;
    st.global.b32 [at+28], y;
    isspacep.shared::cluster q, b;
    selp.u32 y, 1, 0, q;
    st.global.b32 [at+32], y;
    isspacep.shared::cta q, b;
    selp.u32 y, 1, 0, q;
    st.global.b32 [at+36], y;
    cvt.u64.u32 a, x;
    mapa.shared::cluster.u64 b, a, other;
    getctarank.shared::cluster.u64 y, b;
    st.global.b32 [at+40], y;
END:
)" + sync,
                    {2, 2, 32});
  ASSERT_EQ(r.all(), "");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const uint32_t other = 1 - rank;
    const uint32_t expected[] = {
        100 + other, 101, 100, 100 + other, other, rank, 0, rank, 1, 0, other};
    for (unsigned k = 0; k < 11; ++k)
      EXPECT_EQ(r.out[rank * 16 + k], expected[k]) << rank << " " << k;
  }
}

TEST(Cluster, WrongAddressesAreSaid) {
  EXPECT_TRUE(
      runKernel("", "mapa.shared::cluster.u32 x, box, 2;", {2, 2, 32})
          .has(FindingKind::InvalidOperation, "to CTA 2 of a cluster of 2"));
  EXPECT_TRUE(runKernel("", "mapa.u64 a, out, 0;", {2, 2, 32})
                  .has(FindingKind::InvalidOperation, "not in shared memory"));
  EXPECT_TRUE(runKernel("", "getctarank.u64 x, out;", {2, 2, 32})
                  .has(FindingKind::InvalidOperation, "not in shared memory"));
  EXPECT_TRUE(runKernel("",
                        "mapa.shared::cluster.u32 x, bar, other;"
                        "mbarrier.arrive.shared::cluster.b64 _, [x];" +
                            sync,
                        {2, 2, 32})
                  .has(FindingKind::InvalidOperation, "not initialised"));
}

// Each CTA writes into the other's box and arrives there.
const std::string letters = R"(
    setp.eq.u32 q, t, 0;
    @q mbarrier.init.shared.b64 [bar], 32;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait.acquire;
    mapa.shared::cluster.u32 y, bar, other;
    mov.u32 i, 0;
LOOP:
    mapa.shared::cluster.u32 x, box, other;
    mad.lo.u32 x, t, 4, x;
    st.shared::cluster.b32 [x], i;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [y];
    and.b32 x, i, 1;
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], x;
    @!p bra WAIT;
    xor.b32 x, t, 9;
    shl.b32 x, x, 2;
    mov.u32 rank, box;
    add.u32 x, x, rank;
    ld.shared.b32 x, [x];
    setp.ne.u32 p, x, i;
    @p trap;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, 6;
    @p bra LOOP;
)";

TEST(Cluster, LettersAreOrdered) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(runKernel("", letters, {4, 2, 32}, seed).all(), "") << seed;
  // Without a scope, as far as the object is shared.
  std::string plain =
      replaced(letters, ".release.cluster.shared::cluster", ".shared::cluster");
  plain = replaced(plain, ".acquire.cluster.shared::cta", ".shared::cta");
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(runKernel("", plain, {4, 2, 32}, seed).all(), "") << seed;
}

TEST(Cluster, LettersWithOneMistakeAreNoticed) {
  const char *wrong[][2] = {
      {".release.cluster.shared::cluster", ".release.cta.shared::cluster"},
      {".release.cluster.shared::cluster", ".relaxed.cluster.shared::cluster"},
      {".acquire.cluster.shared::cta", ".acquire.cta.shared::cta"},
      {".acquire.cluster.shared::cta", ".relaxed.cluster.shared::cta"},
      {"    fence.mbarrier_init.release.cluster;\n", ""},
      {"    barrier.cluster.arrive.release;",
       "    barrier.cluster.arrive.relaxed;"},
      {"    barrier.cluster.arrive.release;\n    "
       "barrier.cluster.wait.acquire;\n",
       ""},
      {"and.b32 x, i, 1;", "and.b32 x, i, 1; xor.b32 x, x, 1;"},
      {"[bar], 32;", "[bar], 31;"},
      {"[bar], 32;", "[bar], 33;"},
  };
  for (auto &w : wrong)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Ran r = runKernel("", replaced(letters, w[0], w[1]), {2, 2, 32}, seed);
      EXPECT_EQ(r.error, "");
      EXPECT_FALSE(r.findings.empty())
          << w[0] << " -> " << w[1] << ", seed " << seed;
    }
}

// Thread 0 writes a word and initialises an mbarrier; the other CTA reads the
// word and arrives there.
const std::string introduction = R"(
    setp.eq.u32 q, t, 0;
    setp.eq.u32 p, t, 1;
    @q st.shared.b32 [box], rank;
    @q mbarrier.init.shared.b64 [bar], 32;
    @q fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait.acquire;
    mapa.shared::cluster.u32 x, bar, other;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [x];
    mapa.shared::cluster.u32 x, box, other;
    ld.shared::cluster.b32 y, [x];
)" + sync;

// PTX ISA 9.7.13.4: its effect is on the thread's own mbarrier.init alone.
TEST(Cluster, FenceOfInitsTellsOfThoseAlone) {
  const char *reads = "reads memory that another thread writes",
             *inits = "that another thread initialises";
  auto with = [&](const char *from, const char *to) {
    return replaced(introduction, from, to);
  };
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran r = runKernel("", introduction, {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::Race, reads)) << r.all();
    EXPECT_FALSE(r.has(FindingKind::Race, inits)) << r.all();
    r = runKernel("", with("    ld.shared::cluster.b32 y, [x];\n", ""),
                  {2, 2, 32}, seed);
    EXPECT_EQ(r.all(), "");
    // A whole fence tells of both, also when the other stands behind it.
    for (const char *fences :
         {"fence.acq_rel.cluster",
          "fence.acq_rel.cluster; @q fence.mbarrier_init.release.cluster"}) {
      r = runKernel("", with("fence.mbarrier_init.release.cluster", fences),
                    {2, 2, 32}, seed);
      EXPECT_EQ(r.all(), "") << fences;
    }
    // By another thread, or too early.
    r = runKernel("", with("@q fence.mbarrier_init", "@p fence.mbarrier_init"),
                  {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::Race, inits)) << r.all();
    r = runKernel("",
                  with("@q mbarrier.init.shared.b64 [bar], 32;\n    @q "
                       "fence.mbarrier_init.release.cluster;",
                       "@q fence.mbarrier_init.release.cluster;\n    @q "
                       "mbarrier.init.shared.b64 [bar], 32;"),
                  {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::Race, inits)) << r.all();
  }
}

// Thread 0 writes a word of its CTA's shared memory, one of the other's and a
// global one; after a barrier that orders nothing the other CTA reads one.
std::string confided(const std::string &released, const std::string &acquired,
                     const std::string &reads) {
  return R"(
    setp.eq.u32 q, t, 0;
    mad.wide.u32 a, rank, 4, out;
    mad.wide.u32 b, other, 4, out;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mapa.shared::cluster.u32 x, box, other;
    @q st.shared.b32 [box], rank;
    @q st.shared::cluster.b32 [x+4], rank;
    @q st.global.b32 [a], rank;
    )" + released +
         "\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait" + acquired +
         "\n" + reads + "\n" + sync;
}

// PTX ISA 9.7.13.4: .sync_restrict::shared::cta is for objects of the own CTA's
// shared memory, .sync_restrict::shared::cluster for those of the cluster's.
TEST(Cluster, RestrictedFencesTellOfSharedMemoryAlone) {
  const std::string released = "@q fence.release.sync_restrict::shared::cta."
                               "cluster;",
                    own = "ld.shared::cluster.b32 y, [x];",
                    others = "ld.shared.b32 y, [box+4];",
                    global = "ld.global.b32 y, [b];";
  for (uint64_t seed = 0; seed < 6; ++seed) {
    auto races = [&](const std::string &body) {
      Ran r = runKernel("", body, {2, 2, 32}, seed);
      EXPECT_EQ(r.error, "") << body;
      EXPECT_EQ(r.findings.empty(), !r.has(FindingKind::Race)) << r.all();
      return r.has(FindingKind::Race,
                   "reads memory that another thread writes");
    };
    EXPECT_FALSE(races(confided(released, ".acquire;", own)));
    EXPECT_TRUE(races(confided(released, ".acquire;", others)));
    EXPECT_TRUE(races(confided(released, ".acquire;", global)));
    EXPECT_TRUE(races(confided("", ".acquire;", own)));
    for (const std::string &reads : {own, others, global}) {
      EXPECT_FALSE(
          races(confided("@q fence.release.cluster;", ".acquire;", reads)));
      // A whole fence remains one when a restricted one follows.
      EXPECT_FALSE(races(confided("@q fence.release.cluster;" + released,
                                  ".acquire;", reads)));
    }
    // What was told of one kind of memory is passed on as that.
    EXPECT_FALSE(races(confided(released, ".acquire;", "bar.sync 0;" + own)));
    EXPECT_TRUE(races(confided(released, ".acquire;", "bar.sync 0;" + global)));
  }
}

TEST(Cluster, RestrictedFencesTakeOfSharedMemoryAlone) {
  // The letters' wait, relaxed, with a fence behind it; and a global word that
  // goes with each letter.
  auto with = [](const std::string &fence, bool global) {
    std::string s = replaced(letters, ".acquire.cluster.shared::cta",
                             ".relaxed.cluster.shared::cta");
    s = replaced(s, "@!p bra WAIT;\n", "@!p bra WAIT;\n    " + fence + "\n");
    if (!global)
      return s;
    s = replaced(s, "    mov.u32 i, 0;\n",
                 "    mov.u32 i, 0;\n    mad.wide.u32 a, rank, 4, out;\n"
                 "    mad.wide.u32 b, other, 4, out;\n");
    s = replaced(s, "    st.shared::cluster.b32 [x], i;\n",
                 "    st.shared::cluster.b32 [x], i;\n"
                 "    @q st.global.b32 [a], i;\n");
    return replaced(
        s, "    ld.shared.b32 x, [x];\n",
        "    ld.shared.b32 x, [x];\n    ld.global.b32 rank, [b];\n");
  };
  const std::string shared =
      "fence.acquire.sync_restrict::shared::cluster.cluster;";
  for (uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(runKernel("", with(shared, false), {2, 2, 32}, seed).all(), "");
    EXPECT_EQ(
        runKernel("", with("fence.acquire.cluster;", true), {2, 2, 32}, seed)
            .all(),
        "");
    // What the restricted one leaves, a whole one takes.
    EXPECT_EQ(runKernel("", with(shared + "fence.acquire.cluster;", true),
                        {2, 2, 32}, seed)
                  .all(),
              "");
    Ran r = runKernel("", with(shared, true), {2, 2, 32}, seed);
    EXPECT_TRUE(
        r.has(FindingKind::Race, "reads memory that another thread writes"))
        << r.all();
    for (const Finding &f : r.findings)
      EXPECT_EQ(f.where.find("shared"), std::string::npos) << f.str();
  }
}

// ---- how long shared memory lives

const std::string glance = R"(
    mov.u32 i, box;
    st.shared.u32 [i], rank;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire; // all have begun
    mapa.shared::cluster.u32 x, i, other;
    ld.shared::cluster.u32 y, [x];
    barrier.cluster.arrive.release;
    barrier.cluster.wait; // none has ended
)";

TEST(Cluster, MemoryIsReachedWhileItsCtaLives) {
  const std::string end = "    barrier.cluster.arrive.release;\n"
                          "    barrier.cluster.wait; // none has ended\n";
  const std::string begin = "    barrier.cluster.arrive.release;\n"
                            "    barrier.cluster.wait.acquire; // all have "
                            "begun\n";
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(runKernel("", glance, {2, 2, 32}, seed).all(), "") << seed;
    // Whatever the seed lets happen first.
    Ran r = runKernel("", replaced(glance, end, ""), {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::InvalidOperation, "has exited")) << seed;
    std::string relaxed = replaced(end, "release", "relaxed");
    r = runKernel("", replaced(glance, end, relaxed), {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::InvalidOperation, "has exited")) << seed;
    r = runKernel("", replaced(glance, begin, ""), {2, 2, 32}, seed);
    EXPECT_TRUE(r.has(FindingKind::InvalidOperation, "may not have started"))
        << seed;
  }
}

// ---- setmaxnreg

const std::string roles = R"(
    setp.lt.u32 p, t, 128;
    @p bra FIRST;
    setmaxnreg.inc.sync.aligned.u32 240;
    bra END;
FIRST:
    setmaxnreg.dec.sync.aligned.u32 24;
END:
)";

TEST(Cluster, RegistersMove) {
  const std::string shape = ".maxntid 384 .minnctapersm 1";
  for (uint64_t seed = 0; seed < 20; ++seed) {
    // 3 · 168 registers: 24 + 2 · 240.
    EXPECT_EQ(runKernel(shape, roles, {1, 1, 384}, seed).all(), "") << seed;
    EXPECT_EQ(
        runKernel(".reqntid 384 .maxnreg 168", roles, {1, 1, 384}, seed).all(),
        "");
    Ran r = runKernel(shape, replaced(roles, "u32 24;", "u32 32;"), {1, 1, 384},
                      seed);
    EXPECT_TRUE(r.has(FindingKind::Deadlock,
                      "registers, but the register pool of its CTA has"))
        << r.all();
  }
}

TEST(Cluster, RegistersMovedWronglyAreSaid) {
  const std::string shape = ".maxntid 128 .minnctapersm 3"; // 168
  auto found = [&](const std::string &body, FindingKind kind,
                   const std::string &part, const std::string &how) {
    Ran r = runKernel(how, body, {1, 1, 128});
    EXPECT_TRUE(r.has(kind, part)) << part << "\n" << r.all();
  };
  found("setmaxnreg.dec.sync.aligned.u32 176;", FindingKind::InvalidOperation,
        "from 168 to 176 with .dec", shape);
  found("setmaxnreg.dec.sync.aligned.u32 64;"
        "setmaxnreg.inc.sync.aligned.u32 40;",
        FindingKind::InvalidOperation, "from 64 to 40 with .inc",
        ".maxntid 128 .maxnreg 168");
  found("setmaxnreg.dec.sync.aligned.u32 64;", FindingKind::InvalidOperation,
        "has no effect", ".maxntid 128");
  found("setp.lt.u32 p, t, 32; @p bra END;"
        "setmaxnreg.dec.sync.aligned.u32 64; END:",
        FindingKind::DivergentBarrier, "not executed by all warps", shape);
  found("setp.lt.u32 p, t, 32; @p bra ELSE;"
        "setmaxnreg.dec.sync.aligned.u32 64; bra END;"
        "ELSE: setmaxnreg.dec.sync.aligned.u32 64; END:",
        FindingKind::DivergentBarrier, "differs from the setmaxnreg", shape);
  found("setp.lt.u32 p, t, 7; @p setmaxnreg.dec.sync.aligned.u32 64;",
        FindingKind::DivergentBarrier, "", shape);
}

TEST(Cluster, RefusesWhatPtxasRefuses) {
  const std::string d = "{.reg .b32 x, y; .reg .b64 r, s; ";
  auto why = [&](const char *spelling, const char *target,
                 const char *version = "8.8") {
    return whyNot(d + spelling + "}", target, version);
  };
  for (const char *good :
       {"mapa.u32 x, y, 1;", "mapa.u64 r, s, y;",
        "mapa.shared::cluster.u64 r, s, y;", "getctarank.u64 x, s;",
        "getctarank.shared::cluster.u32 x, y;", "griddepcontrol.wait;",
        "griddepcontrol.launch_dependents;", "barrier.cluster.arrive.release;",
        "barrier.cluster.wait.acquire.aligned;"}) {
    EXPECT_EQ(why(good, "sm_90"), "") << good;
    EXPECT_NE(why(good, "sm_80"), "") << good;
  }
  for (const char *bad :
       {"mapa.shared::cta.u64 r, s, y;", "mapa.shared.u32 x, y, 1;",
        "getctarank.shared::cta.u32 x, y;", "griddepcontrol;",
        "barrier.cluster.wait.release;", "barrier.cluster.wait.relaxed;",
        "barrier.cluster.arrive.acquire;",
        "setmaxnreg.inc.sync.aligned.u32 20;",
        "setmaxnreg.inc.sync.aligned.u32 264;",
        "setmaxnreg.inc.sync.aligned.u32 100;",
        "setmaxnreg.inc.sync.aligned.u32 x;", "setmaxnreg.inc.sync.u32 64;"})
    EXPECT_NE(why(bad, "sm_90a"), "") << bad;
  EXPECT_EQ(why("setmaxnreg.inc.sync.aligned.u32 200;", "sm_90a"), "");
  EXPECT_NE(why("setmaxnreg.inc.sync.aligned.u32 200;", "sm_90"), "");
  EXPECT_NE(why("barrier.cluster.arrive.release;", "sm_90", "7.8"), "");
}

} // namespace
