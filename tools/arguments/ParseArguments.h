// SPDX-License-Identifier: Apache-2.0
//
// How every tool over CLI11 reads its command line: with --version, exit status
// 1 for whatever is wrong, and a suggestion where a command or an option is
// mistyped. CLI11 by itself says that a command is required, or that some other
// option is missing, before it says that a name is unknown.
//
//   CLI::App app("what the tool does", "act-plan");
//   ...
//   if (auto status = act::tools::parseArguments(app, argc, argv))
//     return *status;
#ifndef ACT_TOOLS_ARGUMENTS_PARSEARGUMENTS_H
#define ACT_TOOLS_ARGUMENTS_PARSEARGUMENTS_H
#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

namespace act::tools {

/// The status to exit with, where there is nothing more to do: everything has
/// been printed. `llvm`: the version of the LLVM that the tool has linked.
std::optional<int> parseArguments(CLI::App &app, int argc, char **argv,
                                  std::string_view llvm = "");

} // namespace act::tools
#endif
