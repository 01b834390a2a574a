// SPDX-License-Identifier: Apache-2.0
//
// The tokens of PTX text (Lexer.h). A token that is no token of PTX has kind
// Bad; the parser reports it where it stands.
#include "runtime/sim/ptx/Lexer.h"
#include <charconv>
#include <cstdio>
#include <cstring>

namespace act::runtime::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool follows(char c) {
  return isDigit(c) || isLetter(c) || c == '_' || c == '$';
}
int digitOf(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

std::string shown(std::string_view text) {
  constexpr size_t most = 60;
  std::string s(text.substr(0, most));
  return text.size() > most ? s + "..." : s;
}

std::string shownByte(char c) {
  char buffer[16];
  if (c > ' ' && c < 127)
    snprintf(buffer, sizeof buffer, "'%c'", c);
  else
    snprintf(buffer, sizeof buffer, "byte 0x%02x", c & 0xff);
  return buffer;
}

} // namespace

std::string Token::described() const {
  if (kind == End)
    return "the end of the file";
  if (kind == String)
    return "a string";
  return "'" + shown(text) + "'";
}

/// A '#' is a line marker only as the first character of its line; elsewhere it
/// is an error.
bool Lexer::startsLine() const {
  return text.substr(lineStart, position - lineStart)
             .find_first_not_of(" \t") == std::string_view::npos;
}

/// False for a comment without an end. The token then has the place where the
/// comment begins.
bool Lexer::skipBlanks(Token &token) {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n') {
      ++position;
      ++line;
      lineStart = position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position;
    } else if ((c == '/' && at(1) == '/') || (c == '#' && startsLine())) {
      // a comment, or a preprocessor's line marker
      position = text.find('\n', position);
      if (position == std::string_view::npos)
        position = text.size();
    } else if (c == '/' && at(1) == '*') {
      size_t close = text.find("*/", position + 2);
      if (close == std::string_view::npos) {
        token.line = line;
        token.column = static_cast<uint32_t>(position - lineStart + 1);
        token.begin = position;
        return false;
      }
      for (; position < close + 2; ++position)
        if (text[position] == '\n') {
          ++line;
          lineStart = position + 1;
        }
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::finish(Token token, Token::Kind kind) {
  token.kind = kind;
  token.end = position;
  token.text = token.word = text.substr(token.begin, position - token.begin);
  return token;
}

Token Lexer::bad(Token token, std::string why) {
  message = std::move(why);
  return finish(token, Token::Bad);
}

Token Lexer::next() {
  Token token;
  if (!skipBlanks(token)) {
    position = text.size();
    return bad(token, "comment is not closed before the end of the file");
  }
  token.line = line;
  token.column = static_cast<uint32_t>(position - lineStart + 1);
  token.begin = position;
  if (position >= text.size())
    return finish(token, Token::End);
  char c = text[position];
  if (isLetter(c) || ((c == '_' || c == '$' || c == '%') && follows(at(1))) ||
      c == '_') {
    ++position;
    while (follows(at(0)))
      ++position;
    return finish(token, Token::Word);
  }
  if (isDigit(c))
    return number(token);
  if (c == '.' && follows(at(1))) {
    ++position;
    // "mbarrier::complete_tx::bytes" is one modifier
    while (follows(at(0)) || (at(0) == ':' && at(1) == ':' && follows(at(2))))
      position += at(0) == ':' ? 2 : 1;
    token = finish(token, Token::Dotted);
    token.word.remove_prefix(1);
    return token;
  }
  if (c == '"')
    return quoted(token);
  for (const char *two : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "@@"})
    if (c == two[0] && at(1) == two[1]) {
      position += 2;
      return finish(token, Token::Symbol);
    }
  ++position;
  if (c != '\0' && strchr("()[]{},;:+-*/%<>=!~&|^?@", c))
    return finish(token, Token::Symbol);
  return bad(token, "unexpected " + shownByte(c));
}

