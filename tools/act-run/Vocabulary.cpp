// SPDX-License-Identifier: Apache-2.0
//
// A vocabulary of the characters of a text.
#include "tools/act-run/Vocabulary.h"
#include <nlohmann/json.hpp>
#include <set>

using namespace act;
using namespace act::run;

// The length in bytes of the code point at `at`; 0 if it is invalid (overlong
// forms, surrogates and values past U+10FFFF included).
static size_t codePointLength(std::string_view s, size_t at) {
  auto byte = [&](size_t i) -> unsigned {
    return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0;
  };
  unsigned b = byte(0);
  if (b < 0x80)
    return 1;
  size_t n = b >= 0xc2 && b < 0xe0   ? 2
             : b >= 0xe0 && b < 0xf0 ? 3
             : b >= 0xf0 && b < 0xf5 ? 4
                                     : 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  unsigned c = byte(1);
  if ((b == 0xe0 && c < 0xa0) || (b == 0xed && c >= 0xa0) ||
      (b == 0xf0 && c < 0x90) || (b == 0xf4 && c >= 0x90))
    return 0;
  return n;
}

template <typename Visit>
static Status forEachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    size_t n = codePointLength(text, at);
    if (n == 0)
      return Error{"the text is not valid UTF-8 at byte " + std::to_string(at),
                   ""};
    if (!visit(text.substr(at, n)))
      return Error{"the character '" + std::string(text.substr(at, n)) +
                       "' is not in the vocabulary",
                   ""};
    at += n;
  }
  return ok();
}

void Vocabulary::index() {
  for (size_t i = 0; i < characters.size(); ++i)
    tokens[characters[i]] = static_cast<int64_t>(i);
}

// Byte order works here: UTF-8 sorts like its code points.
Result<Vocabulary> Vocabulary::fromText(std::string_view text) {
  std::set<std::string_view> distinct;
  auto s = forEachCharacter(text, [&](std::string_view c) {
    distinct.insert(c);
    return true;
  });
  if (!s)
    return s.error();
  if (distinct.empty())
    return Error{"the text is empty", ""};
  Vocabulary v;
  v.characters.assign(distinct.begin(), distinct.end());
  v.index();
  return v;
}

Result<Vocabulary> Vocabulary::fromJson(const std::string &text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array() || json.empty())
    return Error{"the vocabulary is not a JSON list of characters", ""};
  Vocabulary v;
  for (auto &item : json) {
    auto *s = item.get_ptr<const std::string *>();
    if (!s || s->empty() || codePointLength(*s, 0) != s->size())
      return Error{"the vocabulary holds an entry that is not a character", ""};
    v.characters.push_back(*s);
  }
  v.index();
  if (v.tokens.size() != v.characters.size())
    return Error{"the vocabulary holds a character twice", ""};
  return v;
}

std::string Vocabulary::toJson() const {
  return nlohmann::json(characters).dump();
}

Result<std::vector<int64_t>> Vocabulary::encode(std::string_view text) const {
  std::vector<int64_t> out;
  auto s = forEachCharacter(text, [&](std::string_view c) {
    auto it = tokens.find(c);
    if (it == tokens.end())
      return false;
    out.push_back(it->second);
    return true;
  });
  if (!s)
    return s.error();
  return out;
}
