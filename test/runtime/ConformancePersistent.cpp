// SPDX-License-Identifier: Apache-2.0
//
// Persistent launches, which start as many blocks as run at once: part of what
// ConformanceTest.cpp asks of every device.
#include "test/runtime/Conformance.h"
#include <algorithm>

using namespace act::test;

// The simulator starts three blocks, cards as many as fit, the host all.
TEST_P(Conformance, PersistentLaunches) {
  actrt_launch_shape shape = grid(8);
  shape.persistent = 1;
  actrt_stream s = makeStream();
  auto *out = allocateZeros<uint32_t>(8);
  actrt_argument a = pointer(out);
  actrt_function count = function(loadKernels(), "count_block");
  ASSERT_EQ(actrt_launch(count, s, &shape, &a, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  std::vector<uint32_t> once(8, 1);
  if (kind == "sim")
    std::fill(once.begin() + 3, once.end(), 0);
  EXPECT_EQ(read(s, out, 8), once);
}

TEST_P(Conformance, PersistentLaunchesHaveBlocksAlongX) {
  actrt_launch_shape shape = grid(8);
  shape.persistent = 1;
  shape.grid[1] = 2;
  actrt_stream s = makeStream();
  actrt_argument a = pointer(allocateZeros<uint32_t>(16));
  actrt_function count = function(loadKernels(), "count_block");
  EXPECT_EQ(actrt_launch(count, s, &shape, &a, 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actrt_last_error()).find("blocks along x only"),
            std::string::npos)
      << actrt_last_error();
}
