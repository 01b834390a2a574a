// SPDX-License-Identifier: Apache-2.0
//
// What every device promises, through the C interface. A device that is not
// there skips; one that is there must pass all of it.
#include "act-c/Runtime.h"
#include "act/Artifact/Format.h"
#include "test/runtime/HandMadeSteps.h"
#include <gtest/gtest.h>
#include <thread>

using namespace act;

namespace {

class Conformance : public testing::TestWithParam<const char *> {
protected:
  actrt_device device = nullptr;
  std::string kind;

  void SetUp() override {
    actrt_status s = actrt_device_open(GetParam(), nullptr, &device);
    if (s == ACTRT_NOT_FOUND)
      GTEST_SKIP() << actrt_last_error();
    ASSERT_EQ(s, ACTRT_SUCCESS) << actrt_last_error();
    actrt_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(actrt_device_query(device, &info), ACTRT_SUCCESS);
    kind = info.kind;
  }
  void TearDown() override {
    if (device)
      EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
  }

  /// The same kernels in the form this kind of device loads.
  actrt_module loadKernels() {
    std::vector<uint8_t> code = test::kernelCode();
    actrt_module m = nullptr;
    EXPECT_EQ(actrt_module_load(device, code.data(), code.size(),
                                ACTRT_ALLOW_NATIVE, &m),
              ACTRT_SUCCESS)
        << actrt_last_error();
    return m;
  }

  template <typename T> T *allocate(size_t n) {
    void *p = nullptr;
    EXPECT_EQ(actrt_allocate(device, n * sizeof(T), &p), ACTRT_SUCCESS);
    return static_cast<T *>(p);
  }
};

actrt_argument pointer(void *p) {
  actrt_argument a{};
  a.kind = ACTRT_POINTER;
  a.value.pointer = p;
  return a;
}

actrt_launch_shape grid(uint32_t x) {
  actrt_launch_shape s{};
  s.struct_size = sizeof s;
  s.grid[0] = x;
  s.grid[1] = s.grid[2] = 1;
  return s;
}

} // namespace

