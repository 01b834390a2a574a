// SPDX-License-Identifier: Apache-2.0
//
// The language server for .mlir files with act ops: MLIR's own, plus the
// documentation of act's ops (Relay.h).
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "passes/Registration.h"
#include "tools/act-lsp-server/Relay.h"
#include "tools/arguments/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << act::tools::versionText("act-lsp-server", LLVM_VERSION_STRING)
       << "\n";
  });
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  act::registerDialects(registry);
  // With --help, or MLIR's input formats for tests, no editor is connected.
  bool talks = llvm::all_of(llvm::ArrayRef(argv + 1, argc - 1), [](char *word) {
    return llvm::StringRef(word).ltrim('-').starts_with("log");
  });
  if (!talks)
    return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
  auto *relay = new act::lsp::Relay; // its reader outlives main
  if (!relay->start()) {
    llvm::errs() << "act-lsp-server: error: cannot make pipes\n";
    return 1;
  }
  bool failed = mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
  relay->finish();
  return failed;
}
