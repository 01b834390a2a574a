// SPDX-License-Identifier: Apache-2.0
//
// What somebody meant who mistyped a name.
#ifndef ACT_TOOLS_ARGUMENTS_SPELLING_H
#define ACT_TOOLS_ARGUMENTS_SPELLING_H
#include <string>
#include <string_view>
#include <vector>

namespace act::tools {

/// The name that `word` is a mistyping of, or an empty string: at most a third
/// of its letters may be wrong, missing, too many, or exchanged with their
/// neighbour. Of names equally near the first.
std::string closest(std::string_view word,
                    const std::vector<std::string> &names);

/// "; did you mean 'train'?", or, where no name is near, "; PLURAL are a, b
/// and c".
std::string suggestion(std::string_view word,
                       const std::vector<std::string> &names,
                       std::string_view plural);

} // namespace act::tools
#endif
