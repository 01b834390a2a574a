// SPDX-License-Identifier: Apache-2.0
//
// A device that a test of the C interface runs on, and what such tests do
// often.
#ifndef ACT_TEST_RUNTIME_CONFORMANCE_H
#define ACT_TEST_RUNTIME_CONFORMANCE_H
#include "act-c/Runtime.h"
#include "test/runtime/HandMadeSteps.h"
#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

namespace act::test {

class Conformance : public testing::TestWithParam<const char *> {
protected:
  actrt_device device = nullptr;
  std::string kind, target;

  void SetUp() override {
    actrt_status s = actrt_device_open(GetParam(), nullptr, &device);
    if (s == ACTRT_NOT_FOUND)
      GTEST_SKIP() << actrt_last_error();
    ASSERT_EQ(s, ACTRT_SUCCESS) << actrt_last_error();
    actrt_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(actrt_device_query(device, &info), ACTRT_SUCCESS);
    kind = info.kind;
    target = info.target;
  }
  void TearDown() override {
    if (device)
      EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
  }

  /// The same kernels in the form this kind of device loads.
  actrt_module loadKernels(const std::string &name = "conformance") {
    std::vector<uint8_t> code = kernelCode();
    if (kind != "host") {
      std::ifstream file(std::string(ACT_TEST_PTX) + "/" + name + ".ptx");
      code.assign(std::istreambuf_iterator<char>(file), {});
    }
    actrt_module m = nullptr;
    EXPECT_EQ(actrt_module_load(device, code.data(), code.size(),
                                ACTRT_ALLOW_NATIVE, &m),
              ACTRT_SUCCESS)
        << actrt_last_error();
    return m;
  }

  /// A kernel of them, and a stream to launch it on.
  actrt_function kernel(const char *name, actrt_stream &stream) {
    actrt_function f = nullptr;
    EXPECT_EQ(actrt_stream_create(device, &stream), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_function_get(loadKernels(), name, &f), ACTRT_SUCCESS);
    return f;
  }

  template <typename T> T *allocate(size_t n) {
    void *p = nullptr;
    EXPECT_EQ(actrt_allocate(device, n * sizeof(T), &p), ACTRT_SUCCESS);
    return static_cast<T *>(p);
  }

  /// Written with zeros: a fresh allocation holds them, but nobody wrote them.
  template <typename T> T *allocateZeros(size_t n) {
    T *p = allocate<T>(n);
    actrt_stream s = makeStream();
    EXPECT_EQ(actrt_fill(s, p, 0, n * sizeof(T)), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS);
    EXPECT_EQ(actrt_stream_release(s), ACTRT_SUCCESS);
    return p;
  }

  actrt_stream makeStream() {
    actrt_stream s = nullptr;
    EXPECT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
    return s;
  }
  actrt_function function(actrt_module m, const char *name) {
    actrt_function f = nullptr;
    EXPECT_EQ(actrt_function_get(m, name, &f), ACTRT_SUCCESS)
        << actrt_last_error();
    return f;
  }
  template <typename T>
  std::vector<T> read(actrt_stream s, const T *from, size_t n) {
    std::vector<T> out(n);
    EXPECT_EQ(
        actrt_copy(s, out.data(), from, n * sizeof(T), ACTRT_DEVICE_TO_HOST),
        ACTRT_SUCCESS);
    EXPECT_EQ(actrt_stream_synchronize(s), ACTRT_SUCCESS) << actrt_last_error();
    return out;
  }
};

inline actrt_argument pointer(void *p) {
  actrt_argument a{};
  a.kind = ACTRT_POINTER;
  a.value.pointer = p;
  return a;
}

inline actrt_launch_shape grid(uint32_t x) {
  actrt_launch_shape s{};
  s.struct_size = sizeof s;
  s.grid[0] = x;
  s.grid[1] = s.grid[2] = 1;
  return s;
}

} // namespace act::test
#endif
