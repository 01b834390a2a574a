// SPDX-License-Identifier: Apache-2.0
//
// Where variables of kernels lie: .shared ones of several kernels, and local
// memory of sizes known at run time.
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

// ---- shared memory, by kernel

// It calls store(), leaves in out[0] what lies at 4 in an array of its own, and
// in out[1] and out[2] where `first` and dynamic memory begin.
std::string kernel(const std::string &name, uint32_t bytes,
                   const std::string &value, const std::string &first) {
  return ".visible .entry " + name +
         "(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
         ".shared .align 4 .b8 own[" +
         std::to_string(bytes) +
         "];\nld.param.u64 %rd0, [p];\ncall store;\nmov.b32 %r0, " + value +
         ";\nst.shared.b32 [own+4], %r0;\nst.shared.b32 [" + first +
         "+4], %r0;\nld.shared.b32 %r0, [own+4];\n"
         "st.global.b32 [%rd0], %r0;\nmov.u32 %r1, " +
         first +
         ";\nst.global.b32 [%rd0+4], %r1;\nmov.u32 %r1, dynamic;\n"
         "st.global.b32 [%rd0+8], %r1;\nret;\n}\n";
}

const std::string several = R"(
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 both[100];
.shared .align 16 .b8 onlyB[1000];
.shared .align 4 .b8 none[5000];
.extern .shared .align 16 .b8 dynamic[];
.func store()
{
  .reg .b32 %r<2>;
  .shared .align 8 .b8 within[24];
  mov.b32 %r0, 7;
  st.shared.b32 [both], %r0;
  st.shared.b32 [within+20], %r0;
  ret;
}
.visible .entry c(.param .u64 p)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [p];
  mov.u32 %r1, dynamic;
  st.global.b32 [%rd0+8], %r1;
  ret;
}
)" + kernel("a", 40000, "5", "own") +
                            kernel("b", 44000, "6", "onlyB");

TEST(Variables, ParametersFitIntoConstantMemory) {
  auto text = [](const char *version, const char *target, uint32_t bytes) {
    return std::string(".version ") + version + "\n.target " + target +
           "\n.address_size 64\n.entry k(.param .u32 a, .param .b8 p[" +
           std::to_string(bytes - 4) + "]) { ret; }\n";
  };
  const struct {
    const char *version, *target;
    uint32_t most;
  } cases[] = {
      {"8.0", "sm_80", 4352}, {"8.1", "sm_80", 32764}, {"8.1", "sm_60", 4352}};
  Simulator sim(*targetNamed("sm_80"), {});
  for (const auto &c : cases) {
    EXPECT_TRUE(sim.load(text(c.version, c.target, c.most), "k"));
    auto more = sim.load(text(c.version, c.target, c.most + 1), "k");
    ASSERT_FALSE(more) << c.version << c.target;
    EXPECT_EQ(more.error().message, "'k' has " + std::to_string(c.most + 1) +
                                        " bytes of parameters, at most " +
                                        std::to_string(c.most) +
                                        " are possible");
  }
}

TEST(Variables, KernelsHaveTheSharedMemoryThatTheyName) {
  Simulator sim(*targetNamed("sm_80"), {});
  auto module = sim.load(several, "several");
  ASSERT_TRUE(module) << module.error().str();
  // 100, 24 behind it at a multiple of 8, then what is one kernel's alone; the
  // module's own come first.
  const struct {
    const char *name;
    uint64_t bytes;
    uint32_t at4, first, dynamic;
  } expected[] = {{"a", 128 + 40000, 5, 128, 128 + 40000},
                  {"b", 128 + 1000 + 44000, 6, 128, 45136},
                  {"c", 0, 0, 0, 0}};
  for (const auto &e : expected) {
    auto info = (*module)->kernel(e.name);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->sharedBytes, e.bytes) << e.name;
    void *out = *sim.allocate(12, "out");
    LaunchRequest request;
    request.parameters.resize(8);
    std::memcpy(request.parameters.data(), &out, 8);
    request.dynamicSharedBytes = 64;
    auto report = sim.launch(**module, e.name, request);
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_TRUE(report->findings.empty()) << report->findings[0].str();
    uint32_t got[3];
    std::memcpy(got, out, sizeof got);
    EXPECT_EQ(got[0], e.at4) << e.name;
    EXPECT_EQ(got[1], e.first) << e.name;
    EXPECT_EQ(got[2], e.dynamic) << e.name;
    ASSERT_TRUE(sim.free(out));
  }
}

// As ptxas says: "uses too much shared data (0xc001 bytes, 0xc000 max)".
TEST(Variables, StaticSharedMemoryHasItsLimit) {
  Kernel k;
  k.shared = ".shared .align 4 .b8 s[49152];";
  k.body = "st.shared.u32 [s], 1;";
  EXPECT_TRUE(k.run()) << k.error;
  k.shared = ".shared .align 4 .b8 s[49153];";
  EXPECT_FALSE(k.run());
  EXPECT_NE(k.error.find("49153 bytes of static shared memory"),
            std::string::npos)
      << k.error;
}

