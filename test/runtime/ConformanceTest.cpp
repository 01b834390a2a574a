// SPDX-License-Identifier: Apache-2.0
//
// What every device promises, through the C interface. A device that is not
// there skips; one that is there must pass all of it.
#include "test/runtime/Conformance.h"
#include "act/Artifact/Format.h"
#include "test/Samples.h"
#include "test/runtime/TestName.h"
#include <cmath>
#include <cstring>
#include <thread>

using namespace act;
using namespace act::test;

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
  for (uint32_t blocks : {1u, 2u, 3u, 1000u, uint32_t(samples(100000))}) {
    auto *counts = allocateZeros<int32_t>(blocks);
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
  auto *one = allocateZeros<int32_t>(1);
  actrt_argument a = pointer(one);
  actrt_launch_shape shape = grid(1);
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS);
}

TEST_P(Conformance, LaunchesHaveASize) {
  actrt_stream s = nullptr;
  actrt_function f = kernel("count_block", s);
  auto *counts = allocateZeros<int32_t>(1);
  actrt_argument a = pointer(counts);
  actrt_launch_shape shape = grid(0);
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  shape = grid(1);
  for (size_t size : {size_t(0), size_t(8), size_t(20)}) {
    shape.struct_size = size;
    EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  }
}

TEST_P(Conformance, ScalarsArriveWithTheirTypes) {
  actrt_stream s = nullptr;
  actrt_function f = kernel("scalars", s);
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
  EXPECT_EQ(actrt_event_elapsed(e[0], e[0], &ms), ACTRT_FAILED);
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
                  actrt_allocate(device, 400, &p) == ACTRT_SUCCESS &&
                  actrt_fill(s, p, 0, 400) == ACTRT_SUCCESS;
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

TEST_P(Conformance, ValuesOfAnySizeArrive) {
  if (kind == "host")
    GTEST_SKIP() << "host kernels declare no parameters";
  actrt_module m = loadKernels();
  actrt_stream s = makeStream();
  actrt_function f = function(m, "by_value");
  auto *out = allocate<uint64_t>(4);
  uint64_t words[3] = {1, uint64_t{2} << 40, 3};
  uint16_t half = 65000;
  actrt_argument a[3] = {pointer(out)};
  a[1].kind = a[2].kind = ACTRT_BYTES;
  a[1].bytes = sizeof words, a[1].value.pointer = words;
  a[2].bytes = sizeof half, a[2].value.pointer = &half;
  actrt_launch_shape shape = grid(1);
  ASSERT_EQ(actrt_launch(f, s, &shape, a, 3), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(read(s, out, 4),
            (std::vector<uint64_t>{1, uint64_t{2} << 40, 3, 65000}));
  a[1].bytes = 16;
  EXPECT_EQ(actrt_launch(f, s, &shape, a, 3), ACTRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actrt_last_error()).find("has 16 bytes"),
            std::string::npos)
      << actrt_last_error();
  a[1].bytes = 24;
  EXPECT_EQ(actrt_launch(f, s, &shape, a, 2), ACTRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actrt_last_error()).find("3 parameters"),
            std::string::npos);
  a[1].value.pointer = nullptr;
  EXPECT_EQ(actrt_launch(f, s, &shape, a, 3), ACTRT_INVALID_ARGUMENT);
}

