// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over
//   sum    := ['-'] product (('+' | '-') product)*
//   product:= power ('*' power)*
//   power  := atom ['^' integer]
//   atom   := integer | letter | '(' sum ')'
// with limits on depth, exponent and terms, so that no text can make it hang.
#ifndef ACT_LIB_SYMBOLIC_PARSER_H
#define ACT_LIB_SYMBOLIC_PARSER_H
#include "act/Symbolic/Polynomial.h"

namespace act::symbolic {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}
  Result<Polynomial> sum();
  bool accept(char c);
  bool acceptWord(std::string_view word);
  bool atEnd();
  Error error(const std::string &expected);

private:
  Result<Polynomial> product();
  Result<Polynomial> power();
  Result<Polynomial> atom();
  Result<Coefficient> integer();
  void skip();
  std::string_view text;
  size_t at = 0;
  int depth = 0;
};

} // namespace act::symbolic
#endif
