// SPDX-License-Identifier: Apache-2.0
//
// Bytecode says which version of act's dialects it has, and a newer one is an
// error that says so.
#include "dialects/BytecodeVersion.h"
#include "dialects/act/Dialect.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include <gtest/gtest.h>

using namespace mlir;

static std::string write(ModuleOp module, const char *dialect, uint64_t major) {
  BytecodeWriterConfig config;
  if (dialect)
    config.setDialectVersion(dialect,
                             std::make_unique<act::BytecodeVersion>(major, 0));
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  EXPECT_TRUE(succeeded(writeBytecodeToFile(module, os, config)));
  return bytes;
}

TEST(BytecodeVersion, NewerIsRefused) {
  DialectRegistry registry;
  act::registerDialects(registry);
  MLIRContext context(registry);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    said += d.str() + "\n";
    return success();
  });
  const char *text = R"(
    act.parameter @w "w" : tensor<4xf32>
    func.func @f(%x: !tile.view<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = act.gelu %y : tensor<4xf32>
      %1 = tile.program_id x
      return %0 : tensor<4xf32>
    })";
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << said;
  EXPECT_TRUE(parseSourceString<ModuleOp>(write(*module, nullptr, 0), &context))
      << said;
  for (const char *dialect : {"act", "tile"}) {
    EXPECT_TRUE(parseSourceString<ModuleOp>(
        write(*module, dialect, act::bytecodeMajor), &context))
        << said;
    said.clear();
    EXPECT_FALSE(parseSourceString<ModuleOp>(
        write(*module, dialect, act::bytecodeMajor + 1), &context));
    EXPECT_NE(said.find(std::string("of dialect ") + dialect +
                        "; this act reads versions up to"),
              std::string::npos)
        << said;
  }
}