TEST_P(Conformance, ModuleVariablesHaveAddresses) {
  actrt_module m = loadKernels();
  void *address = nullptr;
  uint64_t bytes = 0;
  EXPECT_EQ(actrt_module_global(m, "no_such", &address, &bytes),
            ACTRT_NOT_FOUND);
  EXPECT_EQ(actrt_module_global(m, nullptr, &address, &bytes),
            ACTRT_INVALID_ARGUMENT);
  if (kind == "host")
    return;
  ASSERT_EQ(actrt_module_global(m, "table", &address, &bytes), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(bytes, 32u);
  actrt_stream s = makeStream();
  auto *table = static_cast<uint64_t *>(address);
  EXPECT_EQ(read(s, table, 4), (std::vector<uint64_t>{11, 22, 33, 44}));
  uint64_t five = 5;
  ASSERT_EQ(actrt_copy(s, table + 1, &five, 8, ACTRT_HOST_TO_DEVICE),
            ACTRT_SUCCESS);
  auto *out = allocate<uint64_t>(4);
  auto readTable = [&](actrt_module module) {
    actrt_argument a = pointer(out);
    actrt_launch_shape shape = grid(1);
    shape.block[0] = 4;
    EXPECT_EQ(actrt_launch(function(module, "read_table"), s, &shape, &a, 1),
              ACTRT_SUCCESS)
        << actrt_last_error();
    return read(s, out, 4);
  };
  EXPECT_EQ(readTable(m), (std::vector<uint64_t>{11, 5, 33, 44}));
  EXPECT_EQ(readTable(loadKernels()), (std::vector<uint64_t>{11, 22, 33, 44}))
      << "a module loaded anew has variables of its own";
}

TEST_P(Conformance, DynamicSharedMemoryIsAskedFor) {
  if (kind == "host")
    GTEST_SKIP() << "the host has no shared memory";
  actrt_module m = loadKernels();
  actrt_stream s = makeStream();
  actrt_function f = function(m, "reverse");
  auto *out = allocate<uint32_t>(1024);
  actrt_argument a = pointer(out);
  actrt_launch_shape shape = grid(1);
  shape.block[0] = 1024;
  // The second needs the opt-in of more than 48 KiB.
  for (uint64_t bytes : {4096, 96 * 1024}) {
    shape.shared_bytes = bytes;
    ASSERT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS)
        << actrt_last_error();
    auto got = read(s, out, 1024);
    EXPECT_EQ(got[0], 1023u);
    EXPECT_EQ(got[1000], 23u);
  }
  shape.shared_bytes = 1 << 20;
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actrt_last_error()).find("shared memory"),
            std::string::npos);
  shape.shared_bytes = 4096;
  shape.block[0] = 1025;
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
}

TEST_P(Conformance, FunctionsSayWhatTheyNeed) {
  if (kind == "host")
    GTEST_SKIP() << "host kernels need nothing";
  actrt_module m = loadKernels();
  actrt_function_info info{};
  info.struct_size = sizeof info;
  actrt_function f = function(m, "demanding");
  ASSERT_EQ(actrt_function_query(f, &info), ACTRT_SUCCESS);
  EXPECT_EQ(info.shared_bytes, 512u);
  EXPECT_GT(info.registers, 0u);
  EXPECT_GT(info.max_threads_per_block, 0u);
  if (kind == "sim") {
    EXPECT_EQ(info.required_block[0], 64u);
    EXPECT_EQ(info.required_block[1], 2u);
    actrt_argument a = pointer(allocate<int>(1));
    actrt_launch_shape shape = grid(1);
    shape.block[0] = 128;
    EXPECT_EQ(actrt_launch(f, makeStream(), &shape, &a, 1),
              ACTRT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(actrt_last_error()).find("requires 64x2x1"),
              std::string::npos)
        << actrt_last_error();
  }
  // A caller of version 0.1 knows fewer fields.
  actrt_function_info old{};
  old.struct_size = offsetof(actrt_function_info, required_block);
  old.required_block[0] = 99;
  ASSERT_EQ(actrt_function_query(f, &old), ACTRT_SUCCESS);
  EXPECT_EQ(old.required_block[0], 99u);
}

