// SPDX-License-Identifier: Apache-2.0
//
// The name closest to a misspelt word, by edit distance.
#include "tools/arguments/Spelling.h"
#include <algorithm>

namespace act::tools {

// The restricted Damerau-Levenshtein distance: no letter is edited twice.
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

static std::string_view withoutDashes(std::string_view word) {
  size_t first = word.find_first_not_of('-');
  return first == std::string_view::npos ? word : word.substr(first);
}

std::string closest(std::string_view word,
                    const std::vector<std::string> &names) {
  word = withoutDashes(word);
  // No name is this long, and the table grows with the square of the length.
  if (word.size() > 64)
    return "";
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &name : names) {
    std::string_view letters = withoutDashes(name);
    size_t d = distance(word, letters);
    // The second condition excludes names that share no letter.
    if (d < least && d < std::min(word.size(), letters.size())) {
      least = d;
      best = name;
    }
  }
  return best;
}

std::string suggestion(std::string_view word,
                       const std::vector<std::string> &names,
                       std::string_view plural) {
  if (std::string name = closest(word, names); !name.empty())
    return "; did you mean '" + name + "'?";
  std::string list;
  for (size_t i = 0; i < names.size(); ++i)
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return "; " + std::string(plural) + " are " + list;
}

} // namespace act::tools
