// SPDX-License-Identifier: Apache-2.0
#include "runtime/PtxTarget.h"

using namespace act;
using namespace act::runtime;

// Only comments and `.version` may precede `.target` (PTX ISA, "PTX Module
// Directives"), so its first occurrence outside comments is the directive.
static size_t findDirective(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (rest.substr(0, 2) == "//") {
      i = text.find('\n', i);
    } else if (rest.substr(0, 2) == "/*") {
      i = text.find("*/", i + 2);
      i = i == std::string_view::npos ? i : i + 1;
    } else if (rest.substr(0, 7) == ".target") {
      return i + 7;
    }
    if (i == std::string_view::npos)
      break;
  }
  return std::string_view::npos;
}

Result<PtxTarget> runtime::ptxTarget(std::string_view text) {
  size_t at = findDirective(text);
  if (at == std::string_view::npos)
    return Error{"the module is not PTX: it has no .target directive", ""};
  at = text.find_first_not_of(" \t", at);
  if (at == std::string_view::npos || text.substr(at, 3) != "sm_")
    return Error{"the module's .target names no sm_ architecture", ""};
  PtxTarget t;
  for (at += 3;
       at < text.size() && text[at] >= '0' && text[at] <= '9' && t.sm < 10000;
       ++at)
    t.sm = 10 * t.sm + static_cast<uint32_t>(text[at] - '0');
  if (at < text.size() && (text[at] == 'a' || text[at] == 'f'))
    t.suffix = text[at];
  if (t.sm == 0)
    return Error{"the module's .target names no sm_ architecture", ""};
  return t;
}
