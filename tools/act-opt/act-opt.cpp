// SPDX-License-Identifier: Apache-2.0
//
// act-opt: runs the named passes in their order, like mlir-opt, with act's
// dialect and passes registered as well as the upstream ones. Six differences
// from mlir-opt's own main:
// - it checks input files before parsing (tools/ReadModule.h);
// - it writes output files whole or not at all;
// - errors do not print the whole module;
// - errors that concern no place in the file show none;
// - it loads no plugins;
// - --help begins with act's passes and flags (Help.h).
#include "act/File/AtomicFile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/CommandLine.h"
#include "passes/Registration.h"
#include "tools/ReadModule.h"
#include "tools/act-opt/Help.h"
#include "tools/act-opt/UnknownFlag.h"
#include "tools/arguments/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

static int fail(const act::Error &error) {
  llvm::errs() << (error.where.empty() ? "act-opt" : error.where)
               << ": error: " << error.message << "\n";
  return 1;
}

/// Prints diagnostics without a place in the file: about an option, or about
/// the whole file, whose line is 0. Leaves the others to the next handler,
/// which shows the line.
static LogicalResult printWithoutPlace(Diagnostic &diagnostic,
                                       VerbosityLevel level) {
  auto file = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (file && file.getLine())
    return failure(); // for the next handler
  auto severity = diagnostic.getSeverity();
  if ((severity == DiagnosticSeverity::Remark &&
       level < VerbosityLevel::ErrorsWarningsAndRemarks) ||
      (severity == DiagnosticSeverity::Warning &&
       level < VerbosityLevel::ErrorsAndWarnings))
    return success();
  auto print = [&](Diagnostic &d) {
    const char *severity[] = {"note", "warning", "error", "remark"};
    auto at = d.getLocation()->findInstanceOf<FileLineColLoc>();
    llvm::errs() << (at ? at.getFilename().getValue() : "act-opt") << ":";
    if (at && at.getLine())
      llvm::errs() << at.getLine() << ":" << at.getColumn() << ":";
    llvm::errs() << " " << severity[int(d.getSeverity())] << ": " << d.str()
                 << "\n";
  };
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
  return success();
}

static MlirOptMainConfig tellWithoutPlace(const MlirOptMainConfig &given) {
  MlirOptMainConfig config = given;
  if (!given.shouldVerifyDiagnostics())
    config.setPassPipelineSetupFn([given](PassManager &pm) {
      pm.getContext()->getDiagEngine().registerHandler(
          [level =
               given.getDiagnosticVerbosityLevel()](Diagnostic &diagnostic) {
            return printWithoutPlace(diagnostic, level);
          });
      return given.setupPassPipeline(pm);
    });
  return config;
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
  bool help = act::asksForHelp({argv + 1, argv + argc});
  if (!help)
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
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << act::tools::versionText("act-opt", LLVM_VERSION_STRING) << "\n";
  });
  static llvm::cl::extrahelp flags(act::optPassFlagsHelp);
  std::string header =
      registerCLIOptions("act-opt: runs passes over a module\n", registry);
  if (help) {
    header =
        "act-opt: runs passes over a module; --help-hidden also lists MLIR's "
        "own passes and options\n";
    act::hideRareOptions();
  }
  // A plugin would bring its own copy of MLIR.
  for (const char *option : {"load-pass-plugin", "load-dialect-plugin"})
    llvm::cl::getRegisteredOptions().lookup(option)->removeArgument();
  if (auto s = act::checkFlags(llvm::ArrayRef(arguments).drop_front()); !s)
    return fail(s.error());
  auto [input, output] =
      parseCLIOptions(int(arguments.size()), arguments.data(), header);
  auto config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(int(arguments.size()), arguments.data(),
                                        input, output, registry));
  return asMainReturnCode(
      run(input, output, registry, tellWithoutPlace(config)));
}
