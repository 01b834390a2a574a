// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for mistyped names.
#ifndef ACT_TOOLS_ARGUMENTS_SPELLING_H
#define ACT_TOOLS_ARGUMENTS_SPELLING_H
#include <string>
#include <string_view>
#include <vector>

namespace act::tools {

/// The name that `word` probably means, or an empty string. At most a third of
/// its letters may be wrong, missing, extra, or swapped with a neighbour. Of
/// equally close names, the first.
std::string closest(std::string_view word,
                    const std::vector<std::string> &names);

/// "; did you mean 'train'?" or, if no name is close, "; PLURAL are a, b and
/// c".
std::string suggestion(std::string_view word,
                       const std::vector<std::string> &names,
                       std::string_view plural);

} // namespace act::tools
#endif
