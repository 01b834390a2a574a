// SPDX-License-Identifier: Apache-2.0
//
// Splits PTX text into tokens, one at a time and without allocation: a token's
// text is a view of the input.
//
//     @%p1 ld.shared::cta.v2.f32 {%f1, %f2}, [%r3+0x10];
//     @ %p1 ld .shared::cta .v2 .f32 { %f1 , %f2 } , [ %r3 + 16 ] ;
//
// A dot and the word after it are one token, even if the word starts with a
// digit (.2d, .16x64). Only the parser knows whether `.5` is a number, and then
// calls `asNumber`.
#ifndef ACT_RUNTIME_SIM_PTX_LEXER_H
#define ACT_RUNTIME_SIM_PTX_LEXER_H
#include <cstdint>
#include <string>
#include <string_view>

namespace act::runtime::ptx {

struct Token {
  enum Kind : uint8_t {
    End,
    Word,    // name, %r1, $L__BB0_1, _
    Dotted,  // .word; `word` has no dot
    Integer, // bits; isUnsigned if it has a U suffix or exceeds s64
    Double,  // 1.5 or 0d...; bits of a double
    Single,  // 0f...; 32 bits
    String,  // `word` is the text between the quotes
    Symbol,  // punctuation and operators
    Bad,     // see Lexer::problem
  };
  Kind kind = End;
  bool isUnsigned = false;
  uint32_t line = 1, column = 1;
  size_t begin = 0, end = 0;
  uint64_t bits = 0;
  std::string_view text; // as in the file
  std::string_view word; // without dot or quotes

  bool is(std::string_view symbol) const {
    return kind == Symbol && text == symbol;
  }
  bool isDotted(std::string_view name) const {
    return kind == Dotted && word == name;
  }
  /// For messages: "';'", "the end of the file".
  std::string described() const;
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();
  /// Rereads a Dotted token, the last one returned, as a number.
  Token asNumber(const Token &dotted);
  /// Why the last token is Bad.
  const std::string &problem() const { return message; }

private:
  char at(size_t offset) const {
    return position + offset < text.size() ? text[position + offset] : '\0';
  }
  bool startsLine() const;
  bool skipBlanks(Token &token);
  Token finish(Token token, Token::Kind kind);
  Token bad(Token token, std::string why);
  Token number(Token token);
  Token exactFloat(Token token, unsigned digits);
  Token integer(Token token, unsigned base);
  Token decimal(Token token);
  Token quoted(Token token);

  std::string_view text;
  size_t position = 0, lineStart = 0;
  uint32_t line = 1;
  std::string message;
};

} // namespace act::runtime::ptx
#endif