TEST_P(Conformance, AllocationsAreCounted) {
  actrt_memory_info m{};
  m.struct_size = sizeof m;
  auto *a = allocate<char>(1000), *b = allocate<char>(24);
  ASSERT_EQ(actrt_memory_query(device, &m), ACTRT_SUCCESS);
  EXPECT_EQ(m.current_bytes, 1024u);
  EXPECT_EQ(m.peak_bytes, 1024u);
  EXPECT_EQ(actrt_free(device, a), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_memory_query(device, &m), ACTRT_SUCCESS);
  EXPECT_EQ(m.current_bytes, 24u);
  EXPECT_EQ(m.peak_bytes, 1024u);
  EXPECT_EQ(actrt_memory_reset_peak(device), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_memory_query(device, &m), ACTRT_SUCCESS);
  EXPECT_EQ(m.peak_bytes, 24u);
  EXPECT_EQ(actrt_free(device, a), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_free(device, b + 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_free(device, b), ACTRT_SUCCESS);
}

TEST_P(Conformance, ImpossibleAllocationFails) {
  void *p = nullptr;
  EXPECT_EQ(actrt_allocate(device, UINT64_MAX, &p), ACTRT_FAILED);
  EXPECT_EQ(actrt_allocate(device, uint64_t{1} << 60, &p), ACTRT_FAILED);
  EXPECT_NE(std::string(actrt_last_error()).find("cannot allocate"),
            std::string::npos);
}

TEST_P(Conformance, CopiesStayWithinAllocations) {
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  auto *d = allocate<int>(8);
  int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {};
  EXPECT_EQ(actrt_copy(s, d, in, sizeof in, ACTRT_HOST_TO_DEVICE),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_copy(s, out, d, sizeof in, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
  EXPECT_EQ(out[7], 8);
  EXPECT_EQ(actrt_fill(s, d + 1, 0xff, 4), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_copy(s, out, d, sizeof in, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], -1);
  EXPECT_EQ(actrt_copy(s, d + 1, in, sizeof in, ACTRT_HOST_TO_DEVICE),
            ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_copy(s, out, in, sizeof in, ACTRT_DEVICE_TO_HOST),
            ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_fill(s, d, 0, UINT64_MAX), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_stream_release(s), ACTRT_SUCCESS);
}

TEST_P(Conformance, HandlesAreChecked) {
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_stream_synchronize(nullptr), ACTRT_INVALID_HANDLE);
  EXPECT_EQ(actrt_stream_synchronize(reinterpret_cast<actrt_stream>(device)),
            ACTRT_INVALID_HANDLE);
  EXPECT_EQ(actrt_stream_synchronize(reinterpret_cast<actrt_stream>(0x1234)),
            ACTRT_INVALID_HANDLE);
  EXPECT_EQ(actrt_stream_release(s), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_stream_release(s), ACTRT_INVALID_HANDLE);
  actrt_event e = nullptr;
  ASSERT_EQ(actrt_event_create(device, &e), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_stream_synchronize(s), ACTRT_INVALID_HANDLE)
      << "the slot was reused by another kind";
  EXPECT_EQ(actrt_event_release(e), ACTRT_SUCCESS);
}

TEST_P(Conformance, LaunchRunsEveryBlockOnce) {
  actrt_module m = loadKernels();
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  actrt_function f = nullptr;
  ASSERT_EQ(actrt_function_get(m, "count_block", &f), ACTRT_SUCCESS);
  for (uint32_t blocks : {1u, 2u, 3u, 1000u, 100000u}) {
    auto *counts = allocate<int32_t>(blocks);
    actrt_argument a = pointer(counts);
    actrt_launch_shape shape = grid(blocks);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS)
          << actrt_last_error();
    std::vector<int32_t> out(blocks);
    ASSERT_EQ(
        actrt_copy(s, out.data(), counts, 4 * blocks, ACTRT_DEVICE_TO_HOST),
        ACTRT_SUCCESS);
    ASSERT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
    EXPECT_EQ(out, std::vector<int32_t>(blocks, 3));
    EXPECT_EQ(actrt_free(device, counts), ACTRT_SUCCESS);
  }
  actrt_function none = nullptr;
  EXPECT_EQ(actrt_function_get(m, "no_such_kernel", &none), ACTRT_NOT_FOUND);
  EXPECT_EQ(actrt_function_get(m, "malloc", &none), ACTRT_NOT_FOUND)
      << "a function of another library is no kernel of this module";
  actrt_function_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(actrt_function_query(f, &info), ACTRT_SUCCESS);
  // The function keeps its module.
  EXPECT_EQ(actrt_module_release(m), ACTRT_SUCCESS);
  auto *one = allocate<int32_t>(1);
  actrt_argument a = pointer(one);
  actrt_launch_shape shape = grid(1);
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS);
}

