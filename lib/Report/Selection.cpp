// SPDX-License-Identifier: Apache-2.0
//
// Reads what a publication counts, and its formulas, from JSON. The known
// publications are compiled in.
#include "Papers.h"
#include "act/Report/Paper.h"
#include "lib/Report/Json.h"

namespace act::report {
namespace {

using symbolic::Letters;
using symbolic::Monomial;
using symbolic::Polynomial;

/// Reads fields of an object and keeps the first error.
class Reader {
public:
  Reader(const Json &json, std::string where, std::optional<Error> &error)
      : json(json), where(std::move(where)), error(error) {
    if (!json.is_object())
      fail("", "an object");
  }

  // Rejects other fields. A misspelt optional field would otherwise change what
  // is counted without a word.
  void known(std::initializer_list<const char *> names) {
    if (!json.is_object())
      return;
    for (const auto &[key, value] : json.items())
      if (std::find_if(names.begin(), names.end(),
                       [&, &k = key](const char *n) { return k == n; }) ==
          names.end())
        failWith("unknown field '" + key + "'");
  }
  bool has(const char *name) const {
    return json.is_object() && json.contains(name);
  }
  std::string text(const char *name, bool needed = false) {
    if (!has(name)) {
      if (needed)
        fail(name, "text");
      return "";
    }
    if (!json[name].is_string()) {
      fail(name, "text");
      return "";
    }
    return json[name].get<std::string>();
  }
  int64_t number(const char *name, int64_t otherwise) {
    if (!has(name))
      return otherwise;
    if (!json[name].is_number_integer() || json[name].get<int64_t>() < 0) {
      fail(name, "a number of at least 0");
      return 0;
    }
    return json[name].get<int64_t>();
  }
  std::vector<std::string> list(const char *name) {
    std::vector<std::string> out;
    for (const Json &item : array(name))
      if (item.is_string())
        out.push_back(item.get<std::string>());
      else
        fail(name, "a list of texts");
    return out;
  }
  const Json &array(const char *name) {
    static const Json empty = Json::array();
    if (!has(name))
      return empty;
    if (json[name].is_array())
      return json[name];
    fail(name, "a list");
    return empty;
  }
  std::map<std::string, std::string> texts(const char *name) {
    std::map<std::string, std::string> out;
    for (const auto &[key, value] : object(name).items())
      if (value.is_string())
        out[key] = value.get<std::string>();
      else
        fail(name, "texts");
    return out;
  }
  Letters letters(const char *name) {
    Letters out;
    for (const auto &[key, value] : object(name).items())
      if (value.is_number_integer() && value.get<int64_t>() > 0)
        out[key] = value.get<int64_t>();
      else
        fail(name, "positive sizes");
    return out;
  }
  Polynomial polynomial(const char *name, const std::string &text) {
    auto p = Polynomial::parse(text);
    if (p)
      return *p;
    failWith(std::string(name) + ": " + p.error().message);
    return Polynomial();
  }
  void fail(const std::string &name, const std::string &expected) {
    failWith((name.empty() ? "" : name + ": ") + "expected " + expected);
  }
  std::string place(const std::string &name, size_t i) const {
    return where + ": " + name + "[" + std::to_string(i) + "]";
  }

private:
  const Json &object(const char *name) {
    static const Json empty = Json::object();
    if (!has(name))
      return empty;
    if (json[name].is_object())
      return json[name];
    fail(name, "an object");
    return empty;
  }
  void failWith(const std::string &message) {
    if (!error)
      error = Error{message, where};
  }
  const Json &json;
  std::string where;
  std::optional<Error> &error;
};

CountRule readRule(Reader r) {
  r.known({"op", "parameter", "operand", "result", "mask", "rows", "input",
           "output", "made_by", "bytes", "letters", "why"});
  CountRule rule;
  using What = CountRule::What;
  int kinds = 0;
  for (auto [name, what] : {std::pair("operand", What::Operand),
                            {"result", What::Result},
                            {"mask", What::Mask},
                            {"rows", What::Rows},
                            {"input", What::Input},
                            {"output", What::Output}})
    if (r.has(name)) {
      ++kinds;
      rule.what = what;
      if (what == What::Operand || what == What::Result)
        rule.index = unsigned(r.number(name, 0));
    }
  bool ofLayer = rule.what == What::Input || rule.what == What::Output;
  rule.op = r.text("op");
  if (kinds != 1)
    r.fail("", "one of operand, result, mask, rows, input and output");
  else if (ofLayer != rule.op.empty())
    r.fail("op", ofLayer ? "none with input or output" : "the name of an op");
  rule.parameter = r.text("parameter");
  rule.madeBy = r.list("made_by");
  // There is no default: 0 is a meaningful choice that leaves the value out.
  rule.bytes = r.number("bytes", -1);
  if (rule.bytes < 0)
    r.fail("bytes", "a number of at least 0");
  rule.letters = r.texts("letters");
  for (const auto &[letter, other] : rule.letters)
    r.polynomial("letters", other);
  rule.why = r.text("why");
  return rule;
}

PublishedFigure readFigure(Reader r, std::optional<Error> &error) {
  r.known({"name", "what", "note", "needs", "lacks", "published",
           "published_bytes", "at", "plus", "counts"});
  PublishedFigure f;
  f.name = r.text("name", true);
  f.what = r.text("what");
  f.note = r.text("note");
  f.needs = r.list("needs");
  f.lacks = r.list("lacks");
  if (r.has("published"))
    f.published = r.polynomial("published", r.text("published"));
  if (r.has("published_bytes"))
    f.publishedBytes = r.number("published_bytes", 0);
  f.at = r.letters("at");
  f.plus = r.number("plus", 0);
  const Json &counts = r.array("counts");
  for (size_t i = 0; i < counts.size(); ++i)
    f.counts.push_back(
        readRule(Reader(counts[i], r.place("counts", i), error)));
  return f;
}

} // namespace

Result<Selection> parseSelection(const std::string &text,
                                 const std::string &name) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return Error{"is not JSON", name};
  std::optional<Error> error;
  Reader r(json, name, error);
  r.known({"publication", "about", "equal", "figures", "readings"});
  Selection s;
  s.name = name;
  s.publication = r.text("publication", true);
  s.about = r.text("about");
  for (const auto &[from, to] : r.texts("equal")) {
    Polynomial left = r.polynomial("equal", from),
               right = r.polynomial("equal", to);
    // inItsLetters() divides monomials by the left side, so that must be a
    // product of letters with coefficient 1.
    if (left.terms().size() == 1 && left.terms().begin()->second == 1 &&
        left.terms().begin()->first.degree() > 0)
      s.equal.push_back({left.terms().begin()->first, right});
    else
      r.fail("equal", "products of letters, found " + from);
  }
  const Json &figures = r.array("figures");
  for (size_t i = 0; i < figures.size(); ++i)
    s.figures.push_back(
        readFigure(Reader(figures[i], r.place("figures", i), error), error));
  const Json &readings = r.array("readings");
  for (size_t i = 0; i < readings.size(); ++i) {
    Reader one(readings[i], r.place("readings", i), error);
    one.known({"policy", "what", "bytes", "at", "needs", "why"});
    s.readings.push_back({one.text("policy", true), one.text("what", true),
                          one.text("why"), one.list("needs"),
                          one.number("bytes", 0), one.letters("at")});
    if (s.readings.back().what != "peak" && s.readings.back().what != "total")
      one.fail("what", "peak or total");
  }
  if (error)
    return *error;
  return s;
}

const std::vector<Selection> &knownSelections() {
  static const std::vector<Selection> list = [] {
    std::vector<Selection> out;
    for (const PaperFile &file : paperFiles)
      if (auto s = parseSelection(file.text, file.name))
        out.push_back(*s);
    return out;
  }();
  return list;
}

/// Rewrites a formula of this program in the publication's letters, for example
/// with "a*d" = "h": 4*b*s*a*d becomes 4*b*s*h. Formulas can be compared only
/// if both use the same letters.
Polynomial Selection::inItsLetters(const Polynomial &p) const {
  Polynomial out;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Monomial rest = monomial;
    Polynomial product = Polynomial::constant(coefficient);
    for (const auto &[from, to] : equal)
      // Bounded, because an empty `from` divides for ever.
      for (unsigned n = monomial.degree(); n > 0 && from.divides(rest); --n) {
        rest = from.quotient(rest);
        product *= to;
      }
    out += product * Polynomial::term(1, rest);
  }
  return out;
}

} // namespace act::report
