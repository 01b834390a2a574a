// SPDX-License-Identifier: Apache-2.0
//
// Parses a module and keeps its diagnostics as one text.
#include "tools/act-run/ParseModule.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "tools/ReadModule.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace act;
using namespace act::run;

static void describe(Diagnostic &d, llvm::raw_ostream &os) {
  if (!isa<UnknownLoc>(d.getLocation()))
    if (auto file = d.getLocation()->findInstanceOf<FileLineColLoc>()) {
      os << file.getFilename().getValue() << ":";
      // The implicit module around the file's contents is at line 0.
      if (file.getLine())
        os << file.getLine() << ":" << file.getColumn() << ":";
      os << " ";
    }
  if (d.getSeverity() == DiagnosticSeverity::Note)
    os << "note: ";
  if (d.getSeverity() == DiagnosticSeverity::Warning)
    os << "warning: ";
  os << d.str();
}

ParsedModule::ParsedModule(const std::string &path, unsigned threads)
    : path(path), context(MLIRContext::Threading::DISABLED) {
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // An op that a verifier rejects may not be printable.
  context.printOpOnDiagnostic(false);
  if (threads != 1)
    context.enableMultithreading();
  handler = std::make_unique<ScopedDiagnosticHandler>(
      &context, [this](Diagnostic &d) {
        if (d.getSeverity() == DiagnosticSeverity::Warning) {
          describe(d, llvm::errs());
          llvm::errs() << "\n";
        }
        if (d.getSeverity() != DiagnosticSeverity::Error)
          return success();
        llvm::raw_string_ostream os(messages);
        if (!messages.empty())
          os << "\n";
        describe(d, os);
        for (Diagnostic &note : d.getNotes()) {
          os << "\n";
          describe(note, os);
        }
        return success();
      });
}

Error ParsedModule::error(const std::string &otherwise) const {
  return messages.empty() ? Error{otherwise, path} : Error{messages, ""};
}

Result<std::unique_ptr<ParsedModule>>
ParsedModule::open(const std::string &path, unsigned threads) {
  std::unique_ptr<ParsedModule> parsed(new ParsedModule(path, threads));
  auto file = readModule(path, parsed->registry);
  if (!file)
    return file.error();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  parsed->module = parseSourceFile<ModuleOp>(sources, &parsed->context);
  if (!parsed->module)
    return parsed->error("cannot be parsed");
  return parsed;
}
