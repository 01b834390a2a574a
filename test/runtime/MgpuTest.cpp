// SPDX-License-Identifier: Apache-2.0
//
// The entry points of upstream's --gpu-to-llvm, called as its code calls them:
// on the fake driver and on a simulator (CMakeLists.txt sets ACT_DEVICE).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

extern "C" {
void *mgpuModuleLoad(void *, size_t);
void *mgpuModuleLoadJIT(void *, int);
void mgpuModuleUnload(void *);
void *mgpuModuleGetFunction(void *, const char *);
void mgpuLaunchKernel(void *, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                      intptr_t, int32_t, void *, void **, void **, size_t);
void mgpuLaunchClusterKernel(void *, intptr_t, intptr_t, intptr_t, intptr_t,
                             intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                             int32_t, void *, void **, void **, size_t);
void mgpuLaunchKernelCooperative(void *, intptr_t, intptr_t, intptr_t, intptr_t,
                                 intptr_t, intptr_t, intptr_t, intptr_t,
                                 intptr_t, int32_t, void *, void **, void **);
void *mgpuStreamCreate();
void mgpuStreamDestroy(void *);
void mgpuStreamSynchronize(void *);
void mgpuStreamWaitEvent(void *, void *);
void *mgpuEventCreate();
void mgpuEventDestroy(void *);
void mgpuEventSynchronize(void *);
void mgpuEventRecord(void *, void *);
void *mgpuMemAlloc(uint64_t, void *, bool);
void mgpuMemFree(void *, void *);
void mgpuMemcpy(void *, void *, size_t, void *);
void mgpuMemset32(void *, unsigned, size_t, void *);
void mgpuMemset16(void *, unsigned short, size_t, void *);
void mgpuMemHostRegisterMemRef(int64_t, void *, int64_t);
void mgpuMemHostUnregisterMemRef(int64_t, void *, int64_t);
void mgpuSetDefaultDevice(int32_t);
void *mgpuTensorMapEncodeTiledMemref(int64_t, void *, uint32_t, uint32_t,
                                     uint32_t, uint32_t, uint32_t, int64_t *);
}

namespace {

std::string text(const char *name) {
  std::ifstream file(std::string(ACT_TEST_PTX) + "/" + name + ".ptx");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct MemRef2 {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
};

void launch(void *f, intptr_t grid, intptr_t block, void *stream,
            std::vector<void *> params) {
  mgpuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, params.data(),
                   nullptr, params.size());
}

} // namespace

TEST(Mgpu, RunsAKernelOnAStream) {
  std::string code = text("conformance");
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  void *m = mgpuModuleLoadJIT(code.data(), 2);
  void *f = mgpuModuleGetFunction(m, "count_block");
  ASSERT_TRUE(stream && event && m && f);
  void *counts = mgpuMemAlloc(40, stream, false);
  mgpuMemset32(counts, 5, 10, stream);
  launch(f, 10, 32, stream, {&counts});
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  mgpuEventSynchronize(event);
  int32_t got[10] = {};
  mgpuMemcpy(got, counts, 40, stream);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(got[0], 6);
  EXPECT_EQ(got[9], 6);
  mgpuMemset16(counts, 0x0102, 1, stream);
  mgpuMemcpy(got, counts, 4, nullptr);
  EXPECT_EQ(got[0], 0x0102);
  // A function looked up twice is one; both end with the module.
  EXPECT_EQ(mgpuModuleGetFunction(m, "count_block"), f);
  mgpuMemFree(counts, stream);
  mgpuMemFree(nullptr, stream);
  EXPECT_EQ(mgpuMemAlloc(0, stream, false), nullptr);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
  mgpuModuleUnload(m);
}

TEST(Mgpu, KernelsSeeRegisteredMemory) {
  std::string code = text("conformance");
  void *m = mgpuModuleLoadJIT(code.data(), 2);
  void *f = mgpuModuleGetFunction(m, "count_block");
  std::vector<int32_t> data(3 * 8, 1);
  MemRef2 r{data.data(), data.data(), 2, {3, 4}, {8, 1}};
  mgpuMemHostRegisterMemRef(2, &r, 4);
  void *first = data.data() + 2;
  launch(f, 20, 1, nullptr, {&first});
  mgpuStreamSynchronize(nullptr);
  mgpuMemHostUnregisterMemRef(2, &r, 4);
  EXPECT_EQ(data[1], 1);
  EXPECT_EQ(data[2], 2);
  EXPECT_EQ(data[21], 2);
  EXPECT_EQ(data[22], 1);
  void *shared = mgpuMemAlloc(16, nullptr, true);
  static_cast<int32_t *>(shared)[0] = 41;
  launch(f, 1, 1, nullptr, {&shared});
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(static_cast<int32_t *>(shared)[0], 42);
  mgpuMemFree(shared, nullptr);
  mgpuModuleUnload(m);
}

