// SPDX-License-Identifier: Apache-2.0
//
// The command-line parser of all CLI11 tools: adds --version, exit status 1 for
// any error, and suggestions for mistyped commands and options. CLI11 by itself
// reports a missing command or option before an unknown name.
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

/// The exit status if there is nothing more to do; everything has been printed
/// then. `llvm`: the version of the LLVM that the tool links.
std::optional<int> parseArguments(CLI::App &app, int argc, char **argv,
                                  std::string_view llvm = "");

} // namespace act::tools
#endif
