// SPDX-License-Identifier: Apache-2.0
//
// The module level of the parser, and what all parse functions use: tokens,
// errors, the limit on nesting.
#include "runtime/sim/ptx/ModuleParser.h"

namespace act::runtime::ptx {

Result<std::unique_ptr<Module>> parse(std::string_view text,
                                      const std::string &name) {
  return ModuleParser(text, name).run();
}

namespace {

constexpr uint32_t maximumFiles = 1 << 16;

// Compilers pass text with the terminating zero of a C string.
std::string_view withoutZeros(std::string_view text) {
  while (!text.empty() && text.back() == '\0')
    text.remove_suffix(1);
  return text;
}

} // namespace

ModuleParser::ModuleParser(std::string_view text, const std::string &name)
    : lexer(withoutZeros(text)), name(name), textSize(text.size()),
      module(std::make_unique<Module>()) {}

Result<std::unique_ptr<Module>> ModuleParser::run() {
  if (textSize >= UINT32_MAX)
    return Error{"the text has " + std::to_string(textSize) +
                     " bytes, expected at most 4294967294",
                 name};
  advance();
  if (!parseModule())
    return error;
  return std::move(module);
}

void ModuleParser::advance() {
  token = hasAhead ? ahead : lexer.next();
  hasAhead = false;
}

const Token &ModuleParser::peek() {
  if (!hasAhead)
    ahead = lexer.next();
  hasAhead = true;
  return ahead;
}

bool ModuleParser::accept(std::string_view symbol) {
  if (!token.is(symbol))
    return false;
  advance();
  return true;
}

bool ModuleParser::acceptDotted(std::string_view word) {
  if (!token.isDotted(word))
    return false;
  advance();
  return true;
}

bool ModuleParser::expect(std::string_view symbol, const char *after) {
  if (accept(symbol))
    return true;
  return failExpected(("'" + std::string(symbol) + "' after " + after).c_str());
}

// Keeps the first error. Callers that unwind may report more, but those are its
// consequences.
bool ModuleParser::fail(const Token &at, std::string message) {
  if (failed)
    return false;
  failed = true;
  if (at.kind == Token::Bad)
    message = lexer.problem();
  error = {std::move(message), name + ":" + std::to_string(at.line) + ":" +
                                   std::to_string(at.column)};
  return false;
}

bool ModuleParser::failExpected(const char *what) {
  return fail(token,
              "expected " + std::string(what) + ", found " + token.described());
}

// Recursion follows the nesting of the text. Without a limit, a file of open
// brackets would overflow the stack.
bool ModuleParser::enter(const Token &at) {
  if (++depth <= maximumNesting)
    return true;
  return fail(at, "nesting is deeper than " + std::to_string(maximumNesting));
}

bool ModuleParser::parseName(std::string_view &out, const char *what) {
  if (token.kind != Token::Word)
    return failExpected(what);
  out = token.text;
  advance();
  return true;
}

bool ModuleParser::parseCount(uint64_t &value, const char *what,
                              uint64_t most) {
  if (token.kind != Token::Integer)
    return failExpected(what);
  if (token.bits > most)
    return fail(token, std::string(what) + " is " + std::string(token.text) +
                           ", expected at most " + std::to_string(most));
  value = token.bits;
  advance();
  return true;
}

Location ModuleParser::here() const {
  Location location = source;
  location.line = token.line;
  location.column = token.column;
  return location;
}

bool ModuleParser::parseModule() {
  if (!parseVersion() || !parseTarget() || !parseAddressSize())
    return false;
  while (token.kind != Token::End)
    if (!parseModuleItem())
      return false;
  return true;
}

bool ModuleParser::parseVersion() {
  if (!acceptDotted("version"))
    return failExpected("'.version' at the start of the module");
  // Parse the text, not the number: 8.10 is not 8.1.
  size_t dot = token.text.find('.');
  auto number = [&](std::string_view digits, uint32_t &value) {
    if (digits.empty() || digits.size() > 4)
      return false;
    for (char c : digits) {
      if (c < '0' || c > '9')
        return false;
      value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    return true;
  };
  if (token.kind != Token::Double || dot == std::string_view::npos ||
      !number(token.text.substr(0, dot), module->versionMajor) ||
      !number(token.text.substr(dot + 1), module->versionMinor))
    return failExpected("a version such as 8.0");
  advance();
  return true;
}

// Other words of .target (PTX ISA 11.1.2). map_f64_to_f32 is for GPUs without
// double precision.
bool ModuleParser::addTargetOption(const Token &at, std::string_view word) {
  auto &options = module->targetOptions;
  if (word == "map_f64_to_f32")
    return fail(at, "'map_f64_to_f32' is for targets below sm_13");
  if (word != "debug" && word != "texmode_unified" &&
      word != "texmode_independent")
    return fail(at, "unknown target '" + std::string(word) + "'");
  for (const std::string &option : options)
    if (word != "debug" && option != "debug" && option != word)
      return fail(at,
                  "'" + std::string(word) + "' contradicts '" + option + "'");
  options.emplace_back(word);
  return true;
}

bool ModuleParser::parseTarget() {
  if (!acceptDotted("target"))
    return failExpected("'.target' after '.version'");
  do {
    Token at = token;
    std::string_view word;
    if (!parseName(word, "a target such as sm_80"))
      return false;
    size_t digits = word.substr(0, 3) == "sm_"        ? 3
                    : word.substr(0, 8) == "compute_" ? 8
                                                      : 0;
    if (!digits) {
      if (!addTargetOption(at, word))
        return false;
      continue;
    }
    if (module->sm)
      return fail(at, "'" + std::string(word) +
                          "' is a second target beside '" + module->target +
                          "'");
    size_t i = digits;
    for (;
         i < word.size() && i < digits + 4 && word[i] >= '0' && word[i] <= '9';
         ++i)
      module->sm = module->sm * 10 + static_cast<uint32_t>(word[i] - '0');
    if (i + 1 == word.size() && (word[i] == 'a' || word[i] == 'f'))
      module->suffix = word[i++];
    if (i != word.size() || module->sm == 0)
      return fail(at, "unknown target '" + std::string(word) + "'");
    module->target = "sm_" + std::string(word.substr(digits));
  } while (accept(","));
  if (module->sm == 0)
    return fail(token, "'.target' names no architecture such as sm_80");
  return true;
}

bool ModuleParser::parseAddressSize() {
  if (!acceptDotted("address_size"))
    return true;
  if (token.kind != Token::Integer || (token.bits != 32 && token.bits != 64))
    return failExpected("32 or 64 after '.address_size'");
  if (token.bits == 32)
    return fail(token, "addresses of 32 bits are no longer supported");
  module->addressSize = static_cast<unsigned>(token.bits);
  advance();
  return true;
}

bool ModuleParser::parseModuleItem() {
  if (token.is("@@"))
    return skipDwarfLine();
  if (token.kind != Token::Dotted)
    return failExpected("a directive");
  if (token.word == "file")
    return parseFile();
  if (token.word == "loc")
    return parseLoc();
  if (token.word == "section")
    return parseSection();
  if (token.word == "pragma")
    return parsePragma();
  if (token.word == "alias")
    return parseAlias();
  if (token.word == "version" || token.word == "target" ||
      token.word == "address_size")
    return fail(token, "a second '" + std::string(token.text) +
                           "', or one in the wrong place");
  Linkage linkage;
  if (!parseLinkage(linkage))
    return false;
  if (token.isDotted("entry") || token.isDotted("func"))
    return parseFunction(linkage);
  return parseVariables(linkage, false);
}

// .file 1 "name"; some compilers write the folder as a string before the name
bool ModuleParser::parseFile() {
  advance();
  uint64_t index = 0, ignored = 0;
  if (!parseCount(index, "a file number", maximumFiles - 1))
    return false;
  if (token.kind != Token::String)
    return failExpected("a file name in quotes");
  std::string path(token.word);
  advance();
  if (token.kind == Token::String) {
    path += "/" + std::string(token.word);
    advance();
  }
  while (accept(","))
    if (!parseCount(ignored, "a time stamp or size", UINT64_MAX))
      return false;
  // File numbers need not be dense, nor start at 1; unused entries stay empty.
  if (module->files.size() <= index)
    module->files.resize(index + 1);
  module->files[index] = std::move(path);
  return true;
}

// .loc 1 9 3, function_name label+16, inlined_at 1 21 3
// Only the position is kept, for messages that name the source line. Inlining
// is parsed and dropped.
bool ModuleParser::parseLoc() {
  advance();
  uint64_t file = 0, line = 0, column = 0, ignored = 0;
  if (!parseCount(file, "a file number", maximumFiles - 1) ||
      !parseCount(line, "a line number", UINT32_MAX) ||
      !parseCount(column, "a column number", UINT32_MAX))
    return false;
  source.file = static_cast<uint32_t>(file);
  source.sourceLine = static_cast<uint32_t>(line);
  source.sourceColumn = static_cast<uint32_t>(column);
  while (accept(",")) {
    if (token.kind == Token::Word && token.text == "function_name") {
      advance();
      if (token.kind != Token::Word && token.kind != Token::Dotted)
        return failExpected("a label or section after 'function_name'");
      advance();
      if (accept("+") && !parseCount(ignored, "an offset", UINT64_MAX))
        return false;
    } else if (token.kind == Token::Word && token.text == "inlined_at") {
      advance();
      for (const char *what :
           {"a file number", "a line number", "a column number"})
        if (!parseCount(ignored, what, UINT32_MAX))
          return false;
    } else {
      return failExpected("'function_name' or 'inlined_at'");
    }
  }
  return true;
}

// Skips debug information: tables of numbers and labels.
bool ModuleParser::parseSection() {
  advance();
  if (token.kind != Token::Dotted && token.kind != Token::Word &&
      token.kind != Token::String)
    return failExpected("the name of a section");
  advance();
  Token open = token;
  if (!expect("{", "the name of a section"))
    return false;
  while (!token.is("}")) {
    if (token.kind == Token::End)
      return fail(open, "section is not closed before the end of the file");
    if (token.kind == Token::Bad || token.is("{"))
      return failExpected("'}' or data of the section");
    advance();
  }
  advance();
  return true;
}

// Debug information from before PTX 2.0: it ends at the end of the line.
bool ModuleParser::skipDwarfLine() {
  uint32_t line = token.line;
  while (token.line == line && token.kind != Token::End) {
    if (token.kind == Token::Bad)
      return fail(token, "");
    advance();
  }
  return true;
}

// Skipped: pragmas tune the vendor's compiler and never change semantics.
bool ModuleParser::parsePragma() {
  advance();
  do {
    if (token.kind != Token::String)
      return failExpected("a string after '.pragma'");
    advance();
  } while (accept(","));
  return expect(";", "'.pragma'");
}

// ".alias name, aliasee;" gives a function with a body a second name. Both must
// be declared before.
bool ModuleParser::parseAlias() {
  advance();
  std::string_view names[2];
  uint32_t index[2];
  for (int i = 0; i < 2; ++i) {
    Token at = token;
    if (!parseName(names[i], "the name of a function") ||
        !expect(i ? ";" : ",", "the name of a function"))
      return false;
    const Meaning *meaning = moduleNames.findExact(names[i]);
    if (!meaning || meaning->symbol.kind != Symbol::FunctionName)
      return fail(at, "'" + std::string(names[i]) +
                          "' is not declared as a function");
    index[i] = meaning->symbol.index;
  }
  Function &alias = module->functions[index[0]];
  const Function &aliasee = module->functions[index[1]];
  if (alias.hasBody || alias.isEntry || !aliasee.hasBody || aliasee.isEntry ||
      alias.aliasOf >= 0)
    return fail(token, "alias '" + alias.name +
                           "' must be a function without body, and '" +
                           aliasee.name + "' one with a body");
  alias.aliasOf = static_cast<int32_t>(index[1]);
  return true;
}

} // namespace act::runtime::ptx
