// SPDX-License-Identifier: Apache-2.0
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "test/passes/groups-to-host/KernelRunner.h"
#include "gtest/gtest.h"

using namespace act;

namespace {

/// The diagnostics of compiling `text`, which must fail.
std::string reject(const std::string &text, const HostOptions &options = {}) {
  mlir::DialectRegistry registry;
  registerHostKernelDialects(registry);
  mlir::MLIRContext context(registry);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &d) { messages += d.str() + "\n"; });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << messages;
  EXPECT_TRUE(module && mlir::failed(compileHostKernels(*module, options)));
  return messages;
}

const char *const kIdentity = R"(
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
})";

TEST(HostRejection, DynamicShape) {
  std::string message = reject(R"(
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
})");
  EXPECT_NE(message.find("argument 0 has type 'tensor<?xf32>', expected a "
                         "static shape"),
            std::string::npos)
      << message;
}

TEST(HostRejection, InPlaceOfAnotherType) {
  std::string message = reject(R"(
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}, %y: tensor<8xf16>) -> tensor<8xf16> {
  return %y : tensor<8xf16>
})");
  EXPECT_NE(message.find("places result 0 of type 'tensor<8xf16>' in argument "
                         "0 of type 'tensor<4xf32>'"),
            std::string::npos)
      << message;
}

TEST(HostRejection, UnknownCpu) {
  HostOptions options;
  options.cpu = "pentium-9000";
  EXPECT_NE(reject(kIdentity, options).find("unknown cpu 'pentium-9000'"),
            std::string::npos);
}

TEST(HostRejection, AllocationWithoutBound) {
  std::string message = reject(R"(
func.func @f(%n: i64, %x: tensor<4xf32>) -> tensor<4xf32> {
  %i = arith.index_cast %n : i64 to index
  %e = tensor.empty(%i) : tensor<?xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      outs(%e : tensor<?xf32>) {
  ^bb0(%old: f32):
    %d = linalg.index 0 : index
    %j = arith.index_cast %d : index to i64
    %w = arith.sitofp %j : i64 to f32
    linalg.yield %w : f32
  } -> tensor<?xf32>
  %v = tensor.extract %f[%i] : tensor<?xf32>
  %o = tensor.empty() : tensor<4xf32>
  %r = linalg.fill ins(%v : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
})");
  EXPECT_NE(message.find("has no constant bound on its size"),
            std::string::npos)
      << message;
}

TEST(HostRejection, CallOfSomethingElse) {
  std::string message = reject(R"(
func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
})");
  EXPECT_NE(message.find("must have a body of one block"), std::string::npos)
      << message;
}

// A result that is an operand: copied.
TEST(HostRejection, ButNotAnIdentity) {
  auto runner = act::test::KernelRunner::create(kIdentity);
  ASSERT_TRUE(runner);
  float in[4] = {1, 2, 3, 4}, out[4] = {};
  ASSERT_TRUE(runner->run("f", {in, out}));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(out[i], in[i]);
}

// Code for a named, smaller machine runs here too.
TEST(HostRejection, ButNotAnOlderCpu) {
  HostOptions options;
  options.cpu = "x86-64-v3";
  auto runner = act::test::KernelRunner::create(kIdentity, options);
  ASSERT_TRUE(runner);
  EXPECT_EQ(runner->code().cpu, "x86-64-v3");
}

} // namespace
