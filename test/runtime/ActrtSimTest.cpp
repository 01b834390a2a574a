// SPDX-License-Identifier: Apache-2.0
//
// actrt-sim as a user meets it, and its reading of --arg.
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "tools/actrt-sim/Arguments.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace act;
using namespace act::simtool;

namespace {

class ActrtSim : public testing::Test {
protected:
  std::string folder;
  std::string out, err; // of the last run

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/actrt-sim-XXXXXX";
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern + "/";
  }
  void TearDown() override {
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(system(command.c_str()), 0);
  }
  /// The exit status of `actrt-sim ptx/NAME.ptx ARGUMENTS` in the folder.
  int run(const std::string &name, const std::string &arguments) {
    return runFile(ACT_TEST_PTX "/" + name + ".ptx", arguments);
  }
  int runFile(const std::string &file, const std::string &arguments) {
    std::string command = "cd '" + folder + "' && '" ACT_SIM "' '" + file +
                          "' " + arguments + " >out 2>err";
    int status = system(command.c_str());
    out = read("out");
    err = read("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const std::string &name) {
    auto f = file::MappedFile::open(folder + name);
    return f ? std::string(f->text()) : "";
  }
  template <typename T> std::vector<T> array(const std::string &name) {
    auto a = npy::read(folder + name);
    EXPECT_TRUE(a) << a.error().str();
    std::vector<T> v(a ? a->bytes.size() / sizeof(T) : 0);
    if (a)
      std::memcpy(v.data(), a->bytes.data(), a->bytes.size());
    return v;
  }
};

} // namespace

TEST_F(ActrtSim, ScalarsAndOutputs) {
  EXPECT_EQ(run("conformance",
                "--kernel scalars --arg 'out:f64[2,2]:o.npy' --arg f32:1.5 "
                "--arg f64:-1e300 --arg i64:-5 --arg i32:0x10"),
            0)
      << err;
  EXPECT_EQ(array<double>("o.npy"), (std::vector<double>{1.5, -1e300, -5, 16}));
  EXPECT_EQ(npy::read(folder + "o.npy")->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_NE(out.find("scalars on sm_80, grid 1x1x1"), std::string::npos) << out;
  EXPECT_EQ(err, "");
}

TEST_F(ActrtSim, InOutIsWrittenBackAndInIsNot) {
  int32_t zeros[4] = {};
  ASSERT_TRUE(npy::write(folder + "c.npy", "i4", {4}, zeros));
  EXPECT_EQ(run("conformance", "--kernel count_block --target sm_90a --grid 4 "
                               "--block 64 --arg inout:c.npy --seed 3"),
            0)
      << err;
  EXPECT_EQ(array<int32_t>("c.npy"), (std::vector<int32_t>(4, 1)));
  EXPECT_EQ(run("conformance",
                "--kernel count_block --grid 4 --arg in:c.npy --checks=none"),
            0)
      << err;
  EXPECT_EQ(array<int32_t>("c.npy"), (std::vector<int32_t>(4, 1)));
}

// A file is written once, by whatever names; who reads it has what was there.
TEST_F(ActrtSim, FilesAreWrittenOnce) {
  auto parsed = [&](const char *a, const char *b) {
    return bool(parseArguments({a, b}));
  };
  EXPECT_TRUE(parsed("out:i32[4]:a.npy", "out:i32[4]:b.npy"));
  EXPECT_TRUE(parsed("in:a.npy", "out:i32[4]:a.npy"));
  EXPECT_TRUE(parsed("in:a.npy", "in:a.npy"));
  EXPECT_TRUE(parsed("inout:a.npy", "tma:a.npy:f32:box=8x8"));
  EXPECT_FALSE(parsed("out:i32[4]:a.npy", "out:i32[4]:a.npy"));
  EXPECT_FALSE(parsed("inout:a.npy", "out:i32[4]:a.npy"));
  EXPECT_FALSE(parsed("inout:no/../a.npy", "inout:./a.npy"));
}

TEST_F(ActrtSim, FindingsAreTwo) {
  std::string launch = "--kernel reverse --block 64 --smem 256 "
                       "--arg 'out:u32[63]:o.npy' ";
  EXPECT_EQ(run("conformance", launch + "--json"), 2);
  EXPECT_NE(err.find("out-of-bounds: reverse"), std::string::npos) << err;
  auto j = nlohmann::json::parse(out, nullptr, false);
  ASSERT_FALSE(j.is_discarded()) << out;
  ASSERT_EQ(j["findings"].size(), 1u);
  EXPECT_EQ(j["findings"][0]["kind"], "out-of-bounds");
  EXPECT_EQ(j["findings"][0]["at"]["thread"][0], 63);
  EXPECT_EQ(j["counters"]["warps"], 2);
  EXPECT_EQ(j["counters"]["ctas"], 1);
  // What was within bounds was stored all the same.
  EXPECT_EQ(array<uint32_t>("o.npy")[0], 63u);
  // A read of what nobody wrote.
  EXPECT_EQ(run("conformance",
                "--kernel count_block --grid 4 --arg 'out:i32[4]:o.npy'"),
            2);
  EXPECT_NE(err.find("uninitialised: count_block: copies memory that was never "
                     "written (such as "),
            std::string::npos)
      << err;
  EXPECT_EQ(run("conformance", "--kernel count_block --grid 4 --strict "
                               "--arg 'out:i32[4]:o.npy'"),
            2);
  EXPECT_NE(err.find("uninitialised: count_block: reads memory that was never "
                     "written\n"),
            std::string::npos)
      << err;
  EXPECT_EQ(run("conformance", "--kernel count_block --grid 4 "
                               "--arg 'out:i32[4]:o.npy' --checks=none"),
            0)
      << err;
}

// What kernels do that works all the same is told, and is an error when asked.
TEST_F(ActrtSim, BenignRacesAreTold) {
  std::ofstream(folder + "k.ptx") << R"(.version 7.0
.target sm_80
.address_size 64
.entry k(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %a, [p];
  ld.global.u32 %r0, [%a];
AGAIN:
  mov.u32 %r1, %r0; add.u32 %r2, %r1, 1;
  atom.global.cas.b32 %r0, [%a], %r1, %r2;
  setp.ne.u32 %p, %r0, %r1; @%p bra AGAIN;
  ret;
})";
  ASSERT_TRUE(
      npy::write(folder + "x.npy", "u4", {4}, std::vector<uint32_t>(4).data()));
  std::string launch = "--block 64 --arg inout:x.npy --json ";
  EXPECT_EQ(runFile("k.ptx", launch), 0) << err;
  EXPECT_NE(err.find("benign-race: k: "), std::string::npos) << err;
  auto j = nlohmann::json::parse(out, nullptr, false);
  ASSERT_EQ(j["findings"].size(), 1u) << out;
  EXPECT_EQ(j["findings"][0]["kind"], "benign-race");
  EXPECT_EQ(j["findings"][0]["tolerated"], true);
  EXPECT_EQ(array<uint32_t>("x.npy")[0], 64u);
  EXPECT_EQ(runFile("k.ptx", launch + "--benign=error"), 2);
}

