// SPDX-License-Identifier: Apache-2.0
//
// act-opt: runs the named passes in their order, as mlir-opt does, with act's
// dialect and passes registered beside the upstream ones.
#include "passes/Registration.h"
#include "passes/CommandLine.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  act::registerDialects(registry);
  act::registerPasses();
  auto arguments = act::expandOptPassFlags(argc, argv);
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      int(arguments.size()), arguments.data(), "act optimizer driver\n", registry));
}
