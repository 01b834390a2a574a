// SPDX-License-Identifier: Apache-2.0
// An op of a library of its own, and linalg ops, through every phase: they are
// grouped, planned, lowered, compiled for the host and for a GPU, and run.
#include "test/passes/own-ops/OwnOps.h"
#include "act-c/Runtime.h"
#include "act/Artifact/Format.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "passes/emit/EmitStep.h"
#include "passes/emit/GpuKernels.h"
#include "passes/kernels/FormKernels.h"
#include "passes/lower-groups/LowerGroups.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace {

// y = silu(2 x); grad(w) += 2 x; then z = 3 y + x by linalg.
constexpr const char *source = R"(
#id = affine_map<(d0, d1) -> (d0, d1)>
module {
  act.parameter @w "w" : tensor<16x64xf32>
  func.func @step(%x: tensor<16x64xf32> {act.name = "x"}) -> (tensor<16x64xf32> {act.name = "z"}) {
    act.zero_grad @w
    %t = own.tally @w, %x : tensor<16x64xf32> -> tensor<16x64xf32>
    %y = act.silu %t : tensor<16x64xf32>
    %three = arith.constant 3.0 : f32
    %e = tensor.empty() : tensor<16x64xf32>
    %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%y, %x : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %three : f32
      %s = arith.addf %m, %b : f32
      linalg.yield %s : f32
    } -> tensor<16x64xf32>
    return %z : tensor<16x64xf32>
  }
}
)";

class OwnOps : public testing::Test {
protected:
  OwnOps() {
    DialectRegistry registry;
    act::registerDialects(registry);
    registry.insert<own::OwnDialect>();
    context.appendDialectRegistry(registry);
    // What a pass that compiles would load.
    DialectRegistry compilers;
    act::registerGpuKernelDialects(compilers);
    for (StringRef name : compilers.getDialectNames())
      context.getOrLoadDialect(name);
    module = parseSourceString<ModuleOp>(source, &context);
  }

  SmallVector<std::string> groupNames() {
    SmallVector<std::string> names;
    module->walk([&](act::GroupOp g) { names.push_back(g.getName().str()); });
    return names;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OwnOps, FormGroups) {
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(act::formKernels(*module)));
  // The epilogue is in the op's group; the linalg op is a group of its own.
  EXPECT_EQ(groupNames(),
            (SmallVector<std::string>{"zero_grad.w", "tally.w", "generic"}));
  act::GroupOp tally;
  module->walk([&](act::GroupOp g) {
    if (g.getName() == "tally.w")
      tally = g;
  });
  EXPECT_EQ(llvm::range_size(tally.getWorkspaceTypes()), 1);
  EXPECT_FALSE(tally.getBody().getOps<act::SiluOp>().empty());
}

TEST_F(OwnOps, LowerToKernels) {
  ASSERT_TRUE(succeeded(act::formKernels(*module)));
  auto program = act::flatten(*module, "step");
  ASSERT_TRUE(succeeded(program));
  for (const char *target : {"", "sm_80"}) {
    OwningOpRef<ModuleOp> copy(module->clone());
    auto program = act::flatten(*copy, "step");
    ASSERT_TRUE(succeeded(program));
    ASSERT_TRUE(succeeded(act::lowerGroups(*copy, {&*program}, target)));
    EXPECT_TRUE(succeeded(verify(*copy)));
    size_t launches = 0;
    copy->walk([&](act::LaunchOp) { ++launches; });
    EXPECT_EQ(launches, 4u); // two of own.tally
  }
}

/// Runs the step twice on `device` and checks the result and the gradient.
void runOn(const char *device, ModuleOp module, StringRef target) {
  OwningOpRef<ModuleOp> copy(module.clone());
  act::EmitOptions options;
  options.mode = "train";
  options.target = target;
  options.cacheDir = "none";
  auto step = act::emitStep(*copy, options);
  ASSERT_TRUE(succeeded(step));
  auto bytes = act::artifact::write(*step);
  ASSERT_TRUE(bool(bytes));
  actrt_device opened;
  actrt_step loaded;
  ASSERT_EQ(actrt_device_open(device, nullptr, &opened), ACTRT_SUCCESS)
      << actrt_last_error();
  ASSERT_EQ(actrt_step_load_memory(opened, bytes->data(), bytes->size(),
                                   ACTRT_ALLOW_NATIVE, &loaded),
            ACTRT_SUCCESS)
      << actrt_last_error();
  actrt_type type = {};
  type.dtype = ACTRT_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = 16;
  type.shape[1] = 64;
  std::vector<float> x(16 * 64), z(16 * 64), gradient(16 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(0.1f * i);
  ASSERT_EQ(actrt_step_initialise(loaded, 1), ACTRT_SUCCESS)
      << actrt_last_error();
  ASSERT_EQ(actrt_step_bind(loaded, "step", ACTRT_INPUT, "x", x.data(), &type),
            ACTRT_SUCCESS)
      << actrt_last_error();
  ASSERT_EQ(actrt_step_bind(loaded, "step", ACTRT_OUTPUT, "z", z.data(), &type),
            ACTRT_SUCCESS)
      << actrt_last_error();
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(actrt_step_run(loaded, "step"), ACTRT_SUCCESS)
        << actrt_last_error();
  ASSERT_EQ(
      actrt_step_get(loaded, ACTRT_STATE, "w.grad", gradient.data(), &type),
      ACTRT_SUCCESS)
      << actrt_last_error();
  for (size_t i = 0; i < x.size(); ++i) {
    double t = 2.0 * x[i], y = t / (1 + std::exp(-t));
    ASSERT_NEAR(z[i], 3 * y + x[i], 1e-5) << i;
    ASSERT_NEAR(gradient[i], t, 1e-6) << i;
  }
  actrt_step_release(loaded);
  actrt_device_release(opened);
}

// A named operation, and one that nobody reads: on a GPU it is a generic, and
// the dead op is no kernel.
TEST_F(OwnOps, NamedLinalg) {
  OwningOpRef<ModuleOp> named = parseSourceString<ModuleOp>(R"(
func.func @forward(%x: tensor<64x32xf32>, %y: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<64x32xf32>, tensor<32x16xf32>) outs(%f : tensor<64x16xf32>) -> tensor<64x16xf32>
  %dead = act.softmax %0 axis 1 : tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
})",
                                                            &context);
  ASSERT_TRUE(named);
  for (const char *target : {"", "sm_80"}) {
    OwningOpRef<ModuleOp> copy(named->clone());
    act::EmitOptions options;
    options.target = target;
    options.cacheDir = "none";
    auto step = act::emitStep(*copy, options);
    ASSERT_TRUE(succeeded(step)) << target;
    EXPECT_EQ(step->kernels.size(), 1u) << target;
  }
}

TEST_F(OwnOps, RunOnHost) { runOn("host", *module, ""); }
TEST_F(OwnOps, RunOnSimulatedGpu) { runOn("sim:sm_80", *module, "sm_80"); }

} // namespace