// Two blocks add to one float, in any order; integers have the same sum in any.
TEST_F(ActrtSim, OrderedSums) {
  for (auto [type, one, code] :
       {std::tuple{"f32", "0f3F800000", 2}, {"u32", "1", 0}}) {
    std::ofstream(folder + "k.ptx") << R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [a];
  red.relaxed.gpu.global.add.)" << type
                                    << " [%rd1], " << one << R"(;
  ret;
})";
    const uint32_t zero = 0;
    ASSERT_TRUE(npy::write(folder + "x.npy", "u4", {1}, &zero));
    const std::string launch = "--grid 2 --arg inout:x.npy ";
    EXPECT_EQ(runFile("k.ptx", launch), 0) << err;
    EXPECT_EQ(runFile("k.ptx", launch + "--ordered-sums"), code) << err;
  }
}

// PTX as LLVM writes it for its oldest targets; and an assertion's words, which
// are CUDA's, of each thread.
TEST_F(ActrtSim, OldTargetsAndAssertions) {
  for (auto [version, target] :
       {std::pair{"3.2", "sm_20"}, {"4.0", "sm_50"}, {"5.0", "sm_60"}}) {
    std::ofstream(folder + "k.ptx")
        << ".version " << version << "\n.target " << target << R"(
.address_size 64
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c,
                            .param .b64 d, .param .b64 e);
.global .align 1 .b8 what[6] = {120, 32, 60, 32, 51, 0};
.global .align 1 .b8 file[5] = {107, 46, 99, 117, 0};
.global .align 1 .b8 name[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
  membar.gl;
  bar.sync 0;
  setp.lt.u32 %p, %r1, 3; @%p bra DONE;
  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    mov.u64 %rd2, what; cvta.global.u64 %rd3, %rd2; st.param.b64 [a], %rd3;
    mov.u64 %rd2, file; cvta.global.u64 %rd3, %rd2; st.param.b64 [b], %rd3;
    st.param.b32 [c], 17;
    mov.u64 %rd2, name; cvta.global.u64 %rd3, %rd2; st.param.b64 [d], %rd3;
    st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e); }
