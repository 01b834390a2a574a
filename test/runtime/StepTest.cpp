// SPDX-License-Identifier: Apache-2.0
//
// Loaded steps on the host: values, checks of what is bound and set, and the
// two modes that catch a compiler's mistakes.
#include "act-c/Runtime.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Format.h"
#include "act/Artifact/Types.h"
#include "act/Nf4/Nf4.h"
#include "act/Random/Philox.h"
#include "runtime/FreeMemory.h"
#include "runtime/measure/Measure.h"
#include "runtime/step/Normals.h"
#include "test/runtime/HandMadeSteps.h"
#include "test/runtime/LoadedOnDevice.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace act;
using test::Loaded;
using test::makeType;

namespace {

// Binds x and y of an arithmetic step, runs it and returns y.
std::vector<float> runArithmetic(Loaded &l, int64_t blocks = 4) {
  static std::vector<float> x, y;
  x.assign(static_cast<size_t>(16 * blocks), 0);
  y = x;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  actrt_type t = makeType(ACTRT_DTYPE_F32, {blocks, 16});
  EXPECT_EQ(actrt_step_bind(l.handle, "step", ACTRT_INPUT, "x", x.data(), &t),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_step_bind(l.handle, "step", ACTRT_OUTPUT, "y", y.data(), &t),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_step_set_f64(l.handle, "scale", 0.5), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_step_run(l.handle, "step"), ACTRT_SUCCESS)
      << actrt_last_error();
  return y;
}

float expected(size_t i) {
  float x = static_cast<float>(i);
  return 2 * (0.5f * x + 1) + x;
}

actrt_step_statistics statistics(Loaded &l) {
  actrt_step_statistics s{};
  s.struct_size = sizeof s;
  EXPECT_EQ(actrt_step_measure(l.handle, "step", &s), ACTRT_SUCCESS);
  return s;
}

} // namespace

TEST(Step, ComputesInEveryMode) {
  for (uint32_t flags : {0u, uint32_t{ACTRT_DEBUG}, uint32_t{ACTRT_MEASURE},
                         uint32_t{ACTRT_DEBUG | ACTRT_MEASURE}})
    for (const char *kernel : {"add", "add_by_scratch"})
      for (uint32_t threads : {1u, 2u, 5u}) {
        Loaded l(test::arithmeticStep(50, kernel), flags, threads);
        auto y = runArithmetic(l, 50);
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(y[i], expected(i)) << i;
      }
}

TEST(Step, DebugModeShowsAShortenedLifetime) {
  artifact::Step step = test::arithmeticStep();
  step.functions[0].plan[0].last = 0; // `a` is read by launch 1
  Loaded plain(step);
  EXPECT_EQ(runArithmetic(plain)[3], expected(3)) << "by luck";
  Loaded debug(step, ACTRT_DEBUG);
  EXPECT_TRUE(std::isnan(runArithmetic(debug)[3]));
}

TEST(Step, DebugModeShowsAReadBeforeAWrite) {
  artifact::Step step = test::arithmeticStep();
  std::swap(step.functions[0].launches[0], step.functions[0].launches[1]);
  Loaded debug(step, ACTRT_DEBUG);
  EXPECT_TRUE(std::isnan(runArithmetic(debug)[3]));
}

TEST(Step, MeasureFindsTheHighestByte) {
  Loaded l(test::arithmeticStep(), ACTRT_MEASURE);
  runArithmetic(l);
  EXPECT_EQ(statistics(l).arena_bytes, 512u);
  EXPECT_EQ(statistics(l).arena_high_water, 512u);
  EXPECT_EQ(statistics(l).runs, 1u);
}

TEST(Step, MeasureFindsAWriteBeyondTheArena) {
  artifact::Step step = test::arithmeticStep();
  step.kernels[1].grid = 8; // twice as many blocks as `b` has room for
  Loaded l(step, ACTRT_MEASURE);
  runArithmetic(l);
  EXPECT_EQ(statistics(l).arena_high_water, 768u);
}

TEST(Step, MeasureFindsAHiddenAllocation) {
  if (!measure::available())
    GTEST_SKIP() << "a sanitizer has its own allocator";
  for (const char *kernel : {"add", "add_by_scratch", "add_with_malloc"}) {
    Loaded l(test::arithmeticStep(4, kernel));
    runArithmetic(l);
    measure::start();
    actrt_step_run(l.handle, "step");
    measure::Obtained o = measure::stop();
    bool hidden = std::string(kernel) == "add_with_malloc";
    EXPECT_EQ(o.calls, hidden ? 4u : 0u) << kernel;
    EXPECT_EQ(o.bytes, hidden ? 4000u : 0u) << kernel;
    EXPECT_EQ(o.mapCalls, 0u) << kernel;
  }
}

