// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/PtxText.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

using namespace llvm;
using namespace act;

static bool isWord(char c) { return isAlnum(c) || c == '_' || c == '$'; }

/// Applies `rename` to every identifier of `text` except registers and
/// directives. Quoted text and // comments stay.
static std::string eachWord(StringRef text,
                            function_ref<std::string(StringRef)> rename) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '"' || text.substr(i, 2) == "//") {
      size_t end = text.find(c == '"' ? '"' : '\n', i + 1);
      end = end == StringRef::npos ? text.size() : end + 1;
      out += text.slice(i, end);
      i = end;
      continue;
    }
    bool prefixed = c == '%' || c == '.';
    size_t end = i + prefixed;
    while (end < text.size() && isWord(text[end]))
      ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    StringRef word = text.slice(i, end);
    if (prefixed || isDigit(c))
      out += word;
    else
      out += rename(word);
    i = end;
  }
  return out;
}

// A plain search, since the name occurs a few times in a long text. It is the
// entry's only as a whole word, or with its parameters' ending.
std::string tile::renameEntry(StringRef ptx, StringRef from, StringRef to) {
  std::string out;
  out.reserve(ptx.size());
  size_t done = 0;
  for (size_t at = 0; (at = ptx.find(from, at)) != StringRef::npos;) {
    size_t end = at + from.size();
    StringRef rest = ptx.substr(end);
    char before = at ? ptx[at - 1] : ' ';
    bool whole =
        !isWord(before) && before != '%' && before != '.' &&
        (rest.empty() || !isWord(rest[0]) || rest.starts_with("_param_"));
    if (whole) {
      out += ptx.slice(done, at);
      out += to;
      done = end;
    }
    at = end;
  }
  out += ptx.substr(done);
  return out;
}

uint32_t tile::clusterIn(StringRef ptx) {
  constexpr StringLiteral directive = ".reqnctapercluster ";
  const size_t at = ptx.find(directive);
  if (at == StringRef::npos)
    return 0;
  StringRef rest = ptx.substr(at + directive.size());
  uint32_t blocks = 0;
  return !rest.consumeInteger(10, blocks) && rest.starts_with(", 1, 1") ? blocks
                                                                        : 0;
}

static bool isHead(StringRef s) {
  return s.starts_with(".version") || s.starts_with(".target") ||
         s.starts_with(".address_size");
}

/// The top-level statements, without comments before them. Braces and
/// parentheses are counted, so a body or a list of parameters stays whole.
static std::vector<StringRef> statements(StringRef text) {
  std::vector<StringRef> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size() - 1);
      if (text.slice(begin, i).ltrim().starts_with("//"))
        begin = i + 1;
      continue;
    }
    if (c == '"') {
      i = std::min(text.find('"', i + 1), text.size() - 1);
      continue;
    }
    depth += c == '{' || c == '(';
    depth -= c == '}' || c == ')';
    if (depth || (c != '\n' && c != ';' && c != '}'))
      continue;
    StringRef statement = text.slice(begin, i + 1).trim();
    // An initialiser also ends in a brace, but its semicolon follows.
    // A newline ends only the head's directives; a declaration may go on.
    bool ends = c == ';'    ? true
                : c == '\n' ? isHead(statement)
                            : statement.contains(".entry") ||
                                  statement.contains(".func");
    if (!ends)
      continue;
    out.push_back(statement);
    begin = i + 1;
  }
  return out;
}

/// The name that a statement (no entry, no declaration) defines: the last word
/// before the extent, the initialiser or the parameters.
static StringRef definedName(StringRef statement) {
  StringRef head = statement.take_until(
      [](char c) { return c == '[' || c == '=' || c == ';' || c == '{'; });
  if (statement.contains(".func")) {
    // .func (.param .b32 result) name(...
    head = head.substr(head.find(".func") + 5).ltrim();
    if (head.starts_with("("))
      head = head.substr(head.find(')') + 1).ltrim();
    return head.take_while(isWord);
  }
  head = head.rtrim();
  size_t at = head.size();
  while (at && isWord(head[at - 1]))
    --at;
  return head.substr(at);
}

// All kernels have the head of the first. External symbols are declared once,
// and what a kernel defines itself gets the kernel's name in front:
//
//     .global .b32 buffer          matmul_buffer, softmax_buffer
Result<std::string> tile::joinPtx(ArrayRef<PtxKernel> kernels) {
  std::string head, declarations, code;
  StringSet<> declared;
  for (const PtxKernel &kernel : kernels) {
    std::string own;
    StringSet<> defined;
    std::vector<StringRef> parts = statements(kernel.text);
    for (StringRef s : parts) {
      if (isHead(s))
        own += (s + "\n").str();
      else if (!s.starts_with(".extern") && !s.contains(".entry"))
        defined.insert(definedName(s));
    }
    if (head.empty())
      head = own;
    else if (head != own)
      return Error{"the PTX of kernel '" + kernel.entry.str() +
                       "' is for a different target than that of '" +
                       kernels.front().entry.str() + "'",
                   ""};
    for (StringRef s : parts) {
      if (isHead(s))
        continue;
      if (s.starts_with(".extern")) {
        if (declared.insert(s).second)
          declarations += (s + "\n").str();
        continue;
      }
      code += "\n" +
              eachWord(s,
                       [&](StringRef word) {
                         return defined.contains(word)
                                    ? (kernel.entry + "_" + word).str()
                                    : word.str();
                       }) +
              "\n";
    }
  }
  return head + "\n" + declarations + code;
}
