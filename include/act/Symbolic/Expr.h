// SPDX-License-Identifier: Apache-2.0
//
// A formula that may depend on which candidate is the largest.
//
// A peak is the largest of several sums, and which one that is depends on the
// letters: it may be in a layer, in attention's backward, or at the end, in the
// loss. Such a value is a max of polynomials and is printed as such:
//
//   Expr peak = Expr::max({inLayer, inLoss});
//   peak.str();  // max(b*s*h*(2*L + 34), b*s*(2*h*L + 8*V))
//
// A candidate that another one provably dominates for all letters is dropped
// (Polynomial::dominates), so only candidates that may win are printed. The sum
// of two maxima is the max of all pairwise sums.
#ifndef ACT_SYMBOLIC_EXPR_H
#define ACT_SYMBOLIC_EXPR_H
#include "act/Symbolic/Polynomial.h"

namespace act::symbolic {

class Expr {
public:
  Expr() : list{Polynomial()} {}
  Expr(Polynomial p) : list{std::move(p)} {}
  static Expr max(const std::vector<Polynomial> &candidates);
  static Expr max(const Expr &x, const Expr &y);
  /// "max(p, q, ...)" or a polynomial.
  static Result<Expr> parse(std::string_view text);

  /// Never empty; no candidate provably dominates another.
  const std::vector<Polynomial> &candidates() const { return list; }
  bool isPolynomial() const { return list.size() == 1; }

  Expr operator+(const Expr &o) const;
  /// Every letter is positive, so a factor without negative coefficients keeps
  /// the order of the candidates; any other factor is a programming error.
  Expr operator*(const Polynomial &factor) const;
  bool operator==(const Expr &o) const;
  bool operator!=(const Expr &o) const { return !(*this == o); }

  Result<int64_t> evaluate(const Letters &letters) const;
  /// Index of the candidate that is largest for these letters.
  Result<size_t> winner(const Letters &letters) const;
  Expr substitute(const std::string &letter, const Polynomial &value) const;
  std::string str(const Order &order = defaultOrder()) const;

private:
  std::vector<Polynomial> list;
};

} // namespace act::symbolic
#endif
