// SPDX-License-Identifier: Apache-2.0
//
// A character vocabulary: the sorted distinct code points of a UTF-8 text. A
// character's token is its index in that order. A checkpoint's metadata stores
// it as a JSON list of strings under "vocab".
#ifndef ACT_TOOLS_ACTRUN_VOCABULARY_H
#define ACT_TOOLS_ACTRUN_VOCABULARY_H
#include "act/Result.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace act::run {

class Vocabulary {
public:
  /// An error if the text is empty or not UTF-8.
  static Result<Vocabulary> fromText(std::string_view text);
  static Result<Vocabulary> fromJson(const std::string &json);
  std::string toJson() const;
  int64_t size() const { return static_cast<int64_t>(characters.size()); }
  /// The error names the first character that is not in the vocabulary.
  Result<std::vector<int64_t>> encode(std::string_view text) const;
  const std::string &character(int64_t token) const {
    return characters[static_cast<size_t>(token)];
  }

private:
  void index();
  std::vector<std::string> characters; // UTF-8, in order of code points
  std::map<std::string, int64_t, std::less<>> tokens;
};

} // namespace act::run
#endif
