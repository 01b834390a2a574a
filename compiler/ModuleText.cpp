// SPDX-License-Identifier: Apache-2.0
//
// Scans a module's text once, with just enough of MLIR's lexer to recognise
// strings, comments, brackets, operators and result numbers.
#include "compiler/CheckModule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace act {
namespace {

// The parser overflows an 8 MiB stack at some thousand nested regions or
// consecutive signs. Real modules stay far below these limits.
constexpr size_t maxDepth = 256, maxOperators = 1024;
// The parser allocates 24 bytes for each, again in every nested function.
constexpr uint64_t maxResults = uint64_t(1) << 20;

class TextCheck {
public:
  TextCheck(llvm::StringRef text, llvm::StringRef file)
      : text(text), file(file) {}

  Status run() {
    while (at < text.size()) {
      if (auto s = one(); !s)
        return s;
    }
    return ok();
  }

private:
  llvm::StringRef text, file;
  size_t at = 0, depth = 0, operators = 0;
  llvm::StringRef value;             // the last %name
  llvm::StringMap<uint64_t> results; // by %name: the count that uses imply
  uint64_t allResults = 0;

  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : 0;
  }

  Status fail(const std::string &message, size_t place) const {
    llvm::StringRef before = text.take_front(place);
    size_t line = before.count('\n') + 1, start = before.rfind('\n');
    size_t column = start == llvm::StringRef::npos ? place + 1 : place - start;
    return Error{message, file.str() + ":" + std::to_string(line) + ":" +
                              std::to_string(column)};
  }

  void string() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    ++at;
  }

  llvm::StringRef word() {
    size_t start = at;
    while (at < text.size() && (llvm::isAlnum(text[at]) || text[at] == '_' ||
                                text[at] == '$' || text[at] == '.'))
      ++at;
    return text.slice(start, at);
  }

  Status open() {
    ++at;
    return ++depth <= maxDepth
               ? ok()
               : fail("brackets nest more than " + std::to_string(maxDepth) +
                          " levels deep",
                      at - 1);
  }

  Status operation() {
    return ++operators <= maxOperators
               ? ok()
               : fail("more than " + std::to_string(maxOperators) +
                          " operators in one expression",
                      at);
  }

  // %name#N, with or without space before the #.
  Status resultNumber() {
    size_t start = at++;
    llvm::StringRef digits = text.drop_front(at).take_while(llvm::isDigit);
    uint64_t n;
    if (digits.empty())
      return ok();
    if (digits.getAsInteger(10, n) || n >= maxResults)
      return fail("result number " + digits.take_front(40).str() +
                      " is too large, expected less than " +
                      std::to_string(maxResults),
                  start);
    uint64_t &known = results[value];
    if (n + 1 > known) {
      allResults += n + 1 - known;
      known = n + 1;
    }
    if (allResults > maxResults)
      return fail(
          "the numbers of results are too large together, expected up to " +
              std::to_string(maxResults),
          start);
    at += digits.size();
    return ok();
  }

  void skipSpace() {
    while (at < text.size())
      if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      else if (llvm::isSpace(text[at]))
        ++at;
      else
        return;
  }

  // array<i64: 1, 2>. The parser assumes that the element type has a width:
  // index, or an alias of it, crashes the process.
  Status array() {
    skipSpace();
    if (peek() != '<')
      return ok();
    if (auto s = open(); !s)
      return s;
    skipSpace();
    size_t start = at;
    if (peek() == '!' || word() == "index")
      return fail("an array has elements of index, or of a type by another "
                  "name, expected the name of an integer or float type",
                  start);
    return ok();
  }

  // workgroup_attributions = 4294967295 : i64, an attribute of gpu.func. Its
  // verifier adds the number to that of the arguments, in 32 bits.
  Status attributions() {
    skipSpace();
    if (peek() != '=')
      return ok();
    ++at;
    skipSpace();
    size_t start = at;
    uint64_t number = 0;
    if (word().getAsInteger(10, number) || number <= INT32_MAX)
      return ok();
    return fail("a function has " + std::to_string(number) +
                    " blocks of shared memory, expected fewer",
                start);
  }

  Status one() {
    char c = peek();
    switch (c) {
    case '"':
      string();
      return ok();
    case '/':
      if (peek(1) == '/')
        at = std::min(text.find('\n', at), text.size());
      else
        ++at;
      return ok();
    case '%':
      ++at;
      value = word();
      return ok();
    case '#':
      return resultNumber();
    case '(':
    case '[':
    case '{':
      return open();
    case '<':
      if (peek(1) != '=')
        return open();
      at += 2;
      return ok();
    case '>':
      if (peek(1) == '=') {
        at += 2;
        return ok();
      }
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      ++at;
      return ok();
    case ',':
      operators = 0;
      ++at;
      return ok();
    case '=': // an op's results, or == in a set
      if (peek(1) == '=')
        ++at;
      else
        operators = 0;
      ++at;
      return ok();
    case '-':
      if (peek(1) == '>') {
        at += 2;
        return ok();
      }
      [[fallthrough]];
    case '+':
    case '*': {
      Status s = operation();
      ++at;
      return s;
    }
    default:
      break;
    }
    if (!llvm::isAlnum(c)) {
      ++at;
      return ok();
    }
    llvm::StringRef w = word();
    if (w == "array")
      return array();
    if (w == "workgroup_attributions")
      return attributions();
    return w == "mod" || w == "floordiv" || w == "ceildiv" ? operation() : ok();
  }
};

} // namespace

Status checkModuleText(llvm::StringRef text, llvm::StringRef file) {
  return TextCheck(text, file).run();
}

} // namespace act