// Without ACT_DEVICE these two run on simulators of different architectures.
TEST(Mgpu, TwoModulesShareMemory) {
  std::string code = text("conformance"), cluster = text("conformance-cluster");
  void *a = mgpuModuleLoadJIT(code.data(), 2);
  void *out = mgpuMemAlloc(16, nullptr, false);
  void *b = mgpuModuleLoad(cluster.data(), cluster.size());
  void *rank = mgpuModuleGetFunction(b, "rank");
  void *count = mgpuModuleGetFunction(a, "count_block");
  void *params[] = {&out};
  mgpuLaunchClusterKernel(rank, 2, 1, 1, 4, 1, 1, 1, 1, 1, 0, nullptr, params,
                          nullptr, 1);
  launch(count, 4, 32, nullptr, {&out});
  int32_t got[4];
  mgpuMemcpy(got, out, 16, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(got[0], 201);
  EXPECT_EQ(got[3], 202);
  // What one wrote the other's checks take for written.
  mgpuLaunchClusterKernel(rank, 2, 1, 1, 4, 1, 1, 1, 1, 1, 0, nullptr, params,
                          nullptr, 1);
  mgpuMemFree(out, nullptr);
  mgpuModuleUnload(a);
  mgpuModuleUnload(b);
}

TEST(Mgpu, LaunchesCooperatively) {
  std::string code = text("conformance"), cluster = text("conformance-cluster");
  void *a = mgpuModuleLoadJIT(code.data(), 2);
  void *b = mgpuModuleLoadJIT(cluster.data(), 2);
  void *out = mgpuMemAlloc(16, nullptr, false);
  mgpuMemset32(out, 5, 4, nullptr);
  void *params[] = {&out};
  mgpuLaunchKernelCooperative(mgpuModuleGetFunction(a, "count_block"), 4, 1, 1,
                              0, 0, 0, 32, 1, 1, 0, nullptr, params, nullptr);
  int32_t got[4];
  mgpuMemcpy(got, out, 16, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(got[0], 6);
  EXPECT_EQ(got[3], 6);
  mgpuLaunchKernelCooperative(mgpuModuleGetFunction(b, "rank"), 4, 1, 1, 2, 1,
                              1, 1, 1, 1, 0, nullptr, params, nullptr);
  mgpuMemcpy(got, out, 16, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(got[0], 200);
  EXPECT_EQ(got[3], 201);
  mgpuMemFree(out, nullptr);
  mgpuModuleUnload(a);
  mgpuModuleUnload(b);
}

// Everything that upstream's wrappers of the CUDA driver define, but for the
// sparse libraries: code that --gpu-to-llvm made finds what it calls.
TEST(Mgpu, EveryEntryPointIsThere) {
  for (const char *name : {"mgpuModuleLoad",
                           "mgpuModuleLoadJIT",
                           "mgpuModuleUnload",
                           "mgpuModuleGetFunction",
                           "mgpuLaunchKernel",
                           "mgpuLaunchClusterKernel",
                           "mgpuLaunchKernelCooperative",
                           "mgpuStreamCreate",
                           "mgpuStreamDestroy",
                           "mgpuStreamSynchronize",
                           "mgpuStreamWaitEvent",
                           "mgpuEventCreate",
                           "mgpuEventDestroy",
                           "mgpuEventSynchronize",
                           "mgpuEventRecord",
                           "mgpuMemAlloc",
                           "mgpuMemFree",
                           "mgpuMemcpy",
                           "mgpuMemset32",
                           "mgpuMemset16",
                           "mgpuMemHostRegister",
                           "mgpuMemHostRegisterMemRef",
                           "mgpuMemHostUnregister",
                           "mgpuMemHostUnregisterMemRef",
                           "mgpuSetDefaultDevice",
                           "mgpuTensorMapEncodeTiled",
                           "mgpuTensorMapEncodeTiledMemref"})
    EXPECT_TRUE(dlsym(RTLD_DEFAULT, name)) << name;
  EXPECT_FALSE(dlsym(RTLD_DEFAULT, "mgpuNoSuchThing"));
}

TEST(Mgpu, TensorMapsComeFromMemRefs) {
  void *data = mgpuMemAlloc(64 * 128 * 2, nullptr, false);
  MemRef2 r{data, data, 0, {64, 128}, {128, 1}};
  int64_t box[2] = {32, 64};
  void *map = mgpuTensorMapEncodeTiledMemref(2, &r, /*f16=*/6, 0, 3, 0, 0, box);
  ASSERT_TRUE(map);
  uint64_t words[16];
  mgpuMemcpy(words, map, sizeof words, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(words[0], reinterpret_cast<uint64_t>(data));
  mgpuMemFree(map, nullptr);
  mgpuMemFree(data, nullptr);
}

// A kernel that does not end by itself is stopped here, too; ACT_DEVICE says
// after how many instructions. Words that it does not know are errors.
TEST(MgpuDeathTest, SimulatorsTakeOptions) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto run = [](const char *device) {
    setenv("ACT_DEVICE", device, 1);
    char code[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                  ".entry forever() { .reg .b32 %r, %never;\n"
                  ".shared .b32 s; st.shared.b32 [s], %never;\n"
                  "L: add.u32 %r, 1, 1;\nbra L; }";
    void *m = mgpuModuleLoadJIT(code, 2);
    void *f = m ? mgpuModuleGetFunction(m, "forever") : nullptr;
    if (f)
      launch(f, 1, 1, nullptr, {});
    exit(0);
  };
  EXPECT_EXIT(run("sim:sm_80,max-instructions=10000"),
              testing::ExitedWithCode(1), "'forever' was stopped after");
  EXPECT_EXIT(run("sim:sm_80,max-instructions=10000,strict"),
              testing::ExitedWithCode(1), "%never, which was never written");
  EXPECT_EXIT(run("sim:sm_80,steps=3"), testing::ExitedWithCode(1),
              "has 'steps=3', expected max-instructions=N");
  EXPECT_EXIT(run("sim:sm_80,seed="), testing::ExitedWithCode(1),
              "has 'seed=', expected");
  EXPECT_EXIT(run("host,seed=1"), testing::ExitedWithCode(1),
              "which only a simulator takes");
}

// A copy to the host that finds something says so once: not again with what
// the next failure found.
TEST(MgpuDeathTest, CopiesTellTheirFindings) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("ACT_DEVICE", "sim:sm_80", 1);
        char code[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                      ".entry k(.param .u64 p) { .reg .b64 a; .reg .b32 u;\n"
                      "ld.param.u64 a, [p]; st.global.u32 [a], u; }\n"
                      ".entry stop() { trap; }";
        void *m = mgpuModuleLoadJIT(code, 2);
        void *data = mgpuMemAlloc(4, nullptr, false);
        uint32_t word = 0;
        launch(mgpuModuleGetFunction(m, "k"), 1, 1, nullptr, {&data});
        mgpuMemcpy(&word, data, 4, nullptr);
        fprintf(stderr, "went on\n");
        launch(mgpuModuleGetFunction(m, "stop"), 1, 1, nullptr, {});
        exit(0);
      },
      testing::ExitedWithCode(1),
      "'mgpuMemcpy' failed: uninitialised: k: stores u, which was never "
      "written; the host gets 4 bytes.*went on\n[^\n]*invalid-operation: stop"
      "[^\n]*\n[^\n]*trap[^\n]*\n$");
}

// What fails is printed, the program goes on, and its exit status tells.
TEST(MgpuDeathTest, AFailureIsTheExitStatus) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        void *params[] = {nullptr};
        mgpuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr,
                         0);
        fprintf(stderr, "went on\n");
        exit(0);
      },
      testing::ExitedWithCode(1),
      "'mgpuLaunchKernel' failed: the handle is not a live function .it is "
      "null.\nwent on");
  EXPECT_EXIT(
      {
        char nonsense[] = "nonsense";
        mgpuModuleLoadJIT(nonsense, 2);
        exit(0);
      },
      testing::ExitedWithCode(1), "'mgpuModuleLoadJIT' failed: ");
  EXPECT_EXIT(
      {
        int local = 0;
        mgpuMemFree(&local, nullptr);
        exit(3);
      },
      testing::ExitedWithCode(1), "'mgpuMemFree' failed: ");
  EXPECT_EXIT(exit(3), testing::ExitedWithCode(3), "");
}
