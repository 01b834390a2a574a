// SPDX-License-Identifier: Apache-2.0
//
// Looks for unknown and misplaced flags before LLVM's parser does, whose
// messages do not know the passes.
#include "tools/act-opt/UnknownFlag.h"
#include "passes/CommandLine.h"
#include "tools/arguments/Spelling.h"
#include "llvm/Support/CommandLine.h"

using llvm::StringRef;

namespace act {

// The error for one of act's flags that no pass took.
static Error unplaced(const OptPassFlag &flag, bool assigns) {
  std::string name = std::string("--") + flag.name;
  if (!assigns)
    return Error{"expected a value: " + name + "=VALUE", ""};
  return Error{name + " is an option of " + flag.of +
                   ", and the command line has none",
               ""};
}

Status checkFlags(llvm::ArrayRef<char *> arguments) {
  auto &registered = llvm::cl::getRegisteredOptions();
  for (StringRef word : arguments) {
    if (word == "--")
      break;
    if (!word.consume_front("--"))
      continue;
    auto [name, value] = word.split('=');
    if (registered.contains(name))
      continue;
    std::vector<std::string> names;
    for (const OptPassFlag &flag : optPassFlags()) {
      if (name == flag.name)
        return unplaced(flag, word.contains('='));
      names.push_back(std::string("--") + flag.name);
    }
    for (const auto &[option, ignored] : registered)
      names.push_back(("--" + option).str());
    std::string near = tools::closest(name.str(), names);
    return Error{"unknown option '--" + name.str() + "'" +
                     (near.empty() ? "; --help lists act's, --help-hidden all"
                                   : "; did you mean '" + near + "'?"),
                 ""};
  }
  return ok();
}

} // namespace act
