// SPDX-License-Identifier: Apache-2.0
//
// An MLIR program that knows the act dialect and one of its passes.
#include "dialects/act/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/fuse/Passes.h"
#include <cstdio>

int main() {
  mlir::MLIRContext context;
  auto *dialect = context.getOrLoadDialect<act::ActDialect>();
  std::printf("dialect %s\n", dialect->getNamespace().str().c_str());
  mlir::PassManager passes(&context);
  passes.addPass(act::createFuseAttentionPass());
  passes.printAsTextualPipeline(llvm::outs());
  return 0;
}