TEST_P(Conformance, ScalarsArriveWithTheirTypes) {
  actrt_module m = loadKernels();
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  actrt_function f = nullptr;
  ASSERT_EQ(actrt_function_get(m, "scalars", &f), ACTRT_SUCCESS);
  auto *out = allocate<double>(4);
  actrt_argument a[5] = {pointer(out)};
  a[1].kind = ACTRT_F32, a[1].value.f32 = 1.5f;
  a[2].kind = ACTRT_F64, a[2].value.f64 = 1e300;
  a[3].kind = ACTRT_I64, a[3].value.i64 = -(int64_t{1} << 40);
  a[4].kind = ACTRT_I32, a[4].value.i32 = -7;
  actrt_launch_shape shape = grid(1);
  ASSERT_EQ(actrt_launch(f, s, &shape, a, 5), ACTRT_SUCCESS);
  double got[4];
  ASSERT_EQ(actrt_copy(s, got, out, sizeof got, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
  EXPECT_EQ(got[0], 1.5);
  EXPECT_EQ(got[1], 1e300);
  EXPECT_EQ(got[2], -0x1p40);
  EXPECT_EQ(got[3], -7);
  a[4].kind = static_cast<actrt_argument_kind>(99);
  EXPECT_EQ(actrt_launch(f, s, &shape, a, 5), ACTRT_INVALID_ARGUMENT);
}

TEST_P(Conformance, EventsMeasureTime) {
  actrt_stream s = nullptr;
  actrt_event e[2] = {};
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  for (auto &one : e)
    ASSERT_EQ(actrt_event_create(device, &one), ACTRT_SUCCESS);
  double ms = -1;
  EXPECT_EQ(actrt_event_elapsed(e[0], e[1], &ms), ACTRT_FAILED);
  ASSERT_EQ(actrt_event_record(e[0], s), ACTRT_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ASSERT_EQ(actrt_event_record(e[1], s), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_stream_wait(s, e[1]), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_event_synchronize(e[1]), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_event_elapsed(e[0], e[1], &ms), ACTRT_SUCCESS);
  EXPECT_GE(ms, 3.0);
  EXPECT_LT(ms, 10000.0);
}

TEST_P(Conformance, NativeCodeNeedsPermission) {
  if (kind != "host")
    GTEST_SKIP() << "only the host loads native code";
  std::vector<uint8_t> code = test::kernelCode();
  ASSERT_FALSE(code.empty());
  actrt_module m = nullptr;
  EXPECT_EQ(actrt_module_load(device, code.data(), code.size(), 0, &m),
            ACTRT_FAILED);
  auto bytes = artifact::write(test::arithmeticStep());
  ASSERT_TRUE(bytes) << bytes.error().str();
  actrt_step step = nullptr;
  EXPECT_EQ(
      actrt_step_load_memory(device, bytes->data(), bytes->size(), 0, &step),
      ACTRT_FAILED);
  EXPECT_NE(std::string(actrt_last_error()).find("native"), std::string::npos);
}

TEST_P(Conformance, DamagedCodeIsAnError) {
  if (kind != "host")
    GTEST_SKIP() << "only the host loads native code";
  std::vector<uint8_t> code = test::kernelCode();
  actrt_module m = nullptr;
  // Each ends before the kernels do; what follows them may be debug
  // information.
  for (size_t n : {0, 4, 63, 100, 1000}) {
    std::vector<uint8_t> cut(code.begin(), code.begin() + ptrdiff_t(n));
    cut.reserve(1);
    EXPECT_EQ(actrt_module_load(device, cut.data(), n, ACTRT_ALLOW_NATIVE, &m),
              ACTRT_FAILED)
        << n;
  }
}

TEST_P(Conformance, ManyThreadsMayCall) {
  actrt_module m = loadKernels();
  actrt_function f = nullptr;
  ASSERT_EQ(actrt_function_get(m, "count_block", &f), ACTRT_SUCCESS);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      actrt_stream s = nullptr;
      void *p = nullptr;
      bool fine = actrt_stream_create(device, &s) == ACTRT_SUCCESS &&
                  actrt_allocate(device, 400, &p) == ACTRT_SUCCESS;
      actrt_argument a = pointer(p);
      actrt_launch_shape shape = grid(100);
      for (int i = 0; i < 200 && fine; ++i)
        fine = actrt_launch(f, s, &shape, &a, 1) == ACTRT_SUCCESS;
      std::vector<int32_t> out(100);
      fine = fine &&
             actrt_copy(s, out.data(), p, 400, ACTRT_DEVICE_TO_HOST) ==
                 ACTRT_SUCCESS &&
             actrt_stream_synchronize(s) == ACTRT_SUCCESS &&
             out == std::vector<int32_t>(100, 200);
      actrt_stream_release(s);
      actrt_free(device, p);
      good += fine;
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(good, 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance,
                         testing::Values("host", "cuda:0", "sim:sm_90a"),
                         [](auto &info) {
                           std::string n = info.param;
                           for (char &c : n)
                             c = isalnum(static_cast<unsigned char>(c)) ? c
                                                                        : '_';
                           return n;
                         });

TEST(Device, UnknownNamesAreNotFound) {
  actrt_device d = nullptr;
  for (const char *name : {"", "gpu", "host:1", "cuda:99", "sim:sm_00"})
    EXPECT_EQ(actrt_device_open(name, nullptr, &d), ACTRT_NOT_FOUND) << name;
  EXPECT_EQ(actrt_device_open(nullptr, nullptr, &d), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_version() >> 16, uint32_t{ACTRT_VERSION_MAJOR});
}