TEST_P(Conformance, ClustersAndCooperativeLaunches) {
  actrt_launch_shape shape = grid(8);
  actrt_stream s = makeStream();
  auto *out = allocateZeros<uint32_t>(8);
  actrt_argument a = pointer(out);
  if (kind == "host") {
    actrt_function f = function(loadKernels(), "count_block");
    shape.cooperative = 1;
    EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_FAILED);
    return;
  }
  actrt_function count = function(loadKernels(), "count_block");
  shape.cooperative = 1;
  EXPECT_EQ(actrt_launch(count, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(read(s, out, 8), std::vector<uint32_t>(8, 1));
  shape.cooperative = 0;
  shape.cluster[0] = 2;
  if (target != "sm_90a") {
    EXPECT_EQ(actrt_launch(count, s, &shape, &a, 1), ACTRT_UNSUPPORTED);
    EXPECT_NE(std::string(actrt_last_error()).find("does not support clusters"),
              std::string::npos)
        << actrt_last_error();
    return;
  }
  actrt_module m = loadKernels("conformance-cluster");
  actrt_function f = function(m, "rank"), pairs = function(m, "pairs");
  ASSERT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(read(s, out, 4), (std::vector<uint32_t>{200, 201, 200, 201}));
  shape.cluster[0] = 3;
  EXPECT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  // Said by the kernel itself.
  shape.cluster[0] = 0;
  ASSERT_EQ(actrt_launch(pairs, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(read(s, out, 4), (std::vector<uint32_t>{200, 201, 200, 201}));
  // Persistent launches have whole clusters, on the simulator one of these.
  auto *some = allocateZeros<uint32_t>(8);
  actrt_argument to = pointer(some);
  shape.persistent = 1;
  ASSERT_EQ(actrt_launch(pairs, s, &shape, &to, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  std::vector<uint32_t> ranks{200, 201, 200, 201, 200, 201, 200, 201};
  if (kind == "sim")
    std::fill(ranks.begin() + 2, ranks.end(), 0);
  EXPECT_EQ(read(s, some, 8), ranks);
  shape.persistent = 0;
  actrt_function_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(actrt_function_query(pairs, &info), ACTRT_SUCCESS);
  EXPECT_EQ(info.required_cluster[0], 2u);
  shape.cluster[0] = 4;
  EXPECT_EQ(actrt_launch(pairs, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
}

TEST_P(Conformance, CallbacksComeInOrder) {
  actrt_stream s = makeStream();
  actrt_function f = function(loadKernels(), "count_block");
  auto *counts = allocateZeros<int32_t>(4);
  struct Seen {
    std::vector<int32_t> values = std::vector<int32_t>(4);
    std::atomic<int> calls{0};
  } seen;
  actrt_argument a = pointer(counts);
  actrt_launch_shape shape = grid(4);
  ASSERT_EQ(actrt_launch(f, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  ASSERT_EQ(actrt_copy(s, seen.values.data(), counts, 16, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_stream_callback(
                s,
                [](void *user) {
                  auto *seen = static_cast<Seen *>(user);
                  seen->calls += seen->values[3] == 1;
                },
                &seen),
            ACTRT_SUCCESS);
  ASSERT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(actrt_stream_callback(s, nullptr, nullptr), ACTRT_INVALID_ARGUMENT);
}

TEST_P(Conformance, TensorMapsAreEncoded) {
  actrt_tiled_tensor t{};
  t.struct_size = sizeof t;
  t.dtype = 9; // bf16
  t.rank = 2;
  t.address = allocate<uint16_t>(256 * 128);
  t.dims[0] = 128, t.dims[1] = 256;
  t.strides[0] = 256;
  t.box[0] = 64, t.box[1] = 128;
  t.element_strides[0] = t.element_strides[1] = 1;
  t.swizzle = 3;
  actrt_tensor_map map{};
  actrt_status s = actrt_tensor_map_encode_tiled(device, &t, &map);
  if (kind == "host") {
    EXPECT_EQ(s, ACTRT_UNSUPPORTED);
    return;
  }
  if (target != "sm_90a") {
    EXPECT_EQ(s, ACTRT_FAILED);
    return;
  }
  ASSERT_EQ(s, ACTRT_SUCCESS) << actrt_last_error();
  uint64_t address = 0;
  std::memcpy(&address, map.bytes, 8);
  EXPECT_EQ(address, reinterpret_cast<uint64_t>(t.address));
  // What the driver refuses is refused, by name.
  struct {
    void (*spoil)(actrt_tiled_tensor &);
    const char *word;
  } mistakes[] = {
      {[](auto &t) { t.rank = 6; }, "rank"},
      {[](auto &t) { t.dtype = 13; }, "element type"},
      {[](auto &t) { t.strides[0] = 250; }, "stride of dimension 1"},
      {[](auto &t) { t.box[0] = 128; }, "swizzle"},
      {[](auto &t) { t.box[1] = 257; }, "box of dimension 1"},
      {[](auto &t) { t.dims[0] = 0; }, "size of dimension 0"},
      {[](auto &t) { t.box[0] = 4, t.swizzle = 0; }, "multiple of 16"},
      {[](auto &t) { t.address = (char *)t.address + 8; }, "aligned"},
      {[](auto &t) { t.oob_fill = 1, t.dtype = 1; }, "integers"},
      {[](auto &t) { t.element_strides[1] = 9; }, "element stride"},
      {[](auto &t) { t.interleave = 2; }, "rank 2"},
  };
  for (auto &m : mistakes) {
    actrt_tiled_tensor bad = t;
    m.spoil(bad);
    EXPECT_EQ(actrt_tensor_map_encode_tiled(device, &bad, &map),
              ACTRT_INVALID_ARGUMENT)
        << m.word;
    EXPECT_NE(std::string(actrt_last_error()).find(m.word), std::string::npos)
        << actrt_last_error();
  }
}

TEST_P(Conformance, FindingsAreErrorsUnlessTurnedOff) {
  uint64_t count = 7;
  size_t bytes = 0;
  ASSERT_EQ(actrt_device_findings(device, &count, nullptr, &bytes),
            ACTRT_SUCCESS);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(bytes, 1u);
  if (kind != "sim")
    return;
  actrt_argument a[2] = {pointer(allocate<int>(4))};
  a[1].kind = ACTRT_I64, a[1].value.i64 = 16;
  actrt_launch_shape shape = grid(1);
  EXPECT_EQ(actrt_launch(function(loadKernels(), "store_at"), makeStream(),
                         &shape, a, 2),
            ACTRT_FAILED);
  std::string message = actrt_last_error();
  EXPECT_NE(message.find("out-of-bounds"), std::string::npos) << message;
  EXPECT_NE(message.find("store_at"), std::string::npos) << message;
  char text[4096];
  bytes = sizeof text;
  ASSERT_EQ(actrt_device_findings(device, &count, text, &bytes), ACTRT_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(bytes, std::strlen(text) + 1);
  EXPECT_NE(message.find(std::string(text, 20)), std::string::npos);
  ASSERT_EQ(actrt_device_clear_findings(device), ACTRT_SUCCESS);
  bytes = 0;
  ASSERT_EQ(actrt_device_findings(device, &count, nullptr, &bytes),
            ACTRT_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_P(Conformance, DamagedPtxIsAnError) {
  if (kind == "host")
    GTEST_SKIP() << "the host loads no PTX";
  actrt_module m = nullptr;
  for (std::string text : {"", "nonsense", ".vers", "\x7f"}) {
    EXPECT_EQ(actrt_module_load(device, text.data(), text.size(), 0, &m),
              ACTRT_FAILED)
        << text;
    EXPECT_NE(std::string(actrt_last_error()), "");
  }
}

// An artifact on each device: values, rebinding, the modes, memory of the host
// and of the device bound to its ports.
TEST_P(Conformance, StepsRun) {
  constexpr int64_t blocks = 50;
  constexpr size_t n = 16 * blocks;
  artifact::Step made = test::arithmeticStep(blocks);
  if (kind != "host") {
    std::ifstream file(std::string(ACT_TEST_PTX) + "/arithmetic.ptx");
    made = test::arithmeticStepOfPtx(
        blocks, {std::istreambuf_iterator<char>(file), {}});
  }
  if (kind == "sim") // which runs the PTX beside it
    test::addImage(made, 1, "of a card");
  auto bytes = artifact::write(made);
  ASSERT_TRUE(bytes) << bytes.error().str();
  actrt_type type{};
  type.dtype = ACTRT_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = blocks;
  type.shape[1] = 16;
  actrt_stream stream = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &stream), ACTRT_SUCCESS);
  for (uint32_t mode : {0u, uint32_t{ACTRT_DEBUG}, uint32_t{ACTRT_MEASURE},
                        uint32_t{ACTRT_TIME}}) {
    actrt_step step = nullptr;
    ASSERT_EQ(actrt_step_load_memory(device, bytes->data(), bytes->size(),
                                     mode | ACTRT_ALLOW_NATIVE, &step),
              ACTRT_SUCCESS)
        << actrt_last_error();
    std::vector<float> x(n), y(n);
    float *there = allocate<float>(n);
    auto bind = [&](actrt_entity port, const char *name, void *p) {
      EXPECT_EQ(actrt_step_bind(step, "step", port, name, p, &type),
                ACTRT_SUCCESS)
          << actrt_last_error();
    };
    bind(ACTRT_INPUT, "x", x.data());
    bind(ACTRT_OUTPUT, "y", y.data());
    // Rounds 0 to 2 repeat one run; from 3 on, y is bound to the device's own.
    for (int round = 0; round < 6; ++round) {
      float scale = 0.5f * static_cast<float>(round);
      for (size_t i = 0; i < n; ++i)
        x[i] = static_cast<float>(i + static_cast<size_t>(round));
      if (round == 3)
        bind(ACTRT_OUTPUT, "y", there);
      ASSERT_EQ(actrt_step_set_f64(step, "scale", scale), ACTRT_SUCCESS);
      ASSERT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS)
          << actrt_last_error();
      if (round >= 3) {
        ASSERT_EQ(
            actrt_copy(stream, y.data(), there, 4 * n, ACTRT_DEVICE_TO_HOST),
            ACTRT_SUCCESS);
        ASSERT_EQ(actrt_stream_synchronize(stream), ACTRT_SUCCESS);
      }
      for (size_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], 2 * (scale * x[i] + 1) + x[i]) << round << " " << i;
    }
    actrt_step_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    ASSERT_EQ(actrt_step_measure(step, "step", &statistics), ACTRT_SUCCESS);
    EXPECT_EQ(statistics.runs, 6u);
    EXPECT_EQ(statistics.arena_high_water,
              mode == ACTRT_MEASURE ? 2 * 4 * n : 0);
    size_t launches = 0;
    ASSERT_EQ(actrt_step_launch_count(step, "step", &launches), ACTRT_SUCCESS);
    ASSERT_EQ(launches, made.functions[0].launches.size());
    for (size_t i = 0; i <= launches; ++i) {
      actrt_launch_info info{};
      info.struct_size = sizeof info;
      auto status = actrt_step_launch_query(step, "step", i, &info);
      ASSERT_EQ(status, i < launches ? ACTRT_SUCCESS : ACTRT_NOT_FOUND);
      if (i == launches)
        break;
      const artifact::Launch &l = made.functions[0].launches[i];
      EXPECT_EQ(info.name, l.name);
      EXPECT_EQ(info.kernel, made.kernels[l.kernel].symbol);
      EXPECT_EQ(info.milliseconds > 0, mode == ACTRT_TIME);
    }
    EXPECT_EQ(actrt_step_release(step), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_free(device, there), ACTRT_SUCCESS);
  }
  EXPECT_EQ(actrt_stream_release(stream), ACTRT_SUCCESS);
}

const char *deviceNames[] = {"host",      "cuda:0",    "sim:sm_80",
                             "sim:sm_86", "sim:sm_89", "sim:sm_90a"};
INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(deviceNames),
                         [](auto &info) { return testName(info.param); });

TEST(Device, UnknownNamesAreNotFound) {
  actrt_device d = nullptr;
  for (const char *name : {"", "gpu", "host:1", "cuda:99", "sim:sm_00"})
    EXPECT_EQ(actrt_device_open(name, nullptr, &d), ACTRT_NOT_FOUND) << name;
  EXPECT_EQ(actrt_device_open(nullptr, nullptr, &d), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_version() >> 16, uint32_t{ACTRT_VERSION_MAJOR});
}

// A kernel stores a register that it never wrote. The value goes along with
// copies on the device; that the host gets it is noticed, once.
TEST(Device, UndefinedValuesAreNoticedByTheHost) {
  const std::string code =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) { .reg .b64 a; .reg .b32 u;"
      "ld.param.u64 a, [p]; st.global.u32 [a], 7; st.global.u32 [a+4], u;"
      "ret; }\n";
  for (uint32_t strict : {0, 1}) {
    actrt_device_options options{};
    options.struct_size = sizeof options;
    options.strict = strict;
    actrt_device device = nullptr;
    ASSERT_EQ(actrt_device_open("sim:sm_80", &options, &device), ACTRT_SUCCESS);
    actrt_module module = nullptr;
    actrt_function function = nullptr;
    actrt_stream stream = nullptr;
    ASSERT_EQ(actrt_module_load(device, code.data(), code.size(), 0, &module),
              ACTRT_SUCCESS);
    ASSERT_EQ(actrt_function_get(module, "k", &function), ACTRT_SUCCESS);
    ASSERT_EQ(actrt_stream_create(device, &stream), ACTRT_SUCCESS);
    void *made = nullptr, *copied = nullptr;
    ASSERT_EQ(actrt_allocate(device, 8, &made), ACTRT_SUCCESS);
    ASSERT_EQ(actrt_allocate(device, 16, &copied), ACTRT_SUCCESS);
    auto status = [&](actrt_status s) {
      return s == ACTRT_SUCCESS ? actrt_stream_synchronize(stream) : s;
    };
    actrt_argument argument = pointer(made);
    actrt_launch_shape shape = grid(1);
    EXPECT_EQ(status(actrt_launch(function, stream, &shape, &argument, 1)),
              strict ? ACTRT_FAILED : ACTRT_SUCCESS);
    auto *to = static_cast<uint8_t *>(copied) + 4;
    EXPECT_EQ(status(actrt_copy(stream, to, made, 8, ACTRT_DEVICE_TO_DEVICE)),
              ACTRT_SUCCESS);
    uint32_t words[4] = {};
    auto get = [&](const void *from, uint64_t bytes) {
      return status(
          actrt_copy(stream, words, from, bytes, ACTRT_DEVICE_TO_HOST));
    };
    EXPECT_EQ(get(to, 4), ACTRT_SUCCESS);
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(get(copied, 16), strict ? ACTRT_SUCCESS : ACTRT_FAILED);
    EXPECT_EQ(words[1], 7u);
    if (!strict)
      EXPECT_NE(std::string(actrt_last_error())
                    .find("stores u, which was never written; the host gets 4 "
                          "bytes of that\n    st.global.u32"),
                std::string::npos)
          << actrt_last_error();
    EXPECT_EQ(get(copied, 16), ACTRT_SUCCESS);
    uint64_t count = 0;
    size_t bytes = 0;
    EXPECT_EQ(actrt_device_findings(device, &count, nullptr, &bytes),
              ACTRT_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(actrt_stream_release(stream), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_function_release(function), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_module_release(module), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
  }
}