TEST(Step, ScratchIsAccountedFor) {
  Loaded l(test::arithmeticStep(4, "add_by_scratch"), 0, 3);
  EXPECT_EQ(statistics(l).scratch_bytes_per_thread, 64u);
  EXPECT_EQ(statistics(l).scratch_bytes, 192u);
}

TEST(Step, MeasureFindsTheScratchThatIsWritten) {
  for (const char *kernel : {"add", "add_by_scratch"})
    for (uint32_t threads : {1u, 3u}) {
      Loaded l(test::arithmeticStep(50, kernel), ACTRT_MEASURE, threads);
      runArithmetic(l, 50);
      bool uses = std::string(kernel) == "add_by_scratch";
      EXPECT_EQ(statistics(l).scratch_high_water, uses ? 64u : 0u) << kernel;
    }
}

TEST(Step, MeasureFindsAWriteBeyondTheScratch) {
  artifact::Step step = test::arithmeticStep(4, "add_by_scratch");
  for (artifact::Kernel &k : step.kernels)
    k.scratchBytes = k.scratchBytes ? 32 : 0;
  Loaded l(step, ACTRT_MEASURE);
  runArithmetic(l);
  EXPECT_EQ(statistics(l).scratch_bytes_per_thread, 32u);
  EXPECT_EQ(statistics(l).scratch_high_water, 64u);
}

TEST(Step, RefusesToRunUnbound) {
  Loaded l(test::arithmeticStep());
  EXPECT_EQ(actrt_step_run(l.handle, "step"), ACTRT_FAILED);
  EXPECT_EQ(std::string(actrt_last_error()),
            "input 'x' of function 'step' is not bound");
  float x[64] = {}, y[64] = {};
  actrt_type t = makeType(ACTRT_DTYPE_F32, {4, 16});
  actrt_step_bind(l.handle, "step", ACTRT_INPUT, "x", x, &t);
  actrt_step_bind(l.handle, "step", ACTRT_OUTPUT, "y", y, &t);
  EXPECT_EQ(actrt_step_run(l.handle, "step"), ACTRT_FAILED);
  EXPECT_EQ(std::string(actrt_last_error()), "scalar 'scale' has not been set");
  EXPECT_EQ(actrt_step_run(l.handle, "backwards"), ACTRT_NOT_FOUND);
}

