// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Compile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "passes/act/Differentiate.h"
#include "passes/act/WriteStep.h"
#include "passes/emit/EmitStep.h"
#include "tools/ReadModule.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace act::run {

Result<artifact::Step> compileModule(const std::string &path,
                                     const CompileOptions &options) {
  if (options.device != "host")
    return Error{"cannot compile for device '" + options.device +
                     "': only for host",
                 path};
  DialectRegistry registry;
  registerDialects(registry);
  auto file = readModule(path, registry);
  if (!file)
    return file.error();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  if (options.threads == 1)
    context.disableMultithreading();
  std::string messages;
  llvm::raw_string_ostream os(messages);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (!messages.empty())
      os << "\n";
    if (!isa<UnknownLoc>(d.getLocation()))
      if (auto file = d.getLocation()->findInstanceOf<FileLineColLoc>())
        os << file.getFilename().getValue() << ":" << file.getLine() << ":"
           << file.getColumn() << ": ";
    os << d.str();
    return success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return Error{messages.empty() ? "cannot be parsed" : messages,
                 messages.empty() ? path : ""};
  // The step asked for, unless the module has one.
  bool chosen = !options.optimizer.empty() || options.microBatches;
  if (options.wants == "train" && chosen && !module->lookupSymbol(stepName)) {
    StepOptions step;
    if (!options.optimizer.empty())
      step.optimizer = options.optimizer;
    if (options.microBatches)
      step.microBatches = options.microBatches;
    if ((!module->lookupSymbol(gradName) && failed(differentiate(*module))) ||
        failed(writeStep(*module, step)))
      return Error{messages, ""};
  }
  EmitOptions emit;
  emit.mode = options.wants;
  auto step = emitStep(*module, emit);
  if (failed(step))
    return Error{messages.empty() ? "cannot be compiled" : messages,
                 messages.empty() ? path : ""};
  return std::move(*step);
}

} // namespace act::run
