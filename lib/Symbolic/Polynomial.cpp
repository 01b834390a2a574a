// SPDX-License-Identifier: Apache-2.0
//
// Sums of monomials. An overflow is remembered and not reported at once, so
// that arithmetic needs no error paths; evaluating or printing returns it.
#include "act/Symbolic/Polynomial.h"
#include <algorithm>
#include <limits>

namespace act::symbolic {

const Order &defaultOrder() {
  static const Order order = {"b", "s", "h", "a", "d"};
  return order;
}

Monomial::Monomial(const std::vector<std::string> &letters) {
  for (const std::string &l : letters)
    ++powers[l];
}

unsigned Monomial::degree() const {
  unsigned sum = 0;
  for (const auto &p : powers)
    sum += p.second;
  return sum;
}

bool Monomial::divides(const Monomial &other) const {
  return std::all_of(powers.begin(), powers.end(), [&](const auto &p) {
    auto it = other.powers.find(p.first);
    return it != other.powers.end() && it->second >= p.second;
  });
}

Monomial Monomial::quotient(const Monomial &other) const {
  Monomial q = other;
  for (const auto &p : powers) {
    auto it = q.powers.find(p.first);
    if ((it->second -= p.second) == 0)
      q.powers.erase(it);
  }
  return q;
}

Monomial Monomial::operator*(const Monomial &other) const {
  Monomial product = *this;
  for (const auto &p : other.powers)
    product.powers[p.first] += p.second;
  return product;
}

Monomial Monomial::gcd(const Monomial &x, const Monomial &y) {
  Monomial g;
  for (const auto &p : x.powers) {
    auto it = y.powers.find(p.first);
    if (it != y.powers.end())
      g.powers[p.first] = std::min(p.second, it->second);
  }
  return g;
}

Polynomial Polynomial::constant(Coefficient value) {
  return term(value, Monomial());
}
Polynomial Polynomial::letter(const std::string &name) {
  return term(1, Monomial({name}));
}
Polynomial Polynomial::monomial(Coefficient coefficient,
                                const std::vector<std::string> &letters) {
  return term(coefficient, Monomial(letters));
}
Polynomial Polynomial::term(Coefficient coefficient, Monomial monomial) {
  Polynomial p;
  p.add(monomial, coefficient);
  return p;
}

void Polynomial::add(const Monomial &m, Coefficient c) {
  if (c == 0)
    return;
  auto [it, isNew] = sum.emplace(m, c);
  if (isNew)
    return;
  poisoned |= __builtin_add_overflow(it->second, c, &it->second);
  if (it->second == 0)
    sum.erase(it);
}

Polynomial Polynomial::operator+(const Polynomial &o) const {
  Polynomial r = *this;
  r.poisoned |= o.poisoned;
  for (const auto &[m, c] : o.sum)
    r.add(m, c);
  return r;
}

Polynomial Polynomial::operator-(const Polynomial &o) const {
  return *this + o * constant(-1);
}

Polynomial Polynomial::operator*(const Polynomial &o) const {
  Polynomial r;
  r.poisoned = poisoned || o.poisoned;
  for (const auto &[m, c] : sum)
    for (const auto &[n, d] : o.sum) {
      Coefficient product = 0;
      r.poisoned |= __builtin_mul_overflow(c, d, &product);
      r.add(m * n, product);
    }
  return r;
}

Result<int64_t> Polynomial::evaluate(const Letters &letters) const {
  Error overflow{"value of " + str() + " does not fit in 64 bits", ""};
  if (poisoned)
    return overflow;
  Coefficient total = 0;
  for (const auto &[m, c] : sum) {
    Coefficient value = c;
    for (const auto &[name, power] : m.exponents()) {
      auto it = letters.find(name);
      if (it == letters.end())
        return Error{"letter '" + name + "' of " + str() + " has no value", ""};
      for (unsigned i = 0; i < power; ++i)
        if (__builtin_mul_overflow(value, Coefficient(it->second), &value))
          return overflow;
    }
    if (__builtin_add_overflow(total, value, &total))
      return overflow;
  }
  if (total > std::numeric_limits<int64_t>::max() ||
      total < std::numeric_limits<int64_t>::min())
    return overflow;
  return int64_t(total);
}

Polynomial Polynomial::substitute(const std::string &letter,
                                  const Polynomial &value) const {
  Polynomial r;
  r.poisoned = poisoned;
  for (const auto &[m, c] : sum) {
    auto it = m.exponents().find(letter);
    if (it == m.exponents().end()) {
      r.add(m, c);
      continue;
    }
    Monomial power(std::vector<std::string>(it->second, letter));
    Polynomial product = term(c, power.quotient(m));
    for (unsigned i = 0; i < it->second; ++i)
      product *= value;
    r += product;
  }
  return r;
}

Polynomial Polynomial::bind(const Letters &letters) const {
  Polynomial r = *this;
  for (const auto &[name, value] : letters)
    r = r.substitute(name, constant(value));
  return r;
}

/// Letters are at least 1, so a term is at least as large as any term that
/// divides it. The difference is never negative if each of its negative terms
/// can be paid out of positive ones that it divides. A sufficient test, not a
/// necessary one.
bool Polynomial::dominates(const Polynomial &o) const {
  if (poisoned || o.poisoned)
    return false;
  Polynomial difference = *this - o;
  if (difference.poisoned)
    return false;
  // Any assignment that covers all negative terms is a proof. Debts (negative
  // terms) of high degree have the fewest payers, so they choose first. They
  // take the payer of lowest degree, which is least useful to the others.
  std::vector<std::pair<Monomial, Coefficient>> debts, payers;
  for (const auto &[m, c] : difference.sum)
    (c < 0 ? debts : payers).emplace_back(m, c < 0 ? -c : c);
  auto lowFirst = [](const auto &x, const auto &y) {
    unsigned dx = x.first.degree(), dy = y.first.degree();
    return dx != dy ? dx < dy : x.first < y.first;
  };
  std::sort(payers.begin(), payers.end(), lowFirst);
  std::sort(debts.rbegin(), debts.rend(), lowFirst);
  for (auto &[m, debt] : debts) {
    for (auto &[n, wealth] : payers) {
      if (!m.divides(n))
        continue;
      Coefficient paid = std::min(debt, wealth);
      debt -= paid;
      wealth -= paid;
    }
    if (debt > 0)
      return false;
  }
  return true;
}

} // namespace act::symbolic
