// SPDX-License-Identifier: Apache-2.0
//
// What runtime/cuda asks of a driver, seen from the driver's side: each suite
// runs with another libcuda.so.1 in LD_LIBRARY_PATH (see CMakeLists.txt).
#include "act-c/Runtime.h"
#include "act/Artifact/Format.h"
#include "test/runtime/FakeCuda.h"
#include "test/runtime/HandMadeSteps.h"
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace act;

namespace {

std::string openError() {
  actrt_device d = nullptr;
  EXPECT_EQ(actrt_device_open("cuda:0", nullptr, &d), ACTRT_NOT_FOUND);
  return actrt_last_error();
}

std::string text(const char *name) {
  std::ifstream file(std::string(ACT_TEST_PTX) + "/" + name + ".ptx");
  return {std::istreambuf_iterator<char>(file), {}};
}

class Driver_cuda : public testing::Test {
protected:
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  decltype(&fake_cuda_calls) calls = nullptr;
  decltype(&fake_cuda_live) live = nullptr;
  actrt_device device = nullptr;
  actrt_stream stream = nullptr;

  void SetUp() override {
    ASSERT_TRUE(library) << dlerror();
    calls =
        reinterpret_cast<decltype(calls)>(dlsym(library, "fake_cuda_calls"));
    live = reinterpret_cast<decltype(live)>(dlsym(library, "fake_cuda_live"));
    ASSERT_TRUE(calls && live) << "not the fake driver";
    ASSERT_EQ(actrt_device_open("cuda:0", nullptr, &device), ACTRT_SUCCESS)
        << actrt_last_error();
    ASSERT_EQ(actrt_stream_create(device, &stream), ACTRT_SUCCESS);
  }
  // Whatever a test made is gone with its handles.
  void TearDown() override {
    for (actrt_module m : modules)
      actrt_module_release(m);
    for (actrt_function f : functions)
      actrt_function_release(f);
    actrt_stream_release(stream);
    actrt_device_release(device);
    for (int kind = 0; live && kind < 6; ++kind)
      EXPECT_EQ(live(kind), 0) << "objects of kind " << kind;
  }
  actrt_module load(const std::string &code) {
    actrt_module m = nullptr;
    EXPECT_EQ(actrt_module_load(device, code.data(), code.size(), 0, &m),
              ACTRT_SUCCESS)
        << actrt_last_error();
    modules.push_back(m);
    return m;
  }
  actrt_function function(actrt_module m, const char *name) {
    actrt_function f = nullptr;
    EXPECT_EQ(actrt_function_get(m, name, &f), ACTRT_SUCCESS)
        << actrt_last_error();
    functions.push_back(f);
    return f;
  }
  float run(const artifact::Step &made);
  long modulesOfStep = 0; // alive when run() had run the step
  std::vector<actrt_module> modules;
  std::vector<actrt_function> functions;
};

} // namespace

TEST_F(Driver_cuda, DeviceSaysWhatTheCardIs) {
  actrt_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(actrt_device_query(device, &info), ACTRT_SUCCESS);
  EXPECT_STREQ(info.kind, "cuda");
  EXPECT_STREQ(info.target, "sm_90a");
  EXPECT_EQ(info.multiprocessors, 132u);
  EXPECT_EQ(info.shared_bytes_per_block, 232448u);
  EXPECT_EQ(info.memory_bytes, uint64_t{80} << 30);
  EXPECT_EQ(info.host_addressable, 0u);
  actrt_device other = nullptr;
  EXPECT_EQ(actrt_device_open("cuda:1", nullptr, &other), ACTRT_NOT_FOUND);
  EXPECT_NE(std::string(actrt_last_error()).find("1 card"), std::string::npos);
  for (const char *name : {"cuda:", "cuda", "cuda:x", "cuda:-1"})
    EXPECT_EQ(actrt_device_open(name, nullptr, &other), ACTRT_NOT_FOUND);
}

TEST_F(Driver_cuda, CompilersLogIsInTheMessage) {
  actrt_module m = nullptr;
  EXPECT_EQ(actrt_module_load(device, "garbage", 7, 0, &m), ACTRT_FAILED);
  std::string message = actrt_last_error();
  EXPECT_NE(message.find("CUDA_ERROR_INVALID_PTX"), std::string::npos);
  EXPECT_NE(message.find("fake ptxas: line 1: syntax error near 'garbage'"),
            std::string::npos)
      << message;
}

