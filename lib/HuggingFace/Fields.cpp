// SPDX-License-Identifier: Apache-2.0
//
// Reads fields of a config with their types and ranges. The first error is
// kept; later reads return defaults, so callers need no checks in between.
#include "lib/HuggingFace/Fields.h"
#include <algorithm>
#include <cmath>
#include <limits>

using nlohmann::json;

namespace act::hf {

constexpr int64_t maxInteger = std::numeric_limits<int32_t>::max();
constexpr const char *sizeWords = "an integer from 1 to 2147483647";
constexpr const char *positiveWords = "a number above 0";

std::string show(const json &value) {
  // dump() would print a whole container before it could be cut.
  if (value.is_structured())
    return std::string("an ") + value.type_name();
  // Python's spelling of NaN and infinities; dump() would print null.
  if (double x = value.is_number_float() ? value.get<double>() : 0;
      !std::isfinite(x))
    return std::isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

/// Hugging Face writes null for a field without a value, so null counts as
/// absent.
const json *Fields::find(const char *name) const {
  auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

void Fields::fail(const char *name, const std::string &message) {
  if (!first)
    first = Error{message, file + ": " + prefix + name};
}

void Fields::expected(const char *name, const std::string &what) {
  auto it = object.find(name);
  fail(name, "expected " + what + ", " +
                 (it == object.end() ? "the field is missing"
                                     : "found " + show(*it)));
}

void Fields::take(const Fields &nested) {
  if (!first)
    first = nested.first;
}

std::optional<int64_t> Fields::integerValue(const char *name, int64_t least,
                                            const std::string &what) {
  const json *value = find(name);
  // An unsigned above 2^63 would read as negative.
  if (value && value->is_number_integer()) {
    bool huge = value->is_number_unsigned() &&
                value->get<uint64_t>() > uint64_t(maxInteger);
    int64_t n = huge ? -1 : value->get<int64_t>();
    if (!huge && n >= least && n <= maxInteger)
      return n;
  }
  expected(name, what);
  return std::nullopt;
}

int64_t Fields::dimension(const char *name) {
  return integerValue(name, 1, sizeWords).value_or(1);
}

int64_t Fields::dimension(const char *name, int64_t absent) {
  return find(name) ? dimension(name) : absent;
}

int64_t Fields::integer(const char *name, int64_t least, int64_t absent) {
  if (!find(name))
    return absent;
  return integerValue(name, least,
                      "an integer from " + std::to_string(least) +
                          " to 2147483647")
      .value_or(absent);
}

std::optional<double> Fields::numberValue(const char *name, const char *what,
                                          bool (*accept)(double)) {
  const json *value = find(name);
  if (value && value->is_number() && accept(value->get<double>()))
    return value->get<double>();
  expected(name, what);
  return std::nullopt;
}

double Fields::positive(const char *name) {
  return numberValue(name, positiveWords,
                     [](double x) { return x > 0 && std::isfinite(x); })
      .value_or(1);
}

double Fields::positive(const char *name, double absent) {
  return find(name) ? positive(name) : absent;
}

double Fields::probability(const char *name, double absent) {
  if (!find(name))
    return absent;
  return numberValue(name, "a probability of at least 0 and below 1",
                     [](double x) { return x >= 0 && x < 1; })
      .value_or(absent);
}

double Fields::nonNegative(const char *name, double absent) {
  if (!find(name))
    return absent;
  return numberValue(name, "a number of at least 0",
                     [](double x) { return x >= 0 && std::isfinite(x); })
      .value_or(absent);
}

bool Fields::flag(const char *name, bool absent) {
  const json *value = find(name);
  if (!value)
    return absent;
  if (!value->is_boolean())
    expected(name, "true or false");
  return value->is_boolean() ? value->get<bool>() : absent;
}

size_t Fields::word(const char *name, const std::vector<std::string> &words,
                    size_t absent) {
  const json *value = find(name);
  if (!value)
    return absent;
  if (value->is_string()) {
    auto it = std::find(words.begin(), words.end(),
                        value->get_ref<const std::string &>());
    if (it != words.end())
      return it - words.begin();
  }
  std::string list;
  for (const std::string &w : words)
    list += (list.empty() ? "\"" : ", \"") + w + "\"";
  expected(name, (words.size() > 1 ? "one of " : "") + list);
  return absent;
}

std::vector<std::string> Fields::strings(const char *name) {
  std::vector<std::string> out;
  const json *value = find(name);
  if (!value)
    return out;
  if (value->is_array())
    for (const json &element : *value)
      if (element.is_string())
        out.push_back(element.get<std::string>());
  if (!value->is_array() || out.size() != value->size())
    expected(name, "an array of strings");
  return out;
}

} // namespace act::hf
