// SPDX-License-Identifier: Apache-2.0
#include "act/Symbolic/Expr.h"
#include <gtest/gtest.h>
#include <random>

using namespace act;
using namespace act::symbolic;

namespace {

Polynomial p(const std::string &text) {
  auto r = Polynomial::parse(text);
  EXPECT_TRUE(bool(r)) << text << ": " << (r ? "" : r.error().str());
  return r ? *r : Polynomial();
}

TEST(Polynomial, PrintsThePublishedFormulas) {
  auto b = Polynomial::letter("b"), s = Polynomial::letter("s"),
       h = Polynomial::letter("h"), a = Polynomial::letter("a"),
       f = Polynomial::letter("h_ffn"), L = Polynomial::letter("L"),
       V = Polynomial::letter("V");
  // s*b*h*(34 + 5*a*s/h), the GPT layer, without its division.
  EXPECT_EQ((34 * s * b * h + 5 * a * s * s * b).str(), "b*s*(5*s*a + 34*h)");
  EXPECT_EQ((12 * b * s * h + 6 * b * s * f + 4 * b * s * a + 8 * b * s).str(),
            "b*s*(12*h + 4*a + 6*h_ffn + 8)");
  EXPECT_EQ((L * (12 * b * s * h + 8 * b * s) + 4 * b * s * V).str(),
            "b*s*(L*(12*h + 8) + 4*V)");
  EXPECT_EQ((8 * b * s * h + 2 * b * s * h * L + 7).str(),
            "b*s*h*(2*L + 8) + 7");
  EXPECT_EQ(Polynomial().str(), "0");
  EXPECT_EQ((b - 2 * s - 3).str(), "b - 2*s - 3");
  EXPECT_EQ((b * s).str({"s", "b"}), "s*b");
}

TEST(Polynomial, ArithmeticAgreesWithEvaluation) {
  std::mt19937 random(1);
  const std::vector<std::string> names = {"b", "s", "h", "L"};
  auto draw = [&] {
    Polynomial q;
    for (int t = 0; t < 4; ++t) {
      std::vector<std::string> letters;
      for (unsigned n = random() % 4; n > 0; --n)
        letters.push_back(names[random() % names.size()]);
      q += Polynomial::monomial(int(random() % 19) - 9, letters);
    }
    return q;
  };
  for (int i = 0; i < 300; ++i) {
    Polynomial x = draw(), y = draw();
    Letters v;
    for (const std::string &n : names)
      v[n] = 1 + random() % 9;
    int64_t vx = *x.evaluate(v), vy = *y.evaluate(v);
    EXPECT_EQ(*(x + y).evaluate(v), vx + vy);
    EXPECT_EQ(*(x - y).evaluate(v), vx - vy);
    EXPECT_EQ(*(x * y).evaluate(v), vx * vy);
    EXPECT_EQ(p(x.str()), x) << x.str();
    EXPECT_EQ(p((x * y).str()), x * y) << (x * y).str();
    EXPECT_TRUE((x - x).isZero());
    Letters rest = v;
    rest.erase("s");
    rest["L"] = v["L"];
    EXPECT_EQ(*x.substitute("s", y).evaluate(v), [&] {
      Letters w = v;
      w["s"] = vy;
      return *x.evaluate(w);
    }());
    if (x.dominates(y)) {
      for (int k = 0; k < 20; ++k) {
        for (const std::string &n : names)
          v[n] = 1 + random() % 5;
        EXPECT_GE(*x.evaluate(v), *y.evaluate(v)) << x.str() << " " << y.str();
      }
    }
  }
}

TEST(Polynomial, DominanceNeedsAProof) {
  EXPECT_TRUE(p("4*b*s*h").dominates(p("3*b*s + s")));
  EXPECT_FALSE(p("4*b*s*h").dominates(p("3*b*s + 2*s")));
  EXPECT_FALSE(p("b*h").dominates(p("s")));
  EXPECT_TRUE(p("b").dominates(p("b")));
  EXPECT_TRUE(p("b*s + b*h").dominates(p("2*b")));
}

TEST(Polynomial, OverflowIsAnErrorAndNeverWraps) {
  Polynomial x = Polynomial::constant(INT64_MAX);
  EXPECT_EQ(*x.evaluate({}), INT64_MAX);
  EXPECT_FALSE(bool((x + Polynomial(1)).evaluate({})));
  EXPECT_EQ(*(x + Polynomial(1) - Polynomial(1)).evaluate({}), INT64_MAX);
  Polynomial big = x * x * x;
  EXPECT_TRUE(big.overflowed());
  EXPECT_TRUE((big - big).overflowed());
  EXPECT_EQ(big.str(), "overflow");
  EXPECT_FALSE(bool(p("b*b*b").evaluate({{"b", 1LL << 62}})));
  auto missing = p("b*s").evaluate({{"b", 2}});
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(missing.error().message, "letter 's' of b*s has no value");
}

TEST(Polynomial, ParserRejectsWithAPlace) {
  for (const char *bad :
       {"", "b*", "b b", "(b", "b)", "b^33", "3^^2", "b+", "*b", "b^-1", "é",
        "99999999999999999999999999999999999999999999",
        "(a+b+c+d+e+f+g+h)^30"}) {
    auto r = Polynomial::parse(bad);
    ASSERT_FALSE(bool(r)) << bad;
    EXPECT_NE(r.error().where.find("column"), std::string::npos);
  }
  EXPECT_FALSE(bool(Polynomial::parse(std::string(100000, '('))));
  EXPECT_EQ(p("b*s*(34*h + 5*a*s) - 2^3"), p("34*b*h*s + 5*a*b*s^2 - 8"));
}

/// Any text is parsed or refused, and what is parsed survives a round trip.
TEST(Expr, ParserSurvivesDamage) {
  std::mt19937 random(17);
  const std::string whole = "max(b*s*(34*h + 5*a*s) - 2^3, L*(b + 7)^2*V)";
  const std::string alphabet = "bs9()^*+-, max\0";
  int parsed = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (unsigned k = 1 + random() % 3; k > 0; --k) {
      size_t at = random() % text.size();
      if (random() % 2)
        text.erase(at, 1 + random() % 3);
      else
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
    }
    auto e = Expr::parse(text);
    if (!e)
      continue;
    ++parsed;
    auto back = Expr::parse(e->str());
    ASSERT_TRUE(bool(back)) << e->str();
    EXPECT_EQ(*back, *e) << e->str();
  }
  EXPECT_GT(parsed, 200);
}

