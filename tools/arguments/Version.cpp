// SPDX-License-Identifier: Apache-2.0
//
// The text of --version.
#include "tools/arguments/Version.h"

std::string act::tools::versionText(std::string_view tool,
                                    std::string_view llvm) {
  std::string text = std::string(tool) + " (act) " + ACT_VERSION;
  if (!llvm.empty())
    text += "\nLLVM " + std::string(llvm);
  return text;
}