DONE:
  ret;
})";
    ASSERT_TRUE(npy::write(folder + "x.npy", "u4", {1},
                           std::vector<uint32_t>(1).data()));
    EXPECT_EQ(runFile("k.ptx", "--block 3 --arg inout:x.npy"), 0) << err;
    EXPECT_EQ(array<uint32_t>("x.npy")[0], 3u);
    EXPECT_EQ(runFile("k.ptx", "--block 5 --arg in:x.npy"), 2);
    EXPECT_EQ(err.find("k.cu:17: void k(): block: [0,0,0], thread: [3,0,0] "
                       "Assertion `x < 3` failed.\n"
                       "k.cu:17: void k(): block: [0,0,0], thread: [4,0,0] "
                       "Assertion `x < 3` failed.\n"
                       "assert: k: an assertion failed: x < 3"),
              0u)
        << err;
  }
}

// One product of 2 * 16 * 8 * 16 operations and one row stored: 2048 operations
// and 128 bytes a clock of 1.41 GHz on one SM of sm_80.
TEST_F(ActrtSim, BoundsAreByUnit) {
  std::ofstream(folder + "bounds.ptx") << R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
  .reg .b32 %r<4>;
  .reg .f32 %f<8>;
  .shared .align 128 .b8 s[128];
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, s;
  add.u32 %r1, %r1, %r2;
  st.shared.u32 [%r1], %r0;
  mov.u32 %r3, 0;
  mov.f32 %f0, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7},
    {%r3, %r3, %r3, %r3}, {%r3, %r3}, {%f0, %f0, %f0, %f0};
  ex2.approx.f32 %f1, %f0;
  ret;
})";
  EXPECT_EQ(runFile(folder + "bounds.ptx", "--block 32 --json"), 0) << err;
  auto j = nlohmann::json::parse(out, nullptr, false);
  ASSERT_FALSE(j.is_discarded()) << out;
  const auto &least = j["least_microseconds"];
  EXPECT_NEAR(least["tensor_cores"].get<double>(), 2 / 1.41e3, 1e-6);
  EXPECT_NEAR(least["shared_memory"].get<double>(), 1 / 1.41e3, 1e-6);
  EXPECT_NEAR(least["special_functions"].get<double>(), 2 / 1.41e3, 1e-6);
  EXPECT_FALSE(least.contains("f32"));
}

// __launch_bounds__ does not say how many threads a block has: with one,
// nothing would race.
TEST_F(ActrtSim, BoundsAreNoBlock) {
  auto kernel = [&](const char *directive) {
    std::ofstream(folder + "k.ptx")
        << ".version 7.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k()\n"
        << directive << "\n{\n  ret;\n}\n";
  };
  kernel(".maxntid 64, 2, 1");
  EXPECT_EQ(runFile(folder + "k.ptx", ""), 1);
  EXPECT_NE(
      err.find("--block: expected the block that 'k' is launched with; "
               ".maxntid (__launch_bounds__) only limits it to 128 threads"),
      std::string::npos)
      << err;
  EXPECT_EQ(runFile(folder + "k.ptx", "--block 64"), 0) << err;
  kernel(".reqntid 64, 2, 1");
  EXPECT_EQ(runFile(folder + "k.ptx", ""), 0) << err;
}

