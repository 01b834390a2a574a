// SPDX-License-Identifier: Apache-2.0
//
// act-reduce: mlir-reduce with act's dialects and passes, as the distribution's
// own takes no plugins. It makes a module smaller while a script still finds
// what it looks for.
//
//   act-reduce model.mlir --reduction-tree="traversal-mode=0
//     test=./still-fails.sh" -o small.mlir
//   act-reduce model.mlir --opt-reduction-pass="opt-pass=symbol-dce
//     test=./still-fails.sh" -o small.mlir
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "passes/Registration.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

int main(int argc, char **argv) {
  llvm::InitLLVM llvm(argc, argv);
  registerAllPasses();
  act::registerPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  act::registerDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  return failed(mlirReduceMain(argc, argv, context));
}