// A text without variables is compiled once; one with variables each time.
TEST_F(Driver_cuda, ModulesAreCachedByContent) {
  std::string plain = text("conformance-cluster"), state = text("conformance");
  long before = calls("cuModuleLoadDataEx");
  load(plain);
  load(plain);
  load(plain + "\n// another text");
  EXPECT_EQ(calls("cuModuleLoadDataEx"), before + 2);
  load(state);
  load(state);
  EXPECT_EQ(calls("cuModuleLoadDataEx"), before + 4);
  std::string cubin = "\177ELF .entry rank(";
  function(load(cubin), "rank");
  EXPECT_EQ(calls("cuModuleLoadDataEx"), before + 5);
}

TEST_F(Driver_cuda, CooperativeAndClusterLaunchesUseAttributes) {
  actrt_function f = function(load(text("conformance-cluster")), "rank");
  void *out = nullptr;
  ASSERT_EQ(actrt_allocate(device, 64, &out), ACTRT_SUCCESS);
  actrt_argument a{};
  a.value.pointer = out;
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  shape.grid[0] = 16;
  long before = calls("cooperative"), set = calls("cuFuncSetAttribute");
  shape.cooperative = 1;
  EXPECT_EQ(actrt_launch(f, stream, &shape, &a, 1), ACTRT_SUCCESS);
  EXPECT_EQ(calls("cooperative"), before + 1);
  shape.cooperative = 0;
  shape.cluster[0] = 16; // more than the portable eight
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(actrt_launch(f, stream, &shape, &a, 1), ACTRT_SUCCESS)
        << actrt_last_error();
  EXPECT_EQ(calls("cuFuncSetAttribute"), set + 1);
  uint32_t got[16];
  ASSERT_EQ(actrt_copy(stream, got, out, 64, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
  EXPECT_EQ(got[15], 1615u);
}

/// Points the argument to a thousand numbers on the device.
static void allocateThousand(actrt_device device, actrt_argument &a) {
  ASSERT_EQ(actrt_allocate(device, 4 * 1000, &a.value.pointer), ACTRT_SUCCESS);
}

/// A persistent launch of `grid` programs starts so many: each writes a number
/// of a thousand that the argument points to.
static void expectLaunched(actrt_stream stream, actrt_function f,
                           actrt_launch_shape &shape, actrt_argument a,
                           uint32_t grid, uint32_t launched) {
  std::vector<uint32_t> got(1000);
  void *out = a.value.pointer;
  ASSERT_EQ(
      actrt_copy(stream, out, got.data(), 4 * got.size(), ACTRT_HOST_TO_DEVICE),
      ACTRT_SUCCESS);
  shape.grid[0] = grid;
  ASSERT_EQ(actrt_launch(f, stream, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  ASSERT_EQ(
      actrt_copy(stream, got.data(), out, 4 * got.size(), ACTRT_DEVICE_TO_HOST),
      ACTRT_SUCCESS);
  EXPECT_EQ(std::count(got.begin(), got.end(), 0), 1000 - launched);
}

// No more blocks than the card runs at once: two on each of 132.
TEST_F(Driver_cuda, PersistentLaunchesHaveResidentBlocksOnly) {
  actrt_function f = function(load(text("conformance-cluster")), "rank");
  actrt_argument a{};
  ASSERT_NO_FATAL_FAILURE(allocateThousand(device, a));
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  shape.persistent = 1;
  const std::string counted = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  long before = calls(counted.c_str());
  for (auto [grid, launched] : {std::pair{1000u, 264u}, {100u, 100u}}) {
    ASSERT_NO_FATAL_FAILURE(
        expectLaunched(stream, f, shape, a, grid, launched));
  }
  EXPECT_EQ(calls(counted.c_str()), before + 1);
  shape.grid[1] = 2;
  EXPECT_EQ(actrt_launch(f, stream, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actrt_last_error()).find("along x only"),
            std::string::npos);
}

// Blocks that wait for each other must run at once: two on each of 132.
TEST_F(Driver_cuda, RefusesBlocksThatWaitForMoreThanRun) {
  actrt_function f = function(load(text("conformance-cluster")), "rank");
  actrt_argument a{};
  ASSERT_NO_FATAL_FAILURE(allocateThousand(device, a));
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  for (auto [grid, atOnce, fits] : {std::tuple{1000u, 264u, true},
                                    {1000u, 265u, false},
                                    {8u, 8u, true},
                                    {8u, 9u, false}}) {
    shape.grid[0] = grid;
    shape.at_once = atOnce;
    const actrt_status status = actrt_launch(f, stream, &shape, &a, 1);
    EXPECT_EQ(status, fits ? ACTRT_SUCCESS : ACTRT_INVALID_ARGUMENT);
    if (!fits)
      EXPECT_NE(std::string(actrt_last_error())
                    .find(std::to_string(atOnce) +
                          " blocks that wait for each other, but the device "
                          "runs 264 at once"),
                std::string::npos)
          << actrt_last_error();
  }
}

// Clusters are counted by the driver: of two there are 65 on this card.
TEST_F(Driver_cuda, PersistentLaunchesHaveWholeClusters) {
  actrt_module m = load(text("conformance-cluster"));
  actrt_argument a{};
  ASSERT_NO_FATAL_FAILURE(allocateThousand(device, a));
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  shape.persistent = 1;
  const char *counted = "cuOccupancyMaxActiveClusters";
  long before = calls(counted);
  // Said by the launch, and by the kernel.
  for (auto [name, cluster] : {std::pair{"rank", 2u}, {"pairs", 0u}}) {
    actrt_function f = function(m, name);
    shape.cluster[0] = cluster;
    for (auto [grid, launched] : {std::pair{1000u, 130u}, {100u, 100u}}) {
      ASSERT_NO_FATAL_FAILURE(
          expectLaunched(stream, f, shape, a, grid, launched));
    }
    shape.grid[0] = 999;
    EXPECT_EQ(actrt_launch(f, stream, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(actrt_last_error()).find("multiple of the cluster"),
              std::string::npos);
  }
  EXPECT_EQ(calls(counted), before + 2);
}

// From its second run on, a step is one graph, until something is bound anew.
TEST_F(Driver_cuda, RepeatedStepsAreGraphs) {
  auto bytes =
      artifact::write(test::arithmeticStepOfPtx(4, text("arithmetic")));
  ASSERT_TRUE(bytes) << bytes.error().str();
  actrt_step step = nullptr;
  ASSERT_EQ(
      actrt_step_load_memory(device, bytes->data(), bytes->size(), 0, &step),
      ACTRT_SUCCESS)
      << actrt_last_error();
  std::vector<float> x(64, 3), y(64);
  actrt_type type{};
  type.dtype = ACTRT_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = 4;
  type.shape[1] = 16;
  auto bind = [&](actrt_entity port, const char *name, void *p) {
    EXPECT_EQ(actrt_step_bind(step, "step", port, name, p, &type),
              ACTRT_SUCCESS);
  };
  bind(ACTRT_INPUT, "x", x.data());
  bind(ACTRT_OUTPUT, "y", y.data());
  ASSERT_EQ(actrt_step_set_f64(step, "scale", 2), ACTRT_SUCCESS);
  long launches = calls("cuLaunchKernel") + calls("cuLaunchKernelEx");
  long graphs = calls("cuGraphLaunch");
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS)
        << actrt_last_error();
  EXPECT_EQ(y[5], 17); // 2 (2 * 3 + 1) + 3
  // 3 in the first run, 3 captured in the second.
  EXPECT_EQ(calls("cuLaunchKernel") + calls("cuLaunchKernelEx") - launches, 6);
  EXPECT_EQ(calls("cuGraphLaunch") - graphs, 4);
  EXPECT_EQ(live(4), 1);
  std::vector<float> other(64);
  // The graph writes to device memory next to it, which stays the same.
  bind(ACTRT_OUTPUT, "y", other.data());
  EXPECT_EQ(live(4), 1);
  ASSERT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS) << actrt_last_error();
  EXPECT_EQ(other[5], 17);
  // Memory of the device is another address.
  void *there = nullptr;
  ASSERT_EQ(actrt_allocate(device, 64 * sizeof(float), &there), ACTRT_SUCCESS);
  bind(ACTRT_OUTPUT, "y", there);
  EXPECT_EQ(live(4), 0);
  ASSERT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS) << actrt_last_error();
  EXPECT_EQ(actrt_step_release(step), ACTRT_SUCCESS);
}

// x = 3 and scale = 2, by the artifact; an element of y.
float Driver_cuda::run(const artifact::Step &made) {
  std::vector<float> x(64, 3), y(64);
  auto bytes = artifact::write(made);
  EXPECT_TRUE(bytes) << bytes.error().str();
  actrt_step step = nullptr;
  EXPECT_EQ(
      actrt_step_load_memory(device, bytes->data(), bytes->size(), 0, &step),
      ACTRT_SUCCESS)
      << actrt_last_error();
  actrt_type type{};
  type.dtype = ACTRT_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = 4;
  type.shape[1] = 16;
  actrt_step_bind(step, "step", ACTRT_INPUT, "x", x.data(), &type);
  actrt_step_bind(step, "step", ACTRT_OUTPUT, "y", y.data(), &type);
  actrt_step_set_f64(step, "scale", 2);
  EXPECT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS) << actrt_last_error();
  modulesOfStep = live(3);
  EXPECT_EQ(actrt_step_release(step), ACTRT_SUCCESS);
  return y[5];
}

// PTX that no kernel needs is not given to the driver, which would refuse this.
TEST_F(Driver_cuda, StepsRunKernelsOfTheirImages) {
  artifact::Step step = test::arithmeticStepOfPtx(4, "no text");
  test::addImage(step, 0, ".entry scale_add(");
  test::addImage(step, 1, ".entry add(");
  test::addImage(step, 2, ".entry add(");
  long before = calls("cuModuleLoadDataEx");
  EXPECT_EQ(run(step), 17);
  EXPECT_EQ(calls("cuModuleLoadDataEx"), before + 3);
  EXPECT_EQ(modulesOfStep, 3);
  EXPECT_EQ(live(3), 0);
}

TEST_F(Driver_cuda, KernelsOfRefusedImagesRunFromThePtx) {
  for (const char *second : {"of another card", ""}) {
    artifact::Step step = test::arithmeticStepOfPtx(4, text("arithmetic"));
    test::addImage(step, 0, ".entry scale_add(");
    if (*second)
      test::addImage(step, 1, second);
    test::addImage(step, 2, ".entry add(");
    EXPECT_EQ(run(step), 17);
    EXPECT_EQ(modulesOfStep, 3); // two images and the text, which is kept
    EXPECT_EQ(live(3), 1);
  }
}

TEST_F(Driver_cuda, RefusedImagesAreNamedWhereThePtxIsRefusedToo) {
  artifact::Step step = test::arithmeticStepOfPtx(4, "no text");
  test::addImage(step, 0, "of another card");
  auto bytes = artifact::write(step);
  ASSERT_TRUE(bytes) << bytes.error().str();
  actrt_step loaded = nullptr;
  EXPECT_EQ(
      actrt_step_load_memory(device, bytes->data(), bytes->size(), 0, &loaded),
      ACTRT_FAILED);
  std::string message = actrt_last_error();
  for (const char *part : {"CUDA_ERROR_INVALID_PTX", "kernel 'scale_add'",
                           "CUDA_ERROR_NO_BINARY_FOR_GPU"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Driver_none, MessageNamesWhatWasLookedFor) {
  for (const char *name : {"libcuda.so.1", "libcuda.so"})
    if (dlopen(name, RTLD_NOW))
      GTEST_SKIP() << "this machine has a driver";
  std::string e = openError();
  EXPECT_NE(e.find("libcuda.so.1"), std::string::npos) << e;
  EXPECT_NE(e.find("libcuda.so "), std::string::npos) << e;
  EXPECT_NE(e.find("'cuda:0'"), std::string::npos) << e;
}

TEST(Driver_cuda_init_fails, MessageIsTheDriversOwn) {
  std::string e = openError();
  EXPECT_NE(e.find("CUDA_ERROR_NO_DEVICE"), std::string::npos) << e;
  EXPECT_NE(e.find("no CUDA-capable device is detected"), std::string::npos);
}

// An old driver serves plain launches and says what it lacks for others.
TEST(Driver_cuda_too_old, OnlyNewLaunchesFail) {
  actrt_device d = nullptr;
  ASSERT_EQ(actrt_device_open("cuda:0", nullptr, &d), ACTRT_SUCCESS)
      << actrt_last_error();
  actrt_stream s = nullptr;
  actrt_module m = nullptr;
  actrt_function f = nullptr;
  void *out = nullptr;
  std::string code = text("conformance-cluster");
  ASSERT_EQ(actrt_stream_create(d, &s), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_module_load(d, code.data(), code.size(), 0, &m),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_function_get(m, "rank", &f), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_allocate(d, 64, &out), ACTRT_SUCCESS);
  actrt_argument a{};
  a.value.pointer = out;
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  shape.grid[0] = 2;
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  shape.cluster[0] = 2;
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_FAILED);
  EXPECT_NE(std::string(actrt_last_error()).find("cuLaunchKernelEx"),
            std::string::npos);
  actrt_tiled_tensor t{};
  t.struct_size = sizeof t;
  t.rank = 1;
  t.address = out;
  t.dims[0] = t.box[0] = 16;
  t.element_strides[0] = 1;
  actrt_tensor_map map;
  EXPECT_EQ(actrt_tensor_map_encode_tiled(d, &t, &map), ACTRT_FAILED);
  EXPECT_NE(std::string(actrt_last_error()).find("cuTensorMapEncodeTiled"),
            std::string::npos);
  actrt_device_release(d);
}
