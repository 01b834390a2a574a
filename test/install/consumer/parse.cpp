// SPDX-License-Identifier: Apache-2.0
//
// An MLIR program that knows the act dialect.
#include "dialects/act/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include <cstdio>

int main() {
  mlir::MLIRContext context;
  auto *dialect = context.getOrLoadDialect<act::ActDialect>();
  std::printf("dialect %s\n", dialect->getNamespace().str().c_str());
  return 0;
}
