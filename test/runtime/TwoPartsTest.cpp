// SPDX-License-Identifier: Apache-2.0
//
// Functions whose backward runs apart, and tensors in memory of the caller's.
#include "test/runtime/HandMadeSteps.h"
#include "test/runtime/LoadedOnDevice.h"

using namespace act;
using test::Loaded;
using test::makeType;

namespace {
struct TwoParts {
  explicit TwoParts(uint32_t flags = 0)
      : l(test::twoPartStep(), flags | ACTRT_BIND_TENSORS) {
    for (int i = 0; i < 16; ++i)
      x[i] = float(i), w[i] = 1, dy[i] = 100;
  }
  actrt_status bind(actrt_entity entity, const char *name, float *memory) {
    bool tensor = entity == ACTRT_PARAMETER || entity == ACTRT_STATE;
    actrt_type t = makeType(ACTRT_DTYPE_F32, {16});
    return actrt_step_bind(l.handle, tensor ? nullptr : "grad", entity, name,
                           memory, &t);
  }
  actrt_status run(actrt_part part) {
    return actrt_step_run_part(l.handle, "grad", part);
  }
  Loaded l;
  float x[16], w[16], dy[16], y[16] = {}, dw[16] = {};
};
} // namespace

TEST(TwoParts, BackwardFollowsItsForward) {
  for (uint32_t flags : {0u, uint32_t{ACTRT_DEBUG}, uint32_t{ACTRT_TIME}}) {
    TwoParts t(flags);
    ASSERT_EQ(t.bind(ACTRT_INPUT, "x", t.x), ACTRT_SUCCESS);
    ASSERT_EQ(t.bind(ACTRT_OUTPUT, "y", t.y), ACTRT_SUCCESS);
    EXPECT_EQ(t.run(ACTRT_FORWARD), ACTRT_FAILED);
    EXPECT_STREQ(actrt_last_error(), "parameter 'w' is not bound");
    ASSERT_EQ(t.bind(ACTRT_PARAMETER, "w", t.w), ACTRT_SUCCESS);
    EXPECT_EQ(t.run(ACTRT_BACKWARD), ACTRT_FAILED);
    // Neither y.grad nor w.grad is needed yet.
    ASSERT_EQ(t.run(ACTRT_FORWARD), ACTRT_SUCCESS) << actrt_last_error();
    EXPECT_EQ(t.y[3], 8);
    EXPECT_EQ(t.run(ACTRT_BACKWARD), ACTRT_FAILED);
    EXPECT_STREQ(actrt_last_error(),
                 "input 'y.grad' of function 'grad' is not bound");
    ASSERT_EQ(t.bind(ACTRT_INPUT, "y.grad", t.dy), ACTRT_SUCCESS);
    ASSERT_EQ(t.bind(ACTRT_STATE, "w.grad", t.dw), ACTRT_SUCCESS);
    ASSERT_EQ(t.run(ACTRT_BACKWARD), ACTRT_SUCCESS) << actrt_last_error();
    EXPECT_EQ(t.dw[3], 104);
    EXPECT_EQ(t.run(ACTRT_BACKWARD), ACTRT_FAILED); // the arena is used up
    // A whole run reads what is bound now.
    t.w[3] = 5;
    ASSERT_EQ(t.run(ACTRT_WHOLE), ACTRT_SUCCESS);
    EXPECT_EQ(t.dw[3], 108);
    // Anything between the parts takes the arena.
    ASSERT_EQ(t.run(ACTRT_FORWARD), ACTRT_SUCCESS);
    ASSERT_EQ(t.run(ACTRT_WHOLE), ACTRT_SUCCESS);
    EXPECT_EQ(t.run(ACTRT_BACKWARD), ACTRT_FAILED);
    EXPECT_EQ(t.run(actrt_part(7)), ACTRT_INVALID_ARGUMENT);
  }
}

TEST(TwoParts, PortsSayWhereTheyAreUsed) {
  TwoParts t;
  actrt_entity_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(actrt_step_describe(t.l.handle, ACTRT_INPUT, "grad", 1, &info),
            ACTRT_SUCCESS);
  EXPECT_EQ(info.backward, 1u);
  EXPECT_EQ(info.updates, nullptr);
  ASSERT_EQ(actrt_step_describe(t.l.handle, ACTRT_OUTPUT, "grad", 0, &info),
            ACTRT_SUCCESS);
  EXPECT_EQ(info.backward, 0u);
  EXPECT_STREQ(info.updates, "x");
}

TEST(TwoParts, BoundTensorsAreTheCallers) {
  TwoParts t;
  actrt_type type = makeType(ACTRT_DTYPE_F32, {16});
  EXPECT_NE(actrt_step_initialise(t.l.handle, 1), ACTRT_SUCCESS);
  EXPECT_NE(actrt_step_set(t.l.handle, ACTRT_PARAMETER, "w", t.w, &type),
            ACTRT_SUCCESS);
  EXPECT_NE(actrt_step_get(t.l.handle, ACTRT_STATE, "w.grad", t.dw, &type),
            ACTRT_SUCCESS);
  EXPECT_EQ(
      actrt_step_bind(t.l.handle, "grad", ACTRT_PARAMETER, "w", t.w, &type),
      ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(t.bind(ACTRT_PARAMETER, "v", t.w), ACTRT_NOT_FOUND);
  // Once bound, values may be set there with a conversion.
  ASSERT_EQ(t.bind(ACTRT_PARAMETER, "w", t.w), ACTRT_SUCCESS);
  std::vector<double> wide(16, 0.25);
  actrt_type f64 = makeType(ACTRT_DTYPE_F64, {16});
  ASSERT_EQ(actrt_step_set(t.l.handle, ACTRT_PARAMETER, "w", wide.data(), &f64),
            ACTRT_SUCCESS);
  EXPECT_EQ(t.w[15], 0.25f);
  t.w[15] = 2;
  ASSERT_EQ(actrt_step_get(t.l.handle, ACTRT_PARAMETER, "w", wide.data(), &f64),
            ACTRT_SUCCESS);
  EXPECT_EQ(wide[15], 2);
  actrt_step_statistics s{};
  s.struct_size = sizeof s;
  ASSERT_EQ(actrt_step_measure(t.l.handle, "grad", &s), ACTRT_SUCCESS);
  EXPECT_EQ(s.parameter_bytes + s.gradient_bytes, 0u);
  // A step that has its own memory takes none.
  Loaded own(test::twoPartStep());
  EXPECT_EQ(
      actrt_step_bind(own.handle, nullptr, ACTRT_PARAMETER, "w", t.w, &type),
      ACTRT_INVALID_ARGUMENT);
}
