// SPDX-License-Identifier: Apache-2.0
//
// Maxima of polynomials (Expr.h).
#include "act/Symbolic/Expr.h"
#include "lib/Symbolic/Parser.h"
#include <algorithm>
#include <cassert>

namespace act::symbolic {

/// Drops a candidate only if another one is at least as large for all letters,
/// so the value never depends on which were dropped.
Expr Expr::max(const std::vector<Polynomial> &candidates) {
  Expr e;
  e.list.clear();
  for (const Polynomial &p : candidates) {
    auto beatsP = [&](const Polynomial &q) { return q.dominates(p); };
    if (std::any_of(e.list.begin(), e.list.end(), beatsP))
      continue;
    e.list.erase(
        std::remove_if(e.list.begin(), e.list.end(),
                       [&](const Polynomial &q) { return p.dominates(q); }),
        e.list.end());
    e.list.push_back(p);
  }
  if (e.list.empty())
    e.list.emplace_back();
  return e;
}

Expr Expr::max(const Expr &x, const Expr &y) {
  std::vector<Polynomial> all = x.list;
  all.insert(all.end(), y.list.begin(), y.list.end());
  return max(all);
}

Expr Expr::operator+(const Expr &o) const {
  std::vector<Polynomial> sums;
  for (const Polynomial &p : list)
    for (const Polynomial &q : o.list)
      sums.push_back(p + q);
  return max(sums);
}

Expr Expr::operator*(const Polynomial &factor) const {
  assert(std::all_of(factor.terms().begin(), factor.terms().end(),
                     [](const auto &t) { return t.second > 0; }) &&
         "a negative factor turns a max into a min");
  std::vector<Polynomial> products;
  for (const Polynomial &p : list)
    products.push_back(p * factor);
  return max(products);
}

bool Expr::operator==(const Expr &o) const {
  return list.size() == o.list.size() &&
         std::is_permutation(list.begin(), list.end(), o.list.begin());
}

Result<size_t> Expr::winner(const Letters &letters) const {
  size_t best = 0;
  int64_t bestValue = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    auto value = list[i].evaluate(letters);
    if (!value)
      return value.error();
    if (i == 0 || *value > bestValue)
      best = i, bestValue = *value;
  }
  return best;
}

Result<int64_t> Expr::evaluate(const Letters &letters) const {
  auto best = winner(letters);
  if (!best)
    return best.error();
  return list[*best].evaluate(letters);
}

Expr Expr::substitute(const std::string &letter,
                      const Polynomial &value) const {
  std::vector<Polynomial> result;
  for (const Polynomial &p : list)
    result.push_back(p.substitute(letter, value));
  return max(result);
}

std::string Expr::str(const Order &order) const {
  if (isPolynomial())
    return list.front().str(order);
  std::string text;
  for (const Polynomial &p : list)
    text += (text.empty() ? "max(" : ", ") + p.str(order);
  return text + ")";
}

Result<Expr> Expr::parse(std::string_view text) {
  Parser parser(text);
  std::vector<Polynomial> candidates;
  bool isMax = parser.acceptWord("max(");
  do {
    auto p = parser.sum();
    if (!p)
      return p.error();
    candidates.push_back(std::move(*p));
  } while (isMax && parser.accept(','));
  if (isMax && !parser.accept(')'))
    return parser.error("',' or ')'");
  if (!parser.atEnd())
    return parser.error("the end");
  return max(candidates);
}

} // namespace act::symbolic
