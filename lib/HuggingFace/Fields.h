// SPDX-License-Identifier: Apache-2.0
//
// Typed access to the fields of a JSON object. The first field with an
// unexpected value sets the error. Later reads still return something harmless,
// so a reader lists its fields without a branch per line and checks the error
// once, at the end:
//
//   Fields f(object, "config.json");
//   config.hidden = f.dimension("hidden_size");
//   config.tied = f.flag("tie_word_embeddings", false);
//   if (f.error()) return *f.error();
//
// Null counts as absent wherever a default is given.
#ifndef ACT_HUGGINGFACE_FIELDS_H
#define ACT_HUGGINGFACE_FIELDS_H
#include "act/Result.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace act::hf {

class Fields {
public:
  /// `prefix` is "rope_scaling." for the fields of a nested object.
  Fields(const nlohmann::json &object, std::string file,
         std::string prefix = "")
      : object(object), file(std::move(file)), prefix(std::move(prefix)) {}

  /// A size: an integer from 1 to 2^31 - 1.
  int64_t dimension(const char *name);
  int64_t dimension(const char *name, int64_t absent);
  /// An integer of at least `least` and less than 2^31.
  int64_t integer(const char *name, int64_t least, int64_t absent);
  /// A finite number above zero.
  double positive(const char *name);
  double positive(const char *name, double absent);
  /// A number in [0, 1).
  double probability(const char *name, double absent);
  double nonNegative(const char *name, double absent);
  bool flag(const char *name, bool absent);
  /// One of the words; returns its index.
  size_t word(const char *name, const std::vector<std::string> &words,
              size_t absent);
  /// An array of strings; empty if absent.
  std::vector<std::string> strings(const char *name);

  /// The value, or null if it is absent or null.
  const nlohmann::json *find(const char *name) const;
  bool has(const char *name) const { return object.contains(name); }

  /// Sets the error, if it is the first: "FILE: NAME: expected X, found Y".
  void expected(const char *name, const std::string &what);
  void fail(const char *name, const std::string &message);
  const std::optional<Error> &error() const { return first; }
  void take(const Fields &nested);

private:
  const nlohmann::json &object;
  std::string file, prefix;
  std::optional<Error> first;

  std::optional<int64_t> integerValue(const char *name, int64_t least,
                                      const std::string &what);
  std::optional<double> numberValue(const char *name, const char *what,
                                    bool (*accept)(double));
};

/// A value for messages: short and printable.
std::string show(const nlohmann::json &value);

} // namespace act::hf
#endif
