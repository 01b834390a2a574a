// SPDX-License-Identifier: Apache-2.0
//
// The view of a publication: its figures counted in this program, next to its
// formulas.
#include "act/Report/Paper.h"
#include "lib/Report/Json.h"
#include <fmt/format.h>

namespace act::report {
namespace {

using symbolic::Polynomial;

/// A file and figure name as one word, since "gpt-layer" would read as a
/// difference in a line of formulas.
std::string identifier(const std::string &prefix, const std::string &name) {
  std::string word = prefix;
  for (char c : name)
    word += isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return word;
}

/// Bytes with thousands separators; nothing if a letter has no size.
std::string bytesText(const Polynomial &p, const symbolic::Letters &letters) {
  auto value = p.evaluate(letters);
  if (!value)
    return "";
  return fmt::format(" = {} bytes ({})", *value, humanBytes(*value));
}

/// `each` for all layers of the program.
Polynomial allLayers(const PaperReport &r, const Polynomial &each) {
  return each * Polynomial::constant(r.right.layers.empty()
                                         ? 1
                                         : int64_t(r.right.layers.size()));
}

/// Whether the publication's equalities of letters hold for these sizes.
bool fits(const Selection &s, const symbolic::Letters &letters) {
  for (const auto &[from, to] : s.equal) {
    auto left = Polynomial::term(1, from).evaluate(letters),
         right = to.evaluate(letters);
    if (left && right && *left != *right)
      return false;
  }
  return true;
}

/// Whether the program has the sizes that a published number is for. A letter
/// that the program lacks does not match.
bool at(const symbolic::Letters &sizes, const symbolic::Letters &letters) {
  for (const auto &[letter, size] : sizes)
    if (auto it = letters.find(letter);
        it == letters.end() || it->second != size)
      return false;
  return true;
}

std::string parts(const std::vector<CountedFigure::Part> &list,
                  const char *head) {
  if (list.empty())
    return "";
  std::string text = fmt::format("    {}\n", head);
  size_t width = 0, wide = 0;
  for (const auto &p : list) {
    width = std::max(width, p.bytes.str().size());
    wide = std::max(wide, p.name.size());
  }
  for (const auto &p : list) {
    std::string line = fmt::format("      {:<{}}  {:<{}}  {}", p.bytes.str(),
                                   width, p.name, wide, p.why);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// Figures are of one layer, so they are compared with the first layer. A
/// program without layers is compared as a whole.
const Formula &rightFormula(const PaperReport &r) {
  return r.right.layers.empty() ? r.right.retained
                                : r.right.layers.front().retained;
}
int64_t rightBytes(const PaperReport &r) {
  return r.right.layers.empty() ? r.right.retainedBytes
                                : r.right.layers.front().retainedBytes;
}

std::string figureText(const PaperReport &r, const CountedFigure &f) {
  std::string text = fmt::format("\n  {}: {}\n", f.figure.name, f.figure.what);
  text += fmt::format("    counted    {}{}\n", f.counted.str(),
                      bytesText(f.counted, r.right.letters));
  if (f.figure.published)
    text += fmt::format("    published  {}{}\n", f.figure.published->str(),
                        f.counted == *f.figure.published ? ", the same"
                                                         : ", which differs");
  if (r.right.layers.size() > 1)
    text += fmt::format("    all layers {}{}\n", r.right.layers.size(),
                        bytesText(allLayers(r, f.counted), r.right.letters));
  if (f.figure.publishedBytes && at(f.figure.at, r.right.letters))
    text += fmt::format("    published  {} bytes for these sizes\n",
                        *f.figure.publishedBytes);
  text += fmt::format(
      "    kept       {} = {} bytes ({}) by this program, remat={}\n",
      rightFormula(r).known ? rightFormula(r).bytes.str() : "-", rightBytes(r),
      humanBytes(rightBytes(r)), r.policy);
  if (!f.figure.note.empty())
    text += fmt::format("    note       {}\n", f.figure.note);
  text += parts(f.parts, "counts");
  text += parts(f.omits, "omits, though it is kept");
  text += parts(f.adds, "of these not kept by this program");
  return text;
}

std::string readingText(const PaperReport &r, const Reading &reading) {
  int64_t here =
      reading.what == "peak" ? r.right.peakBytes : r.right.totalPeakBytes;
  return fmt::format("\n  read: {} with {}: published {} bytes, this program "
                     "{} bytes ({})\n    {}\n",
                     reading.what, r.policy, reading.bytes, here,
                     humanBytes(here), reading.why);
}

Json partsJson(const std::vector<CountedFigure::Part> &list,
               const symbolic::Letters &letters) {
  Json out = Json::array();
  for (const auto &p : list) {
    auto bytes = p.bytes.evaluate(letters);
    out.push_back({{"value", p.name},
                   {"formula", p.bytes.str()},
                   {"bytes", bytes ? Json(*bytes) : Json(nullptr)},
                   {"why", p.why}});
  }
  return out;
}

Json figureJson(const PaperReport &r, const CountedFigure &f) {
  auto bytes = f.counted.evaluate(r.right.letters);
  auto all = allLayers(r, f.counted).evaluate(r.right.letters);
  bool same = f.figure.published && f.counted == *f.figure.published;
  return {{"name", f.figure.name},
          {"what", f.figure.what},
          {"note", f.figure.note},
          {"formula", f.counted.str()},
          {"bytes", bytes ? Json(*bytes) : Json(nullptr)},
          {"all_layers_bytes", all ? Json(*all) : Json(nullptr)},
          {"published_formula", f.figure.published
                                    ? Json(f.figure.published->str())
                                    : Json(nullptr)},
          {"agrees", f.figure.published ? Json(same) : Json(nullptr)},
          {"published_bytes",
           f.figure.publishedBytes && at(f.figure.at, r.right.letters)
               ? Json(*f.figure.publishedBytes)
               : Json(nullptr)},
          {"counts", partsJson(f.parts, r.right.letters)},
          {"omits",
           r.omitsKnown ? partsJson(f.omits, r.right.letters) : Json(nullptr)},
          {"adds",
           r.omitsKnown ? partsJson(f.adds, r.right.letters) : Json(nullptr)}};
}

/// A reading was measured at some sizes with one recomputation policy. Next to
/// any other program it would say nothing.
bool applies(const PaperReport &r, const Reading &reading) {
  return reading.policy == r.policy && at(reading.at, r.right.letters);
}

} // namespace

std::string toText(const PaperReport &r) {
  std::string text =
      fmt::format("{} @{}, view paper\n", r.right.model, r.right.function);
  for (const auto &p : r.publications) {
    text +=
        fmt::format("\n{}: {}\n", p.selection.name, p.selection.publication);
    if (!p.selection.about.empty())
      text += "  " + p.selection.about + "\n";
    for (const auto &[from, to] : p.selection.equal)
      text += fmt::format("  it writes {} for {}\n", to.str(), from.str());
    if (!fits(p.selection, r.right.letters))
      text += "  these are not equal here: its formulas are of another model\n";
    for (const CountedFigure &f : p.figures)
      text += figureText(r, f);
    for (const Reading &reading : p.selection.readings)
      if (applies(r, reading))
        text += readingText(r, reading);
  }
  if (!r.omitsKnown)
    text += "\nnote: what a layer keeps under this policy is in no one "
            "function, so nothing says "
            "what is omitted\n";
  return text;
}

Json paperJson(const PaperReport &r) {
  Json list = Json::array();
  for (const auto &p : r.publications) {
    Json figures = Json::array(), readings = Json::array(),
         writes = Json::object();
    for (const auto &[from, to] : p.selection.equal)
      writes[from.str()] = to.str();
    for (const CountedFigure &f : p.figures)
      figures.push_back(figureJson(r, f));
    for (const Reading &reading : p.selection.readings)
      if (applies(r, reading))
        readings.push_back(
            {{"policy", reading.policy},
             {"what", reading.what},
             {"published_bytes", reading.bytes},
             {"bytes", reading.what == "peak" ? r.right.peakBytes
                                              : r.right.totalPeakBytes},
             {"why", reading.why}});
    list.push_back({{"selection", p.selection.name},
                    {"publication", p.selection.publication},
                    {"about", p.selection.about},
                    {"writes", writes},
                    {"letters_fit", fits(p.selection, r.right.letters)},
                    {"figures", figures},
                    {"readings", readings}});
  }
  const Formula &layer = rightFormula(r);
  return {{"view", "paper"},
          {"model", r.right.model},
          {"function", r.right.function},
          {"letters", r.right.letters},
          {"policy", r.policy},
          {"layer_retained_bytes", rightBytes(r)},
          {"layer_retained_formula",
           layer.known ? Json(layer.bytes.str()) : Json(nullptr)},
          {"retained_bytes", r.right.retainedBytes},
          {"peak_bytes", r.right.peakBytes},
          {"total_peak_bytes", r.right.totalPeakBytes},
          {"publications", list}};
}

std::string toJson(const PaperReport &r) {
  return dump(paperJson(r), 1) + "\n";
}

std::string toFormulas(const PaperReport &r) {
  std::string text;
  for (const auto &p : r.publications)
    for (const CountedFigure &f : p.figures) {
      std::string name = identifier("paper_", p.selection.name) +
                         identifier("_", f.figure.name);
      text += name + " = " + f.counted.str() + "\n";
      if (f.figure.published)
        text += name + "_published = " + f.figure.published->str() + "\n";
    }
  if (rightFormula(r).known)
    text += "layer_saved = " + rightFormula(r).bytes.str() + "\n";
  return text;
}

} // namespace act::report