TEST(Step, ChecksWhatIsBoundAndSet) {
  Loaded l(test::bigramStep());
  std::vector<int32_t> tokens(16);
  actrt_type wrongShape = makeType(ACTRT_DTYPE_I32, {16});
  actrt_type wrongType = makeType(ACTRT_DTYPE_I64, {2, 8});
  actrt_type right = makeType(ACTRT_DTYPE_I32, {2, 8});
  auto bind = [&](const char *port, void *p, actrt_type *t) {
    return actrt_step_bind(l.handle, "step", ACTRT_INPUT, port, p, t);
  };
  EXPECT_EQ(bind("tokens", tokens.data(), &wrongShape), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(actrt_last_error()),
            "'tokens' is i32[2,8], given i32[16]");
  EXPECT_EQ(bind("tokens", tokens.data(), &wrongType), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(bind("tokens", reinterpret_cast<char *>(tokens.data()) + 1, &right),
            ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(bind("tokens", nullptr, &right), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(bind("token", tokens.data(), &right), ACTRT_NOT_FOUND);
  EXPECT_EQ(bind("tokens", tokens.data(), &right), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_step_set_i64(l.handle, "lr", 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_step_set_f64(l.handle, "step", 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_step_set_f64(l.handle, "momentum", 1), ACTRT_NOT_FOUND);
  std::vector<float> w(256);
  actrt_type square = makeType(ACTRT_DTYPE_F32, {16, 16});
  actrt_type flat = makeType(ACTRT_DTYPE_F32, {256});
  actrt_type integer = makeType(ACTRT_DTYPE_I32, {16, 16});
  auto set = [&](const char *name, actrt_type *t) {
    return actrt_step_set(l.handle, ACTRT_PARAMETER, name, w.data(), t);
  };
  EXPECT_EQ(set("model.embed_tokens.weight", &square), ACTRT_SUCCESS);
  EXPECT_EQ(set("model.embed_tokens.weight", &flat), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(set("model.embed_tokens.weight", &integer), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(set("lm_head.weight", &square), ACTRT_NOT_FOUND);
}

TEST(Step, ListsItsParts) {
  Loaded l(test::bigramStep());
  size_t n = 0;
  EXPECT_EQ(actrt_step_count(l.handle, ACTRT_FUNCTION, nullptr, &n),
            ACTRT_SUCCESS);
  EXPECT_EQ(n, 3u);
  EXPECT_EQ(actrt_step_count(l.handle, ACTRT_INPUT, "step", &n), ACTRT_SUCCESS);
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(actrt_step_count(l.handle, ACTRT_INPUT, nullptr, &n),
            ACTRT_NOT_FOUND);
  actrt_entity_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(actrt_step_describe(l.handle, ACTRT_STATE, nullptr, 1, &info),
            ACTRT_SUCCESS);
  EXPECT_STREQ(info.name, "model.embed_tokens.weight.momentum");
  EXPECT_STREQ(info.parameter, "model.embed_tokens.weight");
  EXPECT_EQ(info.role, ACTRT_ROLE_MOMENTUM);
  EXPECT_EQ(info.bytes, 1024u);
  EXPECT_EQ(actrt_step_describe(l.handle, ACTRT_STATE, nullptr, 2, &info),
            ACTRT_NOT_FOUND);
  // A caller compiled against an older, shorter struct.
  actrt_step_info shorter{};
  shorter.struct_size = 2 * sizeof(void *);
  EXPECT_EQ(actrt_step_query(l.handle, &shorter), ACTRT_SUCCESS);
  EXPECT_STREQ(shorter.model, "bigram");
  EXPECT_EQ(shorter.target, nullptr);
}

TEST(Step, SaysFurtherNamesOfAParameter) {
  artifact::Step step = test::bigramStep();
  ASSERT_FALSE(step.parameters.empty());
  step.parameters[0].tied = {"head", "decoder"};
  Loaded l(step);
  const char *name = step.parameters[0].name.c_str();
  actrt_entity_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(actrt_step_describe(l.handle, ACTRT_PARAMETER, nullptr, 0, &info),
            ACTRT_SUCCESS);
  ASSERT_EQ(info.tied, 2u);
  const char *tied = nullptr;
  ASSERT_EQ(actrt_step_tied_name(l.handle, name, 1, &tied), ACTRT_SUCCESS);
  EXPECT_STREQ(tied, "decoder");
  EXPECT_EQ(actrt_step_tied_name(l.handle, name, 2, &tied), ACTRT_NOT_FOUND);
  EXPECT_EQ(actrt_step_tied_name(l.handle, "no", 0, &tied), ACTRT_NOT_FOUND);
  EXPECT_EQ(actrt_step_tied_name(l.handle, nullptr, 0, &tied),
            ACTRT_INVALID_ARGUMENT);
}

TEST(Step, InitialValuesDependOnSeedAndNameOnly) {
  artifact::Step step = test::bigramStep();
  auto extra = step.parameters[0];
  extra.name = "other.weight";
  extra.tied = {};
  step.parameters.push_back(extra);
  auto values = [&](const artifact::Step &s, uint64_t seed, uint32_t threads,
                    const char *name) {
    Loaded l(s, 0, threads);
    EXPECT_EQ(actrt_step_initialise(l.handle, seed), ACTRT_SUCCESS);
    std::vector<float> w(256);
    actrt_type t = makeType(ACTRT_DTYPE_F32, {16, 16});
    EXPECT_EQ(actrt_step_get(l.handle, ACTRT_PARAMETER, name, w.data(), &t),
              ACTRT_SUCCESS);
    return w;
  };
  const char *name = "model.embed_tokens.weight";
  auto w = values(step, 7, 1, name);
  EXPECT_EQ(w, values(step, 7, 4, name));
  EXPECT_EQ(w, values(test::bigramStep(), 7, 1, name));
  EXPECT_NE(w, values(step, 8, 1, name));
  EXPECT_NE(w, values(step, 7, 1, "other.weight"));
  double sum = 0, squares = 0;
  for (float v : w) {
    sum += v;
    squares += double{v} * v;
  }
  EXPECT_NEAR(sum / 256, 0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / 256), 0.02, 0.002);
}

// A step of one parameter, and what it holds at first.
static std::vector<float> initialValues(const std::string &name, int64_t n,
                                        uint32_t threads, artifact::DType dtype,
                                        const char *device = "host") {
  artifact::Step step;
  artifact::Parameter p;
  p.name = name;
  p.type.dtype = dtype;
  p.type.shape = {n};
  p.initStd = 1;
  step.parameters = {p};
  step.device = std::string(device) == "host" ? "host" : "cuda";
  step.target = "sm_80";
  Loaded l(step, 0, threads, device);
  EXPECT_EQ(actrt_step_initialise(l.handle, 3), ACTRT_SUCCESS)
      << actrt_last_error();
  std::vector<float> w(static_cast<size_t>(n));
  actrt_type f32 = makeType(ACTRT_DTYPE_F32, {n});
  EXPECT_EQ(
      actrt_step_get(l.handle, ACTRT_PARAMETER, name.c_str(), w.data(), &f32),
      ACTRT_SUCCESS);
  return w;
}

// Several pieces of a thread's work, and a last one that is odd.
TEST(Step, InitialValuesAreTheSameOnEveryDeviceAndNumberOfThreads) {
  constexpr int64_t n = (3 << 18) + 4099;
  for (auto dtype : {artifact::DType::F32, artifact::DType::BF16}) {
    auto w = initialValues("w", n, 1, dtype);
    EXPECT_EQ(w, initialValues("w", n, 3, dtype));
    EXPECT_EQ(w, initialValues("w", n, 2, dtype, "sim:sm_80"));
    // A shorter tensor of that name is its beginning.
    auto beginning = initialValues("w", 1001, 1, dtype);
    EXPECT_TRUE(std::equal(beginning.begin(), beginning.end(), w.begin()));
  }
}

// Element by element, in double; as the header says.
TEST(Step, InitialValuesAreBoxMullersOfPhilox) {
  auto w = initialValues("w", 1 << 16, 1, artifact::DType::F32);
  auto key = philoxKey(3, "w");
  for (uint32_t c = 0; c < w.size() / 4; ++c) {
    auto word = philox({c, 0, 0, 0}, key);
    for (size_t pair = 0; pair < 2; ++pair) {
      double radius =
          std::sqrt(-2 * std::log((word[2 * pair] + 0.5) * 0x1p-32));
      double angle = 2 * M_PI * (word[2 * pair + 1] * 0x1p-32);
      double allowed = std::min(5e-7 + 4e-8 / radius, 3e-4);
      ASSERT_NEAR(w[4 * c + 2 * pair], radius * std::cos(angle), allowed) << c;
      ASSERT_NEAR(w[4 * c + 2 * pair + 1], radius * std::sin(angle), allowed);
    }
  }
}

TEST(Step, InitialValuesAreTheSameWithVectorsOfAnyWidth) {
  auto key = philoxKey(5, "w");
  std::vector<float> one(4 * 1003), other(one.size());
  std::vector<uint16_t> narrow(one.size()), rounded(one.size());
  // Counters whose upper half changes on the way.
  const uint64_t counter = (uint64_t{7} << 32) - 500;
  auto widths = runtime::normalsByWidth();
  widths[0].f32(key, counter, 1003, 0.02f, one.data());
  artifact::convertFloats(artifact::DType::F32, one.data(),
                          artifact::DType::BF16, rounded.data(), one.size());
  for (const runtime::FillNormals &fill : widths) {
    fill.f32(key, counter, 1003, 0.02f, other.data());
    EXPECT_EQ(one, other);
    fill.bf16(key, counter, 1003, 0.02f, narrow.data());
    EXPECT_EQ(rounded, narrow);
  }
}

// Of 2^21 numbers: moments, tails and what lies between, within five standard
// deviations of what chance does; no tie to neighbours or to another tensor's.
TEST(Step, InitialValuesAreNormal) {
  constexpr int64_t n = 1 << 21;
  auto a = initialValues("layers.0.weight", n, 2, artifact::DType::F32);
  auto b = initialValues("layers.1.weight", n, 2, artifact::DType::F32);
  const double bound = 5 / std::sqrt(double(n));
  double mean = 0, square = 0, cube = 0, fourth = 0;
  for (double v : a) {
    mean += v / n;
    square += v * v / n;
    cube += v * v * v / n;
    fourth += v * v * v * v / n;
  }
  EXPECT_NEAR(mean, 0, bound);
  EXPECT_NEAR(square, 1, bound * std::sqrt(2.0));
  EXPECT_NEAR(cube, 0, bound * std::sqrt(15.0));
  EXPECT_NEAR(fourth, 3, bound * std::sqrt(96.0));
  for (double border :
       {-4.0, -3.0, -2.0, -1.0, -0.1, 0.0, 0.1, 1.0, 2.0, 3.0, 4.0, 4.5}) {
    double p = 0.5 * std::erfc(-border / std::sqrt(2.0));
    auto below = static_cast<double>(
        std::count_if(a.begin(), a.end(), [&](float v) { return v < border; }));
    EXPECT_NEAR(below, p * n, 5 * std::sqrt(n * p * (1 - p)) + 1) << border;
  }
  EXPECT_LT(*std::max_element(a.begin(), a.end()), 6.77f);
  auto correlation = [&](const std::vector<float> &x,
                         const std::vector<float> &y, size_t lag) {
    double sum = 0;
    for (size_t i = 0; i + lag < x.size(); ++i)
      sum += double{x[i]} * y[i + lag] / n;
    return sum;
  };
  for (size_t lag : {1, 2, 3, 4, 8, 2048, 8192})
    EXPECT_NEAR(correlation(a, a, lag), 0, bound) << lag;
  for (size_t lag : {0, 1, 4})
    EXPECT_NEAR(correlation(a, b, lag), 0, bound) << lag;
  // The two of a pair share a radius: their squares must not be tied either.
  double tied = 0;
  for (size_t i = 0; i < a.size(); i += 2)
    tied += (double{a[i]} * a[i] - 1) * (double{a[i + 1]} * a[i + 1] - 1) / n;
  EXPECT_NEAR(tied, 0, 2 * bound);
}

// As a container with limits sees it, in both versions of control groups.
TEST(FreeMemory, IsTheLeastOfWhatLimitsIt) {
  namespace fs = std::filesystem;
  const std::string root =
      testing::TempDir() + "/act-free-" + std::to_string(getpid());
  auto put = [&](const std::string &name, const std::string &text) {
    fs::create_directories(fs::path(root + name).parent_path());
    std::ofstream(root + name) << text;
  };
  auto found = [&] { return runtime::freeHostMemory(root); };
  put("/proc/self/status", "Name:\tx\nVmSize:\t 100 kB\nVmData:\t 50 kB\n");
  put("/proc/meminfo", "MemTotal:  9 kB\nMemAvailable:  4000 kB\n"
                       "SwapFree:  0 kB\n");
  EXPECT_EQ(found().bytes, 4000u * 1024);
  EXPECT_EQ(found().limit, "MemAvailable of the machine");
  put("/proc/meminfo", "MemAvailable:  4000 kB\nSwapFree:  96 kB\n");
  EXPECT_EQ(found().bytes, 4096u * 1024);
  // A group inside of one that has the limit; files' pages can be taken back.
  put("/proc/self/cgroup", "0::/outer/inner\n");
  put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("/sys/fs/cgroup/outer/inner/memory.current", "7\n");
  EXPECT_EQ(found().bytes, 4096u * 1024);
  put("/sys/fs/cgroup/outer/memory.max", "3000000\n");
  put("/sys/fs/cgroup/outer/memory.current", "1000000\n");
  EXPECT_EQ(found().bytes, 2000000u);
  EXPECT_EQ(found().limit, "the control group's memory.max is 3000000");
  put("/sys/fs/cgroup/outer/memory.stat",
      "anon 600000\ninactive_file 300000\nactive_file 100000\n");
  EXPECT_EQ(found().bytes, 2400000u);
  put("/sys/fs/cgroup/outer/memory.current", "9000000\n");
  EXPECT_EQ(found().bytes, 0u);
  put("/proc/self/cgroup", "5:cpu,memory:/a\n1:name=systemd:/b\n");
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500\n");
  put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "200\n");
  EXPECT_EQ(found().bytes, 300u);
  // This process' own limits, of what it has besides.
  put("/proc/self/cgroup", "");
  fs::remove(root + "/proc/meminfo");
  rlimit before, less;
  for (auto [resource, name, used] :
       {std::tuple(RLIMIT_AS, "address space (ulimit -v)", 100u),
        {RLIMIT_DATA, "data (ulimit -d)", 50u}}) {
    ASSERT_EQ(getrlimit(resource, &before), 0);
    less = before;
    less.rlim_cur = rlim_t{1} << 46; // room for a sanitizer
    ASSERT_EQ(setrlimit(resource, &less), 0);
    auto f = found();
    ASSERT_EQ(setrlimit(resource, &before), 0);
    EXPECT_EQ(f.bytes, (uint64_t{1} << 46) - used * 1024);
    EXPECT_EQ(f.limit,
              std::string("the limit of ") + name + " is 70368744177664");
  }
  fs::remove_all(root);
  EXPECT_EQ(found().bytes, UINT64_MAX);
}

static uint64_t residentBytes() {
  uint64_t pages = 0, unused = 0;
  if (FILE *f = fopen("/proc/self/statm", "r")) {
    if (fscanf(f, "%lu %lu", &unused, &pages) != 2)
      pages = 0;
    fclose(f);
  }
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// 256 MiB of states beside a parameter of 64 KiB.
TEST(Step, StatesThatAreZeroTakeNoMemory) {
  artifact::Step step = test::bigramStep();
  for (artifact::State &s : step.states)
    s.type.shape = {32 << 20};
  step.functions.clear();
  for (artifact::Parameter &p : step.parameters)
    p.type.shape = {32 << 20};
  Loaded l(step);
  uint64_t before = residentBytes();
  const char *name = "model.embed_tokens.weight";
  EXPECT_EQ(actrt_step_initialise_parameter(l.handle, "none", 1),
            ACTRT_NOT_FOUND);
  ASSERT_EQ(actrt_step_initialise_parameter(l.handle, name, 1), ACTRT_SUCCESS);
  uint64_t one = residentBytes() - before;
  EXPECT_GE(one + (8 << 20), uint64_t{128} << 20);
  EXPECT_LE(one, (uint64_t{128} << 20) + (32 << 20));
  ASSERT_EQ(actrt_step_initialise(l.handle, 1), ACTRT_SUCCESS);
  EXPECT_LE(residentBytes() - before, one + (32 << 20));
  // One that was written is zero again.
  actrt_type t = makeType(ACTRT_DTYPE_F32, {32 << 20});
  std::vector<float> values(32 << 20, 1.0f);
  const char *state = "model.embed_tokens.weight.momentum";
  ASSERT_EQ(actrt_step_set(l.handle, ACTRT_STATE, state, values.data(), &t),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_initialise(l.handle, 1), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_STATE, state, values.data(), &t),
            ACTRT_SUCCESS);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), 32 << 20);
}

// More than a machine has, to the byte, and before any of it is allocated.
TEST(Step, WhatDoesNotFitIsRefusedBeforeItIsAllocated) {
  for (const char *name : {"host", "sim:sm_80"}) {
    bool host = std::string(name) == "host";
    artifact::Step step;
    if (!host) {
      step.device = "cuda";
      step.target = "sm_80";
    }
    artifact::Parameter p;
    p.name = "w";
    p.type.shape = {int64_t{1} << 42};
    step.parameters = {p};
    artifact::Function f;
    f.name = "step";
    f.inputs = {{"x", {artifact::DType::I32, {3}, 0}}};
    f.arenaBytes = 4097;
    step.functions = {f};
    auto bytes = artifact::write(step);
    ASSERT_TRUE(bytes);
    actrt_device device;
    ASSERT_EQ(actrt_device_open(name, nullptr, &device), ACTRT_SUCCESS);
    actrt_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(actrt_device_query(device, &info), ACTRT_SUCCESS);
    EXPECT_GT(info.free_bytes, 1u << 20);
    EXPECT_LT(info.free_bytes, uint64_t{1} << 44);
    EXPECT_NE(std::string(info.free_limit), "");
    actrt_step handle;
    EXPECT_EQ(actrt_step_load_memory(device, bytes->data(), bytes->size(), 0,
                                     &handle),
              ACTRT_FAILED);
    std::string message = actrt_last_error();
    uint64_t total = (uint64_t{4} << 42) + 8192 + 12;
    EXPECT_NE(message.find("the step needs " + std::to_string(total) +
                           " bytes: parameters 17592186044416, arena 8192, "
                           "inputs and outputs 12"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("on device " + std::string(name) + ", which has "),
              std::string::npos)
        << message;
    // Who insists is told which allocation failed.
    EXPECT_EQ(actrt_step_load_memory(device, bytes->data(), bytes->size(),
                                     ACTRT_ANY_MEMORY, &handle),
              ACTRT_FAILED);
    message = actrt_last_error();
    EXPECT_NE(message.find("for 'w'; the step needs "), std::string::npos)
        << message;
    actrt_device_release(device);
  }
}

TEST(Step, MasterCopiesFollowTheirParameter) {
  artifact::Step step = test::bigramStep();
  step.parameters[0].type.dtype = artifact::DType::BF16;
  step.functions.clear();
  step.states[1].role = artifact::Role::Master;
  step.states[1].name = "model.embed_tokens.weight.master";
  Loaded l(step);
  std::vector<float> w(256, 0.1f), m(256);
  actrt_type t = makeType(ACTRT_DTYPE_F32, {16, 16});
  ASSERT_EQ(actrt_step_set(l.handle, ACTRT_PARAMETER,
                           "model.embed_tokens.weight", w.data(), &t),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_STATE,
                           "model.embed_tokens.weight.master", m.data(), &t),
            ACTRT_SUCCESS);
  EXPECT_EQ(m[255], 0.10009765625f) << "0.1 rounded to bf16";
}

TEST(Step, Nf4ParametersAreQuantised) {
  artifact::Step step;
  artifact::Parameter p;
  p.name = "w";
  p.type.dtype = artifact::DType::NF4;
  p.type.shape = {2, 96}; // a block crosses the rows
  p.type.blockSize = 64;
  p.frozen = true;
  step.parameters = {p};
  Loaded l(step);
  std::vector<float> w(192), back(192);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = std::sin(static_cast<float>(i)) * (i < 64 ? 1.f : 3.f);
  w[10] = -2; // the first block's absmax
  w[100] = 4; // the second's
  actrt_type f32 = makeType(ACTRT_DTYPE_F32, {2, 96});
  actrt_type nf4 = makeType(ACTRT_DTYPE_NF4, {2, 96});
  ASSERT_EQ(actrt_step_set(l.handle, ACTRT_PARAMETER, "w", w.data(), &f32),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_PARAMETER, "w", back.data(), &f32),
            ACTRT_SUCCESS);
  EXPECT_EQ(back[10], -2);
  EXPECT_EQ(back[100], 4);
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(back[i], w[i], 0.16 * 4) << i;
  std::vector<uint8_t> raw(128 + 3 * 4);
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_PARAMETER, "w", raw.data(), &nf4),
            ACTRT_SUCCESS);
  EXPECT_EQ(raw[5] >> 4, 0) << "element 10 is the lowest level";
  EXPECT_EQ(raw[50] >> 4, 15) << "element 100 is the highest";
  float absmax[3];
  std::memcpy(absmax, raw.data() + 128, sizeof absmax);
  EXPECT_EQ(absmax[0], 2);
  EXPECT_EQ(absmax[1], 4);
}

