// SPDX-License-Identifier: Apache-2.0
//
// Keeps LLVM's many options out of --help; --help-hidden has all.
#include "tools/act-opt/Help.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

using llvm::StringRef;

bool act::asksForHelp(llvm::ArrayRef<char *> arguments) {
  return llvm::any_of(arguments, [](const char *argument) {
    StringRef word(argument);
    return word.starts_with("-") &&
           llvm::is_contained({"h", "help", "help-list"}, word.ltrim('-'));
  });
}

void act::hideRareOptions() {
  const StringRef shown[] = {"allow-unregistered-dialect",
                             "emit-bytecode",
                             "help",
                             "help-hidden",
                             "mlir-diagnostic-verbosity-level",
                             "mlir-print-ir-after-all",
                             "mlir-timing",
                             "pass-pipeline",
                             "split-input-file",
                             "verify-diagnostics",
                             "version"};
  // The name puts these after the passes' category, "General options":
  // categories are printed in alphabetical order.
  static llvm::cl::OptionCategory ofMlir("Options of MLIR");
  for (auto &[name, option] : llvm::cl::getRegisteredOptions()) {
    // The list of passes is one option without a name.
    if (!option->hasArgStr())
      continue;
    if (!llvm::is_contained(shown, StringRef(name)))
      option->setHiddenFlag(llvm::cl::ReallyHidden);
    else
      option->Categories.assign(1, &ofMlir);
  }
}