Token Lexer::quoted(Token token) {
  size_t close = position + 1;
  while (close < text.size() && text[close] != '"' && text[close] != '\n')
    close += text[close] == '\\' && close + 1 < text.size() &&
                     text[close + 1] != '\n'
                 ? 2
                 : 1;
  if (close >= text.size() || text[close] != '"') {
    position = close < text.size() ? close : text.size();
    return bad(token, "string is not closed before the end of the line");
  }
  position = close + 1;
  token = finish(token, Token::String);
  token.word = token.text.substr(1, token.text.size() - 2);
  return token;
}

/// Reads a dotted token again, as a number: ".5" is no modifier where a
/// constant may stand.
Token Lexer::asNumber(const Token &dotted) {
  position = dotted.begin;
  Token token = dotted;
  return decimal(token);
}

/// 0f and 0d give the bits of a float, so they have a fixed number of digits.
Token Lexer::number(Token token) {
  char second = at(1);
  if (text[position] == '0') {
    if (second == 'x' || second == 'X')
      return position += 2, integer(token, 16);
    if (second == 'b' || second == 'B')
      return position += 2, integer(token, 2);
    if (second == 'f' || second == 'F')
      return position += 2, exactFloat(token, 8);
    if (second == 'd' || second == 'D')
      return position += 2, exactFloat(token, 16);
  }
  size_t p = position;
  while (p < text.size() && isDigit(text[p]))
    ++p;
  char after = p < text.size() ? text[p] : '\0';
  if (after == '.' || after == 'e' || after == 'E')
    return decimal(token);
  return integer(token, text[position] == '0' ? 8 : 10);
}

Token Lexer::exactFloat(Token token, unsigned digits) {
  unsigned n = 0;
  for (; digitOf(at(0)) < 16 && n < digits; ++n)
    token.bits =
        token.bits << 4 | static_cast<uint64_t>(digitOf(text[position++]));
  if (n != digits || follows(at(0))) {
    while (follows(at(0)))
      ++position;
    Token b = bad(token, "");
    message = "'" + shown(b.text) + "' is not a number: expected " +
              std::to_string(digits) + " hexadecimal digits";
    return b;
  }
  return finish(token, digits == 8 ? Token::Single : Token::Double);
}

/// Takes all letters and digits that follow, so that the error for "12ab" shows
/// the whole word.
Token Lexer::integer(Token token, unsigned base) {
  uint64_t value = 0;
  bool overflow = false, any = false, wrong = false;
  for (; digitOf(at(0)) < 16 || follows(at(0)); ++position) {
    unsigned d = static_cast<unsigned>(digitOf(text[position]));
    if (text[position] == 'U' && !follows(at(1)) && any) {
      token.isUnsigned = true;
      continue;
    }
    wrong |= d >= base;
    any = true;
    uint64_t product = 0;
    overflow |= __builtin_mul_overflow(value, uint64_t(base), &product) ||
                __builtin_add_overflow(product, uint64_t(d), &value);
  }
  token = finish(token, Token::Integer);
  token.bits = value;
  // A literal without U is unsigned if it does not fit a signed 64-bit integer
  // (PTX ISA, "Integer Constants").
  token.isUnsigned |= value >> 63 != 0;
  if (!any || wrong)
    return bad(token, "'" + shown(token.text) + "' is not an integer in base " +
                          std::to_string(base));
  if (overflow)
    return bad(token, "'" + shown(token.text) + "' does not fit 64 bits");
  return token;
}

Token Lexer::decimal(Token token) {
  while (isDigit(at(0)))
    ++position;
  if (at(0) == '.')
    ++position;
  while (isDigit(at(0)))
    ++position;
  if ((at(0) == 'e' || at(0) == 'E') &&
      (isDigit(at(1)) || ((at(1) == '+' || at(1) == '-') && isDigit(at(2))))) {
    position += 2;
    while (isDigit(at(0)))
      ++position;
  }
  bool wrong = follows(at(0));
  while (follows(at(0)))
    ++position;
  token = finish(token, Token::Double);
  if (wrong)
    return bad(token, "'" + shown(token.text) + "' is not a number");
  double value = 0;
  const char *end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, value).ec != std::errc())
    return bad(token, "'" + shown(token.text) + "' does not fit a double");
  memcpy(&token.bits, &value, sizeof value);
  return token;
}

} // namespace act::runtime::ptx