TEST_F(ActrtSim, MistakesAreOne) {
  const char *const cases[][3] = {
      {"conformance", "--kernel scalars --arg ptr:0", "5 parameters, but 1"},
      {"conformance", "--kernel nothing", "no kernel 'nothing'"},
      {"conformance", "", "expected --kernel, one of count_block"},
      {"no-such-file", "--kernel x", "no-such-file"},
      {"conformance", "--kernel count_block --arg in:none.npy", "none.npy"},
      {"conformance", "--kernel count_block --arg i32:1", "has 4 bytes"},
      {"conformance", "--kernel count_block --arg ptr:5",
       "only the null pointer"},
      {"conformance", "--kernel count_block --arg ptr:0 --block 1025",
       "1025x1x1"},
      {"conformance", "--kernel count_block --arg ptr:0 --grid 0", "--grid 0"},
      {"conformance", "--kernel count_block --arg ptr:0 --grid 1,2,3,4",
       "--grid"},
      {"conformance", "--kernel demanding --arg ptr:0 --block 4",
       "requires 64x2x1"},
      {"conformance", "--kernel count_block --arg ptr:0 --smem 1000000",
       "shared memory"},
      {"conformance", "--kernel count_block --arg ptr:0 --target sm_70",
       "sm_70"},
      {"conformance-cluster", "--kernel rank --arg ptr:0 --target sm_80",
       "sm_90"},
      {"conformance-cluster", "--kernel rank --arg ptr:0 --grid 3 --cluster 2",
       "multiple"},
      {"conformance",
       "--kernel scalars --arg 'out:i32[1]:o.npy' --arg ptr:0 --arg "
       "'out:f32[1]:./o.npy'",
       "'./o.npy' is also written by --arg out:i32[1]:o.npy"},
      {"conformance", "--checks=some", "--checks"},
      {"conformance", "--seed -1", "--seed: expected a whole number from 0"},
      {"conformance", "--smem 1e3", "--smem: expected a whole number"},
      {"conformance", "--max-instructions nan",
       "--max-instructions: expected a whole number"},
      {"conformance", "--threads 1025", "--threads: expected a whole number"},
      {"conformance", "--no-such-option", "no-such-option"},
  };
  for (auto &c : cases) {
    EXPECT_EQ(run(c[0], c[1]), 1) << c[1];
    EXPECT_NE((err + out).find(c[2]), std::string::npos) << c[1] << "\n" << err;
  }
  EXPECT_EQ(run("conformance", "--help"), 0);
}

TEST_F(ActrtSim, NothingIsWrittenWhenTheLaunchFails) {
  EXPECT_EQ(run("conformance", "--kernel count_block --grid 100 "
                               "--max-instructions 50 "
                               "--arg 'out:i32[100]:o.npy' --checks=none"),
            1);
  EXPECT_NE(err.find("was stopped after"), std::string::npos) << err;
  EXPECT_EQ(access((folder + "o.npy").c_str(), F_OK), -1);
}

TEST_F(ActrtSim, ClustersAreTheKernelsOrTheCommandLines) {
  EXPECT_EQ(run("conformance-cluster",
                "--kernel rank --grid 8 --cluster 4 --arg 'out:u32[8]:o.npy'"),
            0)
      << err;
  EXPECT_EQ(array<uint32_t>("o.npy")[7], 403u);
  EXPECT_EQ(run("conformance-cluster",
                "--kernel pairs --grid 8 --arg 'out:u32[8]:o.npy'"),
            0)
      << err;
  EXPECT_EQ(array<uint32_t>("o.npy")[7], 201u);
}

// Row r of a tile of 128-byte rows has its 16-byte chunk c at chunk c ^ (r % 8)
// (PTX ISA, tensor swizzling modes); elements beyond the tensor are zero.
TEST_F(ActrtSim, TensorMapsMoveTiles) {
  std::vector<uint16_t> x(32 * 128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint16_t(i + 1);
  ASSERT_TRUE(npy::write(folder + "x.npy", "u2", {32, 128}, x.data()));
  for (unsigned swizzle : {0, 128}) {
    unsigned mask = swizzle ? 7 : 0;
    ASSERT_EQ(run("tma-tile",
                  "--block 256 --arg tma:x.npy:bf16:box=8x64:swizzle=" +
                      std::to_string(swizzle) +
                      " --arg 'out:u16[8,64]:o.npy' --arg u32:96 --arg u32:5"),
              0)
        << err;
    auto got = array<uint16_t>("o.npy");
    EXPECT_NE(out.find("async shared bytes\n    bulk store"), std::string::npos)
        << out;
    EXPECT_NE(out.find("  1024\n"), std::string::npos) << out;
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 64; ++c) {
        unsigned chunk = (c / 8) ^ (r & mask);
        unsigned column = 96 + c;
        ASSERT_EQ(got[64 * r + 8 * chunk + c % 8],
                  column < 128 ? x[128 * (5 + r) + column] : 0)
            << "swizzle " << swizzle << ", row " << r << ", column " << c;
      }
  }
}

