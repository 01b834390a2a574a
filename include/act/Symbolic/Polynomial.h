// SPDX-License-Identifier: Apache-2.0
//
// Formulas in letters: the bytes of a tensor of shape [b, s, h] for any b.
//
// A Polynomial is a sum of integer multiples of monomials in named letters. The
// letters stand for sizes, so they are positive integers. This makes statements
// such as "4*b*s*h is never below 2*b*s" provable (see Expr.h).
//
//   auto b = Polynomial::letter("b"), s = Polynomial::letter("s"),
//        h = Polynomial::letter("h"), a = Polynomial::letter("a");
//   auto kept = 34 * b * s * h + 5 * a * b * s * s;
//   kept.str();                                    // b*s*(5*s*a + 34*h)
//   *kept.evaluate({{"b",1},{"s",1024},{"h",768},{"a",12}}); // 89653248
//
// Invariants: no zero coefficient and no zero exponent is stored, so equal
// polynomials are equal member by member. Coefficients are 128 bits wide. A
// larger one makes the polynomial overflowed(): it stays so through + and *,
// prints as "overflow" and evaluates to an error. Nothing wraps.
#ifndef ACT_SYMBOLIC_POLYNOMIAL_H
#define ACT_SYMBOLIC_POLYNOMIAL_H
#include "act/Result.h"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace act::symbolic {

using Coefficient = __int128;
/// The value of each letter.
using Letters = std::map<std::string, int64_t>;
/// Printing order of the letters; others follow alphabetically.
using Order = std::vector<std::string>;
/// b, s, h, a, d.
const Order &defaultOrder();

/// A product of letters with positive exponents; empty is 1.
class Monomial {
public:
  Monomial() = default;
  explicit Monomial(const std::vector<std::string> &letters);
  const std::map<std::string, unsigned> &exponents() const { return powers; }
  unsigned degree() const;
  bool divides(const Monomial &other) const;
  /// other / *this; *this must divide other.
  Monomial quotient(const Monomial &other) const;
  Monomial operator*(const Monomial &other) const;
  static Monomial gcd(const Monomial &x, const Monomial &y);
  bool operator==(const Monomial &o) const { return powers == o.powers; }
  bool operator<(const Monomial &o) const { return powers < o.powers; }
  std::string str(const Order &order = defaultOrder()) const;

private:
  std::map<std::string, unsigned> powers;
};

class Polynomial {
public:
  Polynomial() = default;
  Polynomial(int64_t value) { *this = constant(value); } // 2 * b reads well
  static Polynomial constant(Coefficient value);
  static Polynomial letter(const std::string &name);
  static Polynomial monomial(Coefficient coefficient,
                             const std::vector<std::string> &letters);
  static Polynomial term(Coefficient coefficient, Monomial monomial);
  /// Reads what str() prints, and any sums, differences, products, powers and
  /// parentheses: "b*s*(34*h + 5*a*s) - 2^3".
  static Result<Polynomial> parse(std::string_view text);

  const std::map<Monomial, Coefficient> &terms() const { return sum; }
  bool isZero() const { return sum.empty() && !poisoned; }
  bool overflowed() const { return poisoned; }

  Polynomial operator+(const Polynomial &o) const;
  Polynomial operator-(const Polynomial &o) const;
  Polynomial operator*(const Polynomial &o) const;
  Polynomial &operator+=(const Polynomial &o) { return *this = *this + o; }
  Polynomial &operator*=(const Polynomial &o) { return *this = *this * o; }
  bool operator==(const Polynomial &o) const {
    return sum == o.sum && poisoned == o.poisoned;
  }
  bool operator!=(const Polynomial &o) const { return !(*this == o); }

  /// Every letter needs a value. A result or intermediate value outside int64
  /// is an error that prints the polynomial.
  Result<int64_t> evaluate(const Letters &letters) const;
  Polynomial substitute(const std::string &letter,
                        const Polynomial &value) const;
  /// Substitutes every letter that has a value and keeps the others.
  Polynomial bind(const Letters &letters) const;

  /// True when *this >= o is provable for all positive integer letters: every
  /// negative term of the difference is covered by positive terms that it
  /// divides (h*b*s >= b*s). Sound, not complete: false means "not proven".
  bool dominates(const Polynomial &o) const;

  /// Common monomials are factored out: b*s*(12*h + 4*a + 8).
  std::string str(const Order &order = defaultOrder()) const;

private:
  void add(const Monomial &m, Coefficient c);
  std::map<Monomial, Coefficient> sum;
  bool poisoned = false;
};

inline Polynomial operator*(int64_t c, const Polynomial &p) {
  return Polynomial::constant(c) * p;
}

} // namespace act::symbolic
#endif