// Where it is read, and where what was read is used.
TEST(Variables, FindingsNameThem) {
  for (bool strict : {true, false}) {
    Kernel k;
    k.strict = strict;
    k.shared = ".shared .align 4 .b8 a[64];.shared .align 4 .b8 b[64];";
    k.body = "st.shared.u32 [a], 1; ld.shared.u32 %r1, [b+8];";
    if (!strict)
      k.body += "setp.ne.u32 %p0, %r1, 0; @%p0 st.shared.u32 [a], 2;";
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_NE(k.told().find("shared memory + 72 (of 128 bytes), b + 8"),
              std::string::npos)
        << k.told();
  }
}

// ---- alloca

TEST(Variables, LocalMemoryIsTakenAtRunTime) {
  // Thread t takes 4(t + 1) bytes, fills them, takes some more, gives those
  // back and finds its own unharmed.
  Kernel k;
  k.shared = ".local .align 8 .b8 fixed[32];";
  k.body = R"(
  ld.param.u64 %rd0, [p0];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd1, 4;
  st.local.u32 [fixed+28], 9;
  alloca.u64 %rd3, %rd2;
  add.u64 %rd4, %rd3, %rd1;
  st.local.u32 [%rd4], %r0;
  stacksave.u64 %rd5;
  alloca.u64 %rd6, 100, 64;
  cvt.u32.u64 %r3, %rd6;
  and.b32 %r3, %r3, 63;
  st.local.u32 [%rd6], -1;
  st.local.u32 [%rd6+96], -1;
  stackrestore.u64 %rd5;
  stacksave.u64 %rd7;
  sub.u64 %rd7, %rd7, %rd3;
  cvt.u32.u64 %r4, %rd7;
  ld.local.u32 %r1, [%rd4];
  ld.local.u32 %r2, [fixed+28];
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  add.u32 %r1, %r1, %r4;
  add.u64 %rd1, %rd0, %rd1;
  st.global.u32 [%rd1], %r1;
)";
  k.output<uint32_t>(32);
  ASSERT_TRUE(k.runClean()) << k.error;
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(k.get<uint32_t>(0)[t], t + 9);
}

TEST(Variables, LocalMemoryHasAnEnd) {
  Kernel k;
  k.body = "alloca.u64 %rd3, 600000;";
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::OutOfBounds, "allocates 600000 bytes of local"))
      << k.told();
  k.body = "stacksave.u64 %rd3; sub.u64 %rd3, %rd3, 8; stackrestore.u64 %rd3;";
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::InvalidOperation, "restores a stack"));
  k.version = "7.2";
  k.target = "sm_80";
  EXPECT_FALSE(k.run());
  EXPECT_NE(k.error.find("PTX 7.3"), std::string::npos) << k.error;
}

// What a function took is given back when it returns.
TEST(Variables, AReturnGivesLocalMemoryBack) {
  const char *text = R"(
.version 8.0
.target sm_80
.address_size 64
.func take()
{
  .reg .b64 %rd<2>;
  alloca.u64 %rd0, 400000;
  st.local.u32 [%rd0], 1;
  ret;
}
.visible .entry k()
{
  .reg .pred %p; .reg .b32 %r<2>;
  mov.u32 %r0, 0;
AGAIN:
  call take;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, 4;
  @%p bra AGAIN;
  ret;
}
)";
  Simulator sim(*targetNamed("sm_80"), {});
  auto module = sim.load(text, "take");
  ASSERT_TRUE(module) << module.error().str();
  auto report = sim.launch(**module, "k", {});
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_TRUE(report->findings.empty()) << report->findings[0].str();
}

// ---- what a module has

TEST(Variables, AKernelHasABody) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  Simulator sim(*targetNamed("sm_80"), {});
  auto promised = sim.load(head + ".visible .entry k;\n", "promised");
  ASSERT_FALSE(promised);
  EXPECT_EQ(promised.error().str(), "promised:4: kernel 'k' has no body");
  // ptxas takes a kernel of another module, but there is none to launch.
  auto elsewhere = sim.load(head + ".extern .entry k;\n", "elsewhere");
  ASSERT_TRUE(elsewhere) << elsewhere.error().str();
  EXPECT_FALSE(sim.launch(**elsewhere, "k", {}));
  auto both = sim.load(head + ".entry k;\n.entry k\n{\nret;\n}\n", "both");
  ASSERT_TRUE(both) << both.error().str();
  EXPECT_TRUE(sim.launch(**both, "k", {}));
}

// ---- what a target needs

TEST(Variables, ATargetNeedsItsVersionOfPtx) {
  const struct {
    const char *target, *tooOld, *first;
  } known[] = {{"sm_80", "6.5", "7.0"},
               {"sm_86", "7.0", "7.1"},
               {"sm_89", "7.7", "7.8"},
               {"sm_90", "7.7", "7.8"},
               {"sm_90a", "7.8", "8.0"}};
  for (const auto &t : known) {
    Kernel k;
    k.target = t.target;
    k.version = t.first;
    EXPECT_TRUE(k.run()) << k.error;
    k.version = t.tooOld;
    EXPECT_FALSE(k.run()) << t.target;
    EXPECT_NE(k.error.find(std::string("needs PTX ") + t.first),
              std::string::npos)
        << k.error;
  }
}

} // namespace