TEST(Expr, KeepsOnlyCandidatesThatMayWin) {
  Expr e = Expr::max({p("b*s*h"), p("b*s*V"), p("b*s"), p("2*b*s*h")});
  EXPECT_EQ(e.candidates().size(), 2u);
  EXPECT_EQ(e.str(), "max(b*s*V, 2*b*s*h)");
  EXPECT_EQ(*e.evaluate({{"b", 1}, {"s", 2}, {"h", 3}, {"V", 7}}), 14);
  EXPECT_EQ(*e.evaluate({{"b", 1}, {"s", 2}, {"h", 5}, {"V", 7}}), 20);
  EXPECT_EQ(*e.winner({{"b", 1}, {"s", 2}, {"h", 5}, {"V", 7}}), 1u);
  EXPECT_EQ((e + Expr(p("b*s"))).str(), "max(b*s*(V + 1), b*s*(2*h + 1))");
  EXPECT_EQ((e * p("2*L")).str(), "max(2*b*s*L*V, 4*b*s*h*L)");
  EXPECT_TRUE(e.substitute("V", p("h")).isPolynomial());
  auto back = Expr::parse(e.str());
  ASSERT_TRUE(bool(back));
  EXPECT_EQ(*back, e);
  EXPECT_FALSE(bool(Expr::parse("max(b, s")));
  EXPECT_FALSE(bool(Expr::parse("max(b, s) + 1")));
  EXPECT_EQ(Expr().str(), "0");
}

} // namespace