TEST(Step, NestedNf4ParametersAreQuantised) {
  artifact::Step step;
  artifact::Parameter p;
  p.name = "w";
  p.type.dtype = artifact::DType::NF4Nested;
  p.type.shape = {300, 64}; // two groups of blocks, the second not full
  p.type.blockSize = 64;
  p.frozen = true;
  step.parameters = {p};
  Loaded l(step);
  std::vector<float> w(19200), back(w.size()), alone(w.size()), absmax(300);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] =
        std::sin(static_cast<float>(i)) * (1 + static_cast<float>(i % 77) / 9);
  actrt_type f32 = makeType(ACTRT_DTYPE_F32, {300, 64});
  actrt_type nested = makeType(ACTRT_DTYPE_NF4_NESTED, {300, 64});
  ASSERT_EQ(actrt_step_set(l.handle, ACTRT_PARAMETER, "w", w.data(), &f32),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_PARAMETER, "w", back.data(), &f32),
            ACTRT_SUCCESS);
  // Codes, a byte for each block, two groups and the mean.
  std::vector<uint8_t> raw(9600 + 320 + 3 * 4), codes(9600);
  ASSERT_EQ(*artifact::byteSize(p.type), raw.size());
  ASSERT_EQ(actrt_step_get(l.handle, ACTRT_PARAMETER, "w", raw.data(), &nested),
            ACTRT_SUCCESS);
  nf4::quantize(w.data(), w.size(), 64, codes.data(), absmax.data());
  EXPECT_TRUE(std::equal(codes.begin(), codes.end(), raw.begin()));
  nf4::dequantize(codes.data(), absmax.data(), w.size(), 64, alone.data());
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(back[i], alone[i], 0.01 * absmax[i / 64]) << i;
  EXPECT_NE(back, alone) << "the scales have 8 bits";
}

