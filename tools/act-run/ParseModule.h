// SPDX-License-Identifier: Apache-2.0
//
// A .mlir file in memory, and its errors as text.
#ifndef ACT_TOOLS_ACTRUN_PARSEMODULE_H
#define ACT_TOOLS_ACTRUN_PARSEMODULE_H
#include "act/Result.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace act::run {

class ParsedModule {
public:
  static Result<std::unique_ptr<ParsedModule>> open(const std::string &path,
                                                    unsigned threads = 0);
  mlir::ModuleOp operator*() { return *module; }
  /// The diagnostics since the file was read; if there are none, `otherwise`.
  Error error(const std::string &otherwise) const;

private:
  explicit ParsedModule(const std::string &path, unsigned threads);

  std::string path, messages;
  mlir::DialectRegistry registry;
  mlir::MLIRContext context;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace act::run
#endif
