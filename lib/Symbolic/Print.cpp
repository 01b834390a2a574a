// SPDX-License-Identifier: Apache-2.0
//
// Printing. Factors out of a sum the monomial that saves most letters, (terms
// it divides - 1) * degree, then does the same inside the parentheses and with
// the remaining terms.
#include "act/Symbolic/Polynomial.h"
#include <algorithm>

namespace act::symbolic {
namespace {

using Term = std::pair<Monomial, Coefficient>;

struct Printer {
  const Order &order;

  size_t rank(const std::string &letter) const {
    return std::find(order.begin(), order.end(), letter) - order.begin();
  }
  bool before(const std::string &x, const std::string &y) const {
    size_t rx = rank(x), ry = rank(y);
    return rx != ry ? rx < ry : x < y;
  }
  std::vector<std::pair<std::string, unsigned>>
  sorted(const Monomial &m) const {
    std::vector<std::pair<std::string, unsigned>> v(m.exponents().begin(),
                                                    m.exponents().end());
    std::sort(v.begin(), v.end(), [&](const auto &x, const auto &y) {
      return before(x.first, y.first);
    });
    return v;
  }
  /// High degree first, then in the order of the letters: s^2, s*a, h, a, 1.
  bool before(const Monomial &x, const Monomial &y) const {
    if (x.degree() != y.degree())
      return x.degree() > y.degree();
    auto vx = sorted(x), vy = sorted(y);
    for (size_t i = 0; i < std::min(vx.size(), vy.size()); ++i) {
      if (vx[i].first != vy[i].first)
        return before(vx[i].first, vy[i].first);
      if (vx[i].second != vy[i].second)
        return vx[i].second > vy[i].second;
    }
    return vx.size() < vy.size();
  }

  static std::string number(Coefficient c) {
    unsigned __int128 u = c < 0 ? -(unsigned __int128)c : c;
    std::string digits;
    do
      digits.insert(digits.begin(), char('0' + int(u % 10)));
    while (u /= 10);
    return (c < 0 ? "-" : "") + digits;
  }
  std::string letters(const Monomial &m) const {
    std::string text;
    for (const auto &[name, power] : sorted(m)) {
      text += (text.empty() ? "" : "*") + name;
      if (power > 1)
        text += "^" + std::to_string(power);
    }
    return text;
  }
  std::string term(const Term &t) const {
    std::string l = letters(t.first);
    if (l.empty())
      return number(t.second);
    if (t.second == 1 || t.second == -1)
      return (t.second < 0 ? "-" : "") + l;
    return number(t.second) + "*" + l;
  }
  static void append(std::string &text, const std::string &part) {
    if (text.empty())
      text = part;
    else if (part[0] == '-')
      text += " - " + part.substr(1);
    else
      text += " + " + part;
  }

  /// The best factor to pull out, or 1.
  Monomial bestFactor(const std::vector<Term> &terms) const {
    Monomial best;
    size_t bestGain = 0;
    auto consider = [&](const Monomial &g) {
      size_t count =
          std::count_if(terms.begin(), terms.end(),
                        [&](const Term &t) { return g.divides(t.first); });
      size_t gain = (count - 1) * g.degree();
      if (gain > bestGain || (gain == bestGain && gain > 0 && before(g, best)))
        best = g, bestGain = gain;
    };
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = i + 1; j < terms.size(); ++j)
        consider(Monomial::gcd(terms[i].first, terms[j].first));
    // A factor of all terms goes before a larger one of some terms.
    Monomial all = terms.front().first;
    for (const Term &t : terms)
      all = Monomial::gcd(all, t.first);
    return all.degree() > 0 && terms.size() > 1 ? all : best;
  }

  std::string sum(std::vector<Term> terms) const {
    std::sort(terms.begin(), terms.end(), [&](const Term &x, const Term &y) {
      return before(x.first, y.first);
    });
    std::string text;
    // Nobody reads more than a few dozen terms: print them flat.
    Monomial factor =
        terms.size() > 1 && terms.size() <= 64 ? bestFactor(terms) : Monomial();
    if (factor.degree() == 0) {
      for (const Term &t : terms)
        append(text, term(t));
      return text;
    }
    std::vector<Term> inside, rest;
    for (const Term &t : terms)
      if (factor.divides(t.first))
        inside.emplace_back(factor.quotient(t.first), t.second);
      else
        rest.push_back(t);
    append(text, letters(factor) + "*(" + sum(inside) + ")");
    if (!rest.empty())
      append(text, sum(rest));
    return text;
  }
};

} // namespace

std::string Monomial::str(const Order &order) const {
  return powers.empty() ? "1" : Printer{order}.letters(*this);
}

std::string Polynomial::str(const Order &order) const {
  if (poisoned)
    return "overflow";
  if (sum.empty())
    return "0";
  return Printer{order}.sum({sum.begin(), sum.end()});
}

} // namespace act::symbolic
