// SPDX-License-Identifier: Apache-2.0
//
// Formulas for programs, one per line, in the model's letters only. Letters
// that passes chose become numbers, and a half letter is expressed by its
// letter.
#include "act/Report/MemoryReport.h"
#include <algorithm>
#include <set>

namespace act::report {
namespace {

using symbolic::Expr;
using symbolic::Polynomial;

/// `p` with letter^n / 2^n for each half^n; `p` itself where that leaves
/// halves.
Polynomial withoutHalf(const Polynomial &p, const std::string &half,
                       const std::string &letter) {
  Polynomial out;
  for (const auto &[monomial, coefficient] : p.terms()) {
    std::vector<std::string> factors;
    symbolic::Coefficient c = coefficient;
    for (const auto &[name, power] : monomial.exponents())
      for (unsigned i = 0; i < power; ++i) {
        factors.push_back(name == half ? letter : name);
        if (name == half && c % 2 != 0)
          return p;
        if (name == half)
          c /= 2;
      }
    out += Polynomial::term(c, symbolic::Monomial(factors));
  }
  return out;
}

class Writer {
public:
  explicit Writer(const MemoryReport &r) : r(r) {}
  std::string run();

private:
  void line(const std::string &name, const Expr &e) {
    text += name + " = " + inLetters(e).str() + "\n";
  }
  void line(const std::string &name, const Formula &f) {
    if (f.known)
      line(name, f.bytes);
  }
  Expr inLetters(const Expr &e) const;
  void layers();
  void savedOf(int layer, const std::string &prefix);
  std::string unique(const std::string &prefix, const std::string &name);

  const MemoryReport &r;
  std::string text;
  std::set<std::string> names;
};

Expr Writer::inLetters(const Expr &e) const {
  std::vector<Polynomial> list;
  for (Polynomial p : e.candidates()) {
    p = p.bind(r.chosen);
    for (const auto &[half, letter] : r.halves)
      p = withoutHalf(p, half, letter);
    list.push_back(p);
  }
  return Expr::max(list);
}

/// A unique identifier made from `name`, numbered if it exists already.
std::string Writer::unique(const std::string &prefix, const std::string &name) {
  std::string word = prefix;
  for (char c : name)
    word += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                    (c >= 'A' && c <= 'Z')
                ? c
                : '_';
  std::string found = word;
  for (int i = 2; !names.insert(found).second; ++i)
    found = word + "_" + std::to_string(i);
  return found;
}

void Writer::savedOf(int layer, const std::string &prefix) {
  for (const SavedValue &v : r.saved) {
    if (v.layer != layer)
      continue;
    if (auto bytes = Polynomial::parse(v.formula))
      line(unique(prefix, v.name), Expr(*bytes));
  }
}

/// Equal consecutive layers are written once.
void Writer::layers() {
  std::vector<std::pair<const Layer *, int>>
      kinds; // the first, the last's index
  for (const Layer &l : r.layers) {
    const Layer *like = kinds.empty() ? nullptr : kinds.back().first;
    if (like && like->name == l.name && like->variant == l.variant &&
        like->retained.bytes == l.retained.bytes &&
        like->peak.bytes == l.peak.bytes)
      kinds.back().second = l.index;
    else
      kinds.push_back({&l, l.index});
  }
  if (kinds.size() > 1) { // layer_saved and layer_peak are maxima
    Expr saved, peak;
    for (auto [l, last] : kinds) {
      saved = Expr::max(saved, l->retained.bytes);
      peak = Expr::max(peak, l->peak.bytes);
    }
    line("layer_saved", {saved, 0, kinds[0].first->retained.known});
    line("layer_peak", {peak, 0, kinds[0].first->peak.known});
  }
  for (auto [l, last] : kinds) {
    std::string name = "layer";
    if (kinds.size() > 1)
      name = l->index == last ? "layer_" + std::to_string(last)
                              : "layers_" + std::to_string(l->index) + "_" +
                                    std::to_string(last);
    line(name + "_saved", l->retained);
    line(name + "_peak", l->peak);
    savedOf(l->index, name + "_saved_");
  }
}

std::string Writer::run() {
  line("model_saved", r.retained);
  line("model_peak", r.peak);
  line("model_alignment", r.alignment);
  if (r.layers.empty()) {
    line("layer_saved", r.retained);
    line("layer_peak", r.peak);
    savedOf(noLayer, "layer_saved_");
  } else {
    layers();
    savedOf(noLayer, "model_saved_");
  }
  if (!text.empty())
    for (const MemoryReport::Condition &c : r.conditions)
      line("holds_" + c.name, Expr(Polynomial::constant(c.value)));
  return text;
}

} // namespace

std::string toFormulas(const MemoryReport &report) {
  return Writer(report).run();
}

} // namespace act::report
