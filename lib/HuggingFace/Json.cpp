// SPDX-License-Identifier: Apache-2.0
//
// JSON as Python writes it: NaN and Infinity are allowed as bare words,
// duplicate names and deep nesting are not.
#include "lib/HuggingFace/Json.h"
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <vector>

using nlohmann::json;

namespace act::hf {
namespace {

struct Place {
  size_t line = 1, column = 1;
};

// `position` counts the bytes read, the offending one included.
Place placeOf(std::string_view text, size_t position) {
  size_t end = std::min(position ? position - 1 : 0, text.size());
  std::string_view before = text.substr(0, end);
  Place place;
  place.line += std::count(before.begin(), before.end(), '\n');
  size_t start = before.rfind('\n');
  place.column += start == before.npos ? end : end - start - 1;
  return place;
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char c) { return c < 32 || c > 126; }, '?');
  return text;
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: REASON;
// last read: '...'" -> REASON, in one line of printable characters
std::string reasonOf(std::string text) {
  for (const char *lead : {"column ", "] "})
    if (size_t at = text.find(lead); at != text.npos) {
      size_t colon = text.find(": ", at);
      text.erase(0, *lead == 'c' && colon != text.npos ? colon + 2 : at + 2);
      break;
    }
  text.resize(
      std::min(text.find("; last read"), std::min(text.size(), size_t(160))));
  return printable(text);
}

// Python's words for numbers that JSON lacks. Each is replaced by a 0 and
// spaces for the parser, so that all other bytes keep their positions. `values`
// has the words' values, keyed by the number of bare words and numbers before
// each. Text inside strings is left alone.
struct BareWords {
  std::string text;
  std::map<size_t, double> values;

  explicit BareWords(std::string_view given);
};

BareWords::BareWords(std::string_view given) : text(given) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::map<std::string_view, double> meaning = {
      {"NaN", std::numeric_limits<double>::quiet_NaN()},
      {"Infinity", infinity},
      {"-Infinity", -infinity}};
  auto bare = [&](size_t i) {
    unsigned char c = given[i];
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  };
  bool quoted = false;
  for (size_t i = 0, count = 0; i < given.size(); ++i) {
    if (given[i] == '"')
      quoted = !quoted;
    if (quoted && given[i] == '\\')
      ++i;
    if (quoted || i >= given.size() || !bare(i))
      continue;
    size_t end = i;
    while (end < given.size() && bare(end))
      ++end;
    if (auto it = meaning.find(given.substr(i, end - i)); it != meaning.end()) {
      values[count] = it->second;
      text.replace(i, end - i, "0" + std::string(end - i - 1, ' '));
    }
    ++count;
    i = end - 1;
  }
}

// Checks both limits in one pass before a tree is built. nlohmann's parser
// keeps its own stack, so depth costs only memory here.
class Check : public nlohmann::json_sax<json> {
public:
  std::string problem;
  size_t position = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t &name) override {
    if (keys.back().insert(name).second)
      return true;
    problem = "key \"" + printable(name.substr(0, 80)) + "\" is given twice";
    return false;
  }
  bool parse_error(std::size_t at, const std::string &,
                   const nlohmann::detail::exception &e) override {
    position = at;
    problem = reasonOf(e.what());
    return false;
  }

private:
  std::vector<std::set<std::string>> keys;

  bool enter() {
    keys.emplace_back();
    if (keys.size() <= maxJsonDepth)
      return true;
    problem = "expected at most " + std::to_string(maxJsonDepth) +
              " levels of nesting, found more";
    return false;
  }
  bool leave() {
    keys.pop_back();
    return true;
  }
};

} // namespace

Result<json> parseObject(std::string_view text, const std::string &file) {
  if (text.size() > maxJsonBytes)
    return Error{"expected at most " + std::to_string(maxJsonBytes) +
                     " bytes of JSON, found more",
                 file};
  const BareWords words(text);
  Check check;
  if (!json::sax_parse(words.text, &check)) {
    std::string where = file;
    if (check.position) {
      Place place = placeOf(text, check.position);
      where +=
          ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
    }
    return Error{check.problem, where};
  }
  size_t count = 0;
  auto restore = [&](int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::value && !value.is_string())
      if (auto it = words.values.find(count++); it != words.values.end())
        value = it->second;
    return true;
  };
  json tree = json::parse(words.text, restore, /*allow_exceptions=*/false);
  if (!tree.is_object())
    return Error{
        std::string("expected a JSON object, found ") + tree.type_name(), file};
  return tree;
}

} // namespace act::hf
