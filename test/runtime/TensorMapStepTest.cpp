// SPDX-License-Identifier: Apache-2.0
//
// A step whose kernel takes a tensor map behind its arguments.
#include "act-c/Runtime.h"
#include "act/Artifact/Format.h"
#include "test/runtime/HandMadeSteps.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

using namespace act;

// A map holds an address, so it is encoded anew when another input is bound.
TEST(TensorMaps, StepsPassThem) {
  std::ifstream file(std::string(ACT_TEST_PTX) + "/tile-step.ptx");
  auto bytes = artifact::write(
      test::tileStep({std::istreambuf_iterator<char>(file), {}}));
  ASSERT_TRUE(bytes) << bytes.error().str();
  actrt_device device = nullptr;
  ASSERT_EQ(actrt_device_open("sim:sm_90a", nullptr, &device), ACTRT_SUCCESS);
  actrt_step step = nullptr;
  ASSERT_EQ(
      actrt_step_load_memory(device, bytes->data(), bytes->size(), 0, &step),
      ACTRT_SUCCESS)
      << actrt_last_error();
  actrt_type in{}, out{};
  in.dtype = out.dtype = ACTRT_DTYPE_BF16;
  in.rank = out.rank = 2;
  in.shape[0] = 16;
  out.shape[0] = 8;
  in.shape[1] = out.shape[1] = 64;
  std::vector<uint16_t> y(512);
  ASSERT_EQ(actrt_step_bind(step, "step", ACTRT_OUTPUT, "out", y.data(), &out),
            ACTRT_SUCCESS);
  for (uint16_t round = 0; round < 3; ++round) {
    alignas(16) uint16_t x[1024];
    for (uint16_t i = 0; i < 1024; ++i)
      x[i] = uint16_t(i + 1000 * round);
    ASSERT_EQ(actrt_step_bind(step, "step", ACTRT_INPUT, "x", x, &in),
              ACTRT_SUCCESS)
        << actrt_last_error();
    ASSERT_EQ(actrt_step_run(step, "step"), ACTRT_SUCCESS)
        << actrt_last_error();
    EXPECT_TRUE(std::equal(y.begin(), y.end(), x)) << round;
  }
  actrt_step_release(step);
  actrt_device_release(device);
}
