// SPDX-License-Identifier: Apache-2.0
//
// A step on a device, through the C interface.
#ifndef ACT_TEST_RUNTIME_LOADEDONDEVICE_H
#define ACT_TEST_RUNTIME_LOADEDONDEVICE_H
#include "act-c/Runtime.h"
#include "act/Artifact/Format.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace act::test {

class Loaded {
public:
  explicit Loaded(const artifact::Step &step, uint32_t flags = 0,
                  uint32_t threads = 2, const char *name = "host") {
    actrt_device_options o{};
    o.struct_size = sizeof o;
    o.threads = threads;
    EXPECT_EQ(actrt_device_open(name, &o, &device), ACTRT_SUCCESS);
    auto bytes = artifact::write(step);
    EXPECT_TRUE(bytes) << bytes.error().str();
    EXPECT_EQ(actrt_step_load_memory(device, bytes->data(), bytes->size(),
                                     flags | ACTRT_ALLOW_NATIVE, &handle),
              ACTRT_SUCCESS)
        << actrt_last_error();
  }
  ~Loaded() {
    actrt_step_release(handle);
    actrt_device_release(device);
  }
  actrt_device device = nullptr;
  actrt_step handle = nullptr;
};

inline actrt_type makeType(actrt_dtype dtype, std::vector<int64_t> shape) {
  actrt_type t{};
  t.dtype = dtype;
  t.rank = static_cast<uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), t.shape);
  return t;
}

} // namespace act::test
#endif
