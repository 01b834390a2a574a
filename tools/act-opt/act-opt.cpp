// SPDX-License-Identifier: Apache-2.0
//
// act-opt: runs the named passes in their order, as mlir-opt does, with act's
// dialect and passes registered beside the upstream ones. Four things differ
// from mlir-opt's own main: files are read with care (tools/ReadModule.h),
// written whole or not at all, an error does not print the whole module, and
// no plugins are loaded.
#include "act/File/AtomicFile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/CommandLine.h"
#include "passes/Registration.h"
#include "tools/ReadModule.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

static int fail(const act::Error &error) {
  llvm::errs() << (error.where.empty() ? "act-opt" : error.where)
               << ": error: " << error.message << "\n";
  return 1;
}

static LogicalResult run(llvm::StringRef input, llvm::StringRef output,
                         DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  auto file = act::readModule(input, registry);
  if (!file)
    return fail(file.error()), failure();
  if (output == "-")
    return MlirOptMain(llvm::outs(), std::move(*file), registry, config);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(MlirOptMain(os, std::move(*file), registry, config)))
    return failure();
  if (auto s = act::file::writeFile(output.str(), text); !s)
    return fail(s.error()), failure();
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM llvm(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  act::registerDialects(registry);
  act::registerPasses();
  auto arguments = act::expandOptPassFlags(argc, argv);
  static char brief[] = "--mlir-print-op-on-diagnostic=false";
  if (llvm::none_of(arguments, [](const char *a) {
        return llvm::StringRef(a).ltrim('-').starts_with(
            "mlir-print-op-on-diagnostic");
      }))
    arguments.insert(arguments.begin() + 1, brief);
  std::string help = registerCLIOptions("act optimizer driver\n", registry);
  // A plugin's MLIR would be another than the one in here.
  for (const char *option : {"load-pass-plugin", "load-dialect-plugin"})
    llvm::cl::getRegisteredOptions().lookup(option)->removeArgument();
  auto [input, output] =
      parseCLIOptions(int(arguments.size()), arguments.data(), help);
  auto config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(int(arguments.size()), arguments.data(),
                                        input, output, registry));
  return asMainReturnCode(run(input, output, registry, config));
}