// Codes and absmax that bitsandbytes 0.50.2 (quantize_4bit, nf4, block size 64)
// gives for these values, and for a block of zeros behind them.
TEST(Nf4, GivesTheBytesOfBitsandbytes) {
  const std::vector<uint8_t> expected{9,   28,  62,  112, 162, 212, 248, 27,
                                      46,  95,  145, 195, 230, 10,  45,  79,
                                      113, 178, 229, 249, 28,  62,  96,  161,
                                      212, 231, 27,  45,  95,  129, 195, 230};
  std::vector<float> x(192), absmax(3);
  for (int i = 0; i < 128; ++i)
    x[size_t(i)] = float((i * 37) % 64 - 31) / 32 * (i < 64 ? 1 : 3);
  std::vector<uint8_t> codes(96);
  nf4::quantize(x.data(), x.size(), 64, codes.data(), absmax.data());
  EXPECT_EQ(absmax, (std::vector<float>{1, 3, 0}));
  for (size_t i = 0; i < 96; ++i)
    EXPECT_EQ(codes[i], i < 64 ? expected[i % 32] : 0x77) << i;
}

TEST(Convert, RoundsToNearestEven) {
  using artifact::DType;
  auto through = [](DType t, double v) {
    uint64_t slot = 0;
    artifact::storeFloat(t, &slot, 0, v);
    return artifact::loadFloat(t, &slot, 0);
  };
  EXPECT_EQ(through(DType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(through(DType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(through(DType::F16, 65504), 65504);
  EXPECT_EQ(through(DType::F16, 65520), INFINITY);
  EXPECT_EQ(through(DType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(through(DType::F16, 0x1p-25), 0);
  EXPECT_EQ(through(DType::F8E4M3FN, 448), 448);
  EXPECT_EQ(through(DType::F8E4M3FN, 464), 448) << "a tie goes to even";
  EXPECT_TRUE(std::isnan(through(DType::F8E4M3FN, 465)));
  EXPECT_EQ(through(DType::F8E4M3FN, -0x1p-9), -0x1p-9);
  // Every pattern of 16 bits survives the way through double.
  for (DType t : {DType::BF16, DType::F16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto in = static_cast<uint16_t>(bits);
      double v = artifact::loadFloat(t, &in, 0);
      uint16_t out = 0;
      artifact::storeFloat(t, &out, 0, v);
      if (!std::isnan(v))
        ASSERT_EQ(in, out);
    }
}

// Every pattern of 16 bits, and f32 around every place where rounding, range or
// kind changes, against the way through double.
TEST(Convert, ManyAtATimeAreAsOneByOne) {
  using artifact::DType;
  auto check = [](DType from, const std::vector<uint8_t> &source, DType to) {
    uint64_t width = artifact::elementBytes(to);
    size_t n = source.size() / artifact::elementBytes(from);
    // Off any alignment.
    std::vector<uint8_t> one(width * n), shifted(source.size() + 1),
        many(width * n + 1);
    std::memcpy(shifted.data() + 1, source.data(), source.size());
    for (size_t i = 0; i < n; ++i)
      artifact::storeFloat(to, one.data(), i,
                           artifact::loadFloat(from, source.data(), i));
    artifact::convertFloats(from, shifted.data() + 1, to, many.data() + 1, n);
    EXPECT_EQ(std::memcmp(one.data(), many.data() + 1, one.size()), 0)
        << artifact::dtypeName(from) << " to " << artifact::dtypeName(to);
    // An infinity or NaN anywhere, and nothing else, is noticed.
    for (size_t i = 0; i < n; i += 97)
      ASSERT_EQ(artifact::allFinite(to, one.data() + i * width, 1),
                std::isfinite(artifact::loadFloat(to, one.data(), i)));
  };
  std::vector<uint8_t> halves(2 << 16), floats;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    std::memcpy(&halves[2 * bits], &half, 2);
    for (uint32_t low : {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u,
                         0x3001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      uint32_t word = bits << 16 | low;
      floats.insert(floats.end(), reinterpret_cast<uint8_t *>(&word),
                    reinterpret_cast<uint8_t *>(&word) + 4);
    }
  }
  for (DType from : {DType::BF16, DType::F16})
    for (DType to :
         {DType::F64, DType::F32, DType::BF16, DType::F16, DType::F8E4M3FN})
      if (from != to)
        check(from, halves, to);
  for (DType to : {DType::F64, DType::BF16, DType::F16, DType::F8E4M3FN})
    check(DType::F32, floats, to);
}