// Rows at half the distance: they overlap.
TEST_F(ActrtSim, TensorMapsTakeStrides) {
  std::vector<uint16_t> x(32 * 128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint16_t(i + 1);
  ASSERT_TRUE(npy::write(folder + "x.npy", "u2", {32, 128}, x.data()));
  auto tile = [&](const std::string &words) {
    return run("tma-tile",
               "--block 256 --arg tma:x.npy:bf16:box=8x64:" + words +
                   " --arg 'out:u16[8,64]:o.npy' --arg u32:0 "
                   "--arg u32:3");
  };
  ASSERT_EQ(tile("strides=128"), 0) << err;
  auto got = array<uint16_t>("o.npy");
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 64; ++c)
      ASSERT_EQ(got[64 * r + c], x[64 * (3 + r) + c]);
  EXPECT_EQ(tile("strides=272"), 1);
  EXPECT_NE(err.find("sizes and strides exceed the array of 8192 bytes"),
            std::string::npos)
      << err;
  EXPECT_EQ(tile("strides=256x16"), 1);
  EXPECT_NE(err.find("expected one for each but the innermost"),
            std::string::npos)
      << err;
  // The same memory as rows of 64, up to the tenth.
  ASSERT_EQ(tile("sizes=10x64"), 0) << err;
  got = array<uint16_t>("o.npy");
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 64; ++c)
      ASSERT_EQ(got[64 * r + c], 3 + r < 10 ? x[64 * (3 + r) + c] : 0);
  EXPECT_EQ(tile("sizes=65x64"), 1);
  EXPECT_NE(err.find("sizes and strides exceed the array of 8192 bytes"),
            std::string::npos)
      << err;
}

// Few registers are live, but a block holds what its threads begin with.
TEST_F(ActrtSim, RegistersThatMoveLimitBlocks) {
  const std::string ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                          ".visible .entry k() .maxntid 384 .minnctapersm 1 {"
                          ".reg .b32 t; .reg .pred p; mov.u32 t, %tid.x;"
                          "setp.lt.u32 p, t, 128; @p bra FIRST;"
                          "setmaxnreg.inc.sync.aligned.u32 240; ret;"
                          "FIRST: setmaxnreg.dec.sync.aligned.u32 24; ret; }";
  std::ofstream(folder + "k.ptx") << ptx;
  ASSERT_EQ(runFile("k.ptx", "--block 384"), 0) << err;
  EXPECT_NE(out.find("blocks per sm                              1\n"
                     "  limited by                         registers"),
            std::string::npos)
      << out;
}

TEST(Argument, IsCheckedAsText) {
  const char *const bad[] = {
      "",
      "x:1",
      "i32:",
      "i32:2147483648",
      "u32:-1",
      "i64:9223372036854775808",
      "f32:1.5x",
      "in:",
      "out:f32[4]",
      "out:f33[4]:o.npy",
      "out:f32[4:o.npy",
      "out:f32[-1]:o.npy",
      "out:f64[1000000,1000000,1000000]:o.npy",
      "out:f32[4]:",
      "ptr:x",
      "tma:x.npy",
      "tma:x.npy:f32",
      "tma:x.npy:f32:swizzle=128",
      "tma:x.npy:f32:box=64x0",
      "tma:x.npy:f32:box=1x1x1x1x1x1",
      "tma:x.npy:f32:box=8x8:swizzle=100",
      "tma:x.npy:f32:box=8x8:colour=red",
      "tma:x.npy:f32:box=8x8:strides=a",
      "tma:x.npy:f32:box=8x8:strides=1x2x3x4x5",
      "tma::f32:box=8x8",
  };
  for (const char *text : bad) {
    auto a = parseArgument(text);
    EXPECT_FALSE(a) << text;
    if (!a)
      EXPECT_EQ(a.error().message.find("--arg "), 0u);
  }
  auto a = parseArgument("tma:a:b.npy:f16:box=2x64:swizzle=128:fill=nan");
  ASSERT_TRUE(a) << a.error().str();
  EXPECT_EQ(a->file, "a:b.npy");
  EXPECT_EQ(a->map.swizzle, 3u);
  EXPECT_EQ(a->map.fill, 1u);
  EXPECT_EQ(a->box, (std::vector<uint32_t>{2, 64}));
  a = parseArgument("u32:4294967295");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->value, (std::vector<uint8_t>(4, 255)));
  a = parseArgument("i32:-1");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->value, (std::vector<uint8_t>(4, 255)));
}
