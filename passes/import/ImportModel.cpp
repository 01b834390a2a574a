// SPDX-License-Identifier: Apache-2.0
//
// Builds a module by the function of its family, and verifies it. Only errors
// of sizes can be left then, and they are returned as an error of the config.
#include "passes/import/ImportModel.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/import/ModelBuilder.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace act {

Result<OwningOpRef<ModuleOp>> importModel(const hf::ModelConfig &config,
                                          const ImportOptions &options,
                                          MLIRContext *context,
                                          std::vector<std::string> &warnings) {
  if (auto checked = checkOptions(config, options, warnings); !checked)
    return checked.error();
  context->loadDialect<ActDialect, func::FuncDialect>();
  ModelBuilder m(config, options, context);
  switch (config.family) {
  case hf::Family::Gpt2:
    buildGpt2(m);
    break;
  case hf::Family::Bert:
    buildBert(m);
    break;
  default:
    buildDecoder(m);
  }
  if (auto unmatched = m.unmatched(); !unmatched.empty())
    return Error{"the model has no parameter of that name: " +
                     llvm::join(unmatched, ", ") +
                     "; names are those of files, and layers, which are one "
                     "function, are trained or frozen together (*)",
                 options.trained.empty() ? "--freeze" : "--train"};
  std::string message;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &d) {
    if (message.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      message = d.str();
    return success();
  });
  // Sizes that are each valid may be too large together.
  if (failed(verify(*m.module)))
    return Error{message, ""};
  return std::move(m.module);
}

} // namespace act
