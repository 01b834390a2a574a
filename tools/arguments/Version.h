// SPDX-License-Identifier: Apache-2.0
//
// The --version text of every tool.
#ifndef ACT_TOOLS_ARGUMENTS_VERSION_H
#define ACT_TOOLS_ARGUMENTS_VERSION_H
#include <string>
#include <string_view>

namespace act::tools {

/// "act-opt (act) 0.1.0", and "LLVM 22.1.8" on a second line if `llvm`, the
/// version that the tool links, is not empty. No newline at the end.
std::string versionText(std::string_view tool, std::string_view llvm = "");

} // namespace act::tools
#endif
