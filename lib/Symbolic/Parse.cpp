// SPDX-License-Identifier: Apache-2.0
//
// Formulas as text, by recursive descent. Sizes are bounded at every step: a
// short text such as (a+b)^32*(c+d)^32 has very many terms.
#include "lib/Symbolic/Parser.h"
#include <cctype>

namespace act::symbolic {
namespace {
constexpr int maxDepth = 64;
constexpr Coefficient maxExponent = 32;
constexpr size_t maxTerms = 4096;

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isLetter(char c) {
  return c == '_' || std::isalpha(static_cast<unsigned char>(c));
}
} // namespace

void Parser::skip() {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
    ++at;
}

bool Parser::accept(char c) {
  skip();
  if (at >= text.size() || text[at] != c)
    return false;
  ++at;
  return true;
}

bool Parser::acceptWord(std::string_view word) {
  skip();
  if (text.substr(at, word.size()) != word)
    return false;
  at += word.size();
  return true;
}

bool Parser::atEnd() {
  skip();
  return at == text.size();
}

Error Parser::error(const std::string &expected) {
  skip();
  std::string found = at < text.size()
                          ? "'" + std::string(text.substr(at, 1)) + "'"
                          : "the end";
  return Error{"expected " + expected + " in formula, found " + found,
               "column " + std::to_string(at + 1)};
}

Result<Coefficient> Parser::integer() {
  skip();
  if (at >= text.size() || !isDigit(text[at]))
    return error("a number");
  Coefficient value = 0;
  for (; at < text.size() && isDigit(text[at]); ++at)
    if (__builtin_mul_overflow(value, Coefficient(10), &value) ||
        __builtin_add_overflow(value, Coefficient(text[at] - '0'), &value))
      return error("a number below 2^127");
  return value;
}

Result<Polynomial> Parser::atom() {
  skip();
  if (accept('(')) {
    if (++depth > maxDepth)
      return error("at most 64 nested parentheses");
    auto inside = sum();
    if (!inside)
      return inside;
    if (!accept(')'))
      return error("')'");
    --depth;
    return inside;
  }
  if (at < text.size() && isLetter(text[at])) {
    size_t start = at;
    while (at < text.size() && (isLetter(text[at]) || isDigit(text[at])))
      ++at;
    return Polynomial::letter(std::string(text.substr(start, at - start)));
  }
  if (at < text.size() && isDigit(text[at])) {
    auto value = integer();
    if (!value)
      return value.error();
    return Polynomial::constant(*value);
  }
  return error("a number, a letter or '('");
}

Result<Polynomial> Parser::power() {
  auto base = atom();
  if (!base || !accept('^'))
    return base;
  auto exponent = integer();
  if (!exponent)
    return exponent.error();
  if (*exponent > maxExponent)
    return error("an exponent of at most 32");
  Polynomial result = 1;
  for (Coefficient i = 0; i < *exponent; ++i) {
    result *= *base;
    if (result.terms().size() > maxTerms)
      return error("a formula of at most 4096 terms");
  }
  return result;
}

Result<Polynomial> Parser::product() {
  auto result = power();
  while (result && accept('*')) {
    auto factor = power();
    if (!factor)
      return factor;
    *result *= *factor;
    if (result->terms().size() > maxTerms)
      return error("a formula of at most 4096 terms");
  }
  return result;
}

Result<Polynomial> Parser::sum() {
  Polynomial total;
  bool negative = accept('-');
  while (true) {
    auto part = product();
    if (!part)
      return part;
    total = negative ? total - *part : total + *part;
    if (total.terms().size() > maxTerms)
      return error("a formula of at most 4096 terms");
    if (accept('+'))
      negative = false;
    else if (accept('-'))
      negative = true;
    else
      return total;
  }
}

Result<Polynomial> Polynomial::parse(std::string_view text) {
  Parser parser(text);
  auto result = parser.sum();
  if (result && !parser.atEnd())
    return parser.error("'+', '-', '*' or the end");
  return result;
}

} // namespace act::symbolic
