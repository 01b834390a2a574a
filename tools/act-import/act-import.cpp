// SPDX-License-Identifier: Apache-2.0
//
// act-import: turns a Hugging Face config.json into a module in the act
// dialect.
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "compiler/ImportCommand.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/arguments/FileKind.h"
#include "tools/arguments/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

static int fail(const act::Error &error) {
  llvm::errs() << "act-import: " << error.str() << "\n";
  return 1;
}

// The module's text, with a first line that records the command. Values carry
// the importer's names.
static std::string print(ModuleOp module, const std::string &config,
                         const std::vector<std::string> &arguments) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// act-import " << llvm::sys::path::filename(config);
  for (const std::string &argument : arguments)
    os << " " << argument;
  os << "\n";
  module.print(os, OpPrintingFlags().printNameLocAsPrefix());
  os << "\n";
  return text;
}

// An error for a folder, or a file that is not a config.json.
static act::Status refuseOtherKinds(const std::string &path) {
  constexpr auto wanted = act::tools::FileKind::Config;
  std::string what = act::tools::ifFolder(path, wanted);
  if (what.empty())
    if (auto file = act::file::MappedFile::open(path); file)
      what = act::tools::ifForeign(path, file->text(), wanted);
  return what.empty() ? act::ok() : act::Error{what, path};
}

int main(int argc, char **argv) {
  auto command = act::parseImportCommand({argv + 1, argv + argc});
  if (!command)
    return fail(command.error());
  if (command->help) {
    llvm::outs() << act::importHelp();
    return 0;
  }
  if (command->version) {
    llvm::outs() << act::tools::versionText("act-import", LLVM_VERSION_STRING)
                 << "\n";
    return 0;
  }
  if (auto s = refuseOtherKinds(command->config); !s)
    return fail(s.error());
  auto config = act::hf::load(command->config);
  if (!config)
    return fail(config.error());
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::vector<std::string> warnings = command->warnings;
  auto module = act::importModel(*config, command->options, &context, warnings);
  for (const std::string &warning : warnings)
    llvm::errs() << "act-import: warning: " << warning << "\n";
  if (!module)
    return fail({module.error().str(), command->config});
  std::string text = print(**module, command->config, command->shown);
  if (command->output == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    if (!llvm::outs().has_error())
      return 0;
    llvm::outs().clear_error();
    return fail({"cannot be written", "standard output"});
  }
  auto written = act::file::writeFile(command->output, text);
  return written ? 0 : fail(written.error());
}
