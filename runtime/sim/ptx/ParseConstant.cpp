// SPDX-License-Identifier: Apache-2.0
//
// Constant expressions: 64-bit integers, signed or not, and doubles (PTX ISA,
// "Integer Constant Expression Evaluation").
#include "runtime/sim/ptx/ModuleParser.h"
#include <cstring>

namespace act::runtime::ptx {
namespace {

double asDouble(const Constant &c) {
  double value;
  memcpy(&value, &c.bits, sizeof value);
  return value;
}

Constant ofDouble(double value) {
  Constant c{Constant::Double, 0};
  memcpy(&c.bits, &value, sizeof value);
  return c;
}

Constant ofBool(bool value) { return {Constant::Signed, value ? 1u : 0u}; }

int precedence(const Token &token) {
  if (token.kind != Token::Symbol)
    return 0;
  static constexpr struct {
    std::string_view symbol;
    int precedence;
  } table[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
               {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
               {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
  for (const auto &row : table)
    if (token.text == row.symbol)
      return row.precedence;
  return 0;
}
constexpr int additive = 9;

} // namespace

/// The lexer cannot tell ".5" from a modifier, since both are a dot and letters
/// or digits. Where a constant may stand, it is a number.
bool ModuleParser::startsConstant() const {
  switch (token.kind) {
  case Token::Integer:
  case Token::Double:
  case Token::Single:
    return true;
  case Token::Word:
    return token.text == "WARP_SZ";
  case Token::Dotted: // .5
    return token.word[0] >= '0' && token.word[0] <= '9';
  case Token::Symbol:
    return token.is("-") || token.is("+") || token.is("~") || token.is("(") ||
           token.is("!");
  default:
    return false;
  }
}

bool ModuleParser::parseConstant(Constant &value) {
  if (!enter(token) || !parseBinary(value, 1))
    return false;
  if (token.is("?")) {
    Token question = token;
    Constant yes, no;
    advance();
    if (!parseConstant(yes) || !expect(":", "a choice of '?'") ||
        !parseConstant(no))
      return false;
    if (!value.isInteger() || yes.isInteger() != no.isInteger())
      return fail(question, "'?' needs an integer and two choices of one kind");
    // As in C, the result has the common type of both choices, whichever is
    // taken.
    bool isUnsigned = yes.isInteger() && (yes.kind == Constant::Unsigned ||
                                          no.kind == Constant::Unsigned);
    value = value.bits ? yes : no;
    if (isUnsigned)
      value.kind = Constant::Unsigned;
  }
  --depth;
  return true;
}

/// Precedence climbing: the right operand takes only operators that bind more
/// tightly, so equal ones group from the left.
bool ModuleParser::parseBinary(Constant &value, int leastPrecedence) {
  if (!parseUnary(value))
    return false;
  while (int p = precedence(token)) {
    if (p < leastPrecedence)
      break;
    Token op = token;
    Constant right;
    advance();
    if (!parseBinary(right, p + 1) || !combine(op, value, right))
      return false;
  }
  return true;
}

/// Operators and casts in front of a constant. Numbers given as 0f keep their
/// 32 bits and are not allowed in expressions (PTX ISA, "Floating-Point
/// Constants").
bool ModuleParser::parseUnary(Constant &value) {
  Token op = token;
  bool isCast =
      token.is("(") && (peek().isDotted("s64") || peek().isDotted("u64"));
  if (!isCast && !op.is("-") && !op.is("+") && !op.is("~") && !op.is("!"))
    return parsePrimary(value);
  if (!enter(op))
    return false;
  advance();
  Constant::Kind castTo =
      token.isDotted("u64") ? Constant::Unsigned : Constant::Signed;
  if (isCast) {
    advance();
    if (!expect(")", "the type of a cast"))
      return false;
  }
  if (!parseUnary(value))
    return false;
  --depth;
  if (value.kind == Constant::Single)
    return fail(op, "'" + std::string(op.text) +
                        "' does not apply to a number given as 0f");
  if (op.is("-")) {
    if (value.isInteger())
      value.bits = 0 - value.bits;
    else
      value.bits ^= uint64_t(1) << 63;
    return true;
  }
  if (op.is("+"))
    return true;
  if (!value.isInteger())
    return fail(op, "'" + std::string(op.text) + "' needs an integer");
  if (isCast)
    value.kind = castTo;
  else if (op.is("~"))
    value = {Constant::Unsigned, ~value.bits};
  else
    value = ofBool(value.bits == 0);
  return true;
}

bool ModuleParser::parsePrimary(Constant &value) {
  if (token.kind == Token::Dotted && startsConstant())
    token = lexer.asNumber(token);
  switch (token.kind) {
  case Token::Integer:
    value = {token.isUnsigned ? Constant::Unsigned : Constant::Signed,
             token.bits};
    break;
  case Token::Double:
    value = {Constant::Double, token.bits};
    break;
  case Token::Single:
    value = {Constant::Single, token.bits};
    break;
  case Token::Word:
    if (token.text != "WARP_SZ")
      return failExpected("a constant");
    value = {Constant::Signed, 32};
    break;
  default:
    if (!accept("("))
      return failExpected("a constant");
    return parseConstant(value) && expect(")", "a constant expression");
  }
  advance();
  return true;
}

/// Applies a binary operator to `left` in place. PTX converts operands as C
/// does: if one is unsigned, so is the operation. There are no mixed operations
/// of integers and doubles.
bool ModuleParser::combine(const Token &op, Constant &left,
                           const Constant &right) {
  std::string_view s = op.text;
  if (left.kind == Constant::Single || right.kind == Constant::Single ||
      left.isInteger() != right.isInteger())
    return fail(op,
                "'" + std::string(s) + "' needs two integers or two doubles");
  if (!left.isInteger()) {
    double a = asDouble(left), b = asDouble(right);
    if (s == "+" || s == "-" || s == "*" || s == "/")
      left = ofDouble(s == "+"   ? a + b
                      : s == "-" ? a - b
                      : s == "*" ? a * b
                                 : a / b);
    else if (s == "<" || s == ">" || s == "<=" || s == ">=" || s == "==" ||
             s == "!=")
      left = ofBool(s == "<"    ? a < b
                    : s == ">"  ? a > b
                    : s == "<=" ? a <= b
                    : s == ">=" ? a >= b
                    : s == "==" ? a == b
                                : a != b);
    else
      return fail(op, "'" + std::string(s) + "' needs integers");
    return true;
  }
  uint64_t a = left.bits, b = right.bits;
  auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  bool isUnsigned =
      left.kind == Constant::Unsigned || right.kind == Constant::Unsigned;
  Constant::Kind kind = isUnsigned ? Constant::Unsigned : Constant::Signed;
  if ((s == "/" || s == "%") && b == 0)
    return fail(op, "division by zero");
  if (s == "+")
    left = {kind, a + b};
  else if (s == "-")
    left = {kind, a - b};
  else if (s == "*")
    left = {kind, a * b};
  else if (s == "/") // INT64_MIN / -1 wraps
    left = {kind, isUnsigned ? a / b
                  : sb == -1 ? 0 - a
                             : static_cast<uint64_t>(sa / sb)};
  else if (s == "%") // unsigned operands, signed result
    left = {Constant::Signed, a % b};
  else if (s == "<<")
    left.bits = b < 64 ? a << b : 0;
  else if (s == ">>" && left.kind == Constant::Unsigned)
    left.bits = b < 64 ? a >> b : 0;
  else if (s == ">>")
    left.bits = static_cast<uint64_t>(sa >> (b < 64 ? b : 63));
  else if (s == "<")
    left = ofBool(isUnsigned ? a < b : sa < sb);
  else if (s == ">")
    left = ofBool(isUnsigned ? a > b : sa > sb);
  else if (s == "<=")
    left = ofBool(isUnsigned ? a <= b : sa <= sb);
  else if (s == ">=")
    left = ofBool(isUnsigned ? a >= b : sa >= sb);
  else if (s == "==")
    left = ofBool(a == b);
  else if (s == "!=")
    left = ofBool(a != b);
  else if (s == "&&")
    left = ofBool(a && b);
  else if (s == "||")
    left = ofBool(a || b);
  else
    left = {kind, s == "&" ? a & b : s == "|" ? a | b : a ^ b};
  return true;
}

/// The rest of an address, such as "+4*2-1". Each term is read with a
/// precedence above that of a sum, so that a minus sign belongs to one term
/// only.
bool ModuleParser::parseOffset(int64_t &offset) {
  while (token.is("+") || token.is("-")) {
    bool minus = token.is("-");
    Token at = token;
    Constant term;
    advance();
    if (!enter(at) || !parseBinary(term, additive + 1))
      return false;
    --depth;
    if (!term.isInteger())
      return fail(at, "an offset must be an integer");
    // Unsigned, because offsets wrap around and a signed overflow is undefined
    // in C++.
    uint64_t sum = static_cast<uint64_t>(offset);
    sum = minus ? sum - term.bits : sum + term.bits;
    offset = static_cast<int64_t>(sum);
  }
  return true;
}

} // namespace act::runtime::ptx
