// SPDX-License-Identifier: Apache-2.0
//
// Declarations of variables, parameters and registers.
#include "runtime/sim/ptx/ModuleParser.h"

namespace act::runtime::ptx {
namespace {

constexpr uint64_t maximumAlign = 1 << 20;
constexpr uint64_t maximumExpandedNames = 1 << 16;
constexpr unsigned handleBytes = 8;

bool isOpaque(Type type) {
  return type == Type::TexRef || type == Type::SamplerRef ||
         type == Type::SurfRef;
}

/// Types that registers and variables may have (PTX ISA, "Fundamental Types");
/// the others are for instructions only.
bool isFundamental(Type type) {
  switch (type) {
  case Type::None:
  case Type::BF16:
  case Type::BF16x2:
  case Type::E4M3:
  case Type::E5M2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::TF32:
    return false;
  default:
    return true;
  }
}

uint64_t elementBytes(Type type) {
  return isOpaque(type) ? handleBytes : bytesOf(type);
}

bool spaceNamed(std::string_view word, Space &space) {
  static constexpr struct {
    std::string_view word;
    Space space;
  } table[] = {{"reg", Space::Reg},       {"const", Space::Const},
               {"global", Space::Global}, {"local", Space::Local},
               {"param", Space::Param},   {"shared", Space::Shared},
               {"tex", Space::Global}};
  for (const auto &row : table)
    if (row.word == word) {
      space = row.space;
      return true;
    }
  return false;
}

} // namespace

bool ModuleParser::parseLinkage(Linkage &linkage) {
  for (; token.kind == Token::Dotted; advance()) {
    bool *flag = token.word == "extern"    ? &linkage.isExtern
                 : token.word == "visible" ? &linkage.isVisible
                 : token.word == "weak"    ? &linkage.isWeak
                 : token.word == "common"  ? &linkage.isCommon
                                           : nullptr;
    if (!flag)
      return true;
    *flag = true;
  }
  return failExpected("a declaration");
}

bool ModuleParser::parseSpace(Space &space) {
  if (token.kind != Token::Dotted || !spaceNamed(token.word, space))
    return failExpected("a directive");
  advance();
  return true;
}

bool ModuleParser::parseAlign(uint32_t &align) {
  Token at = token;
  uint64_t value = 0;
  if (!parseCount(value, "an alignment", maximumAlign))
    return false;
  if (value == 0 || (value & (value - 1)))
    return fail(at,
                "alignment " + std::string(at.text) + " is not a power of two");
  align = static_cast<uint32_t>(value);
  return true;
}

// .attribute(.managed, .unified(19, 95))
bool ModuleParser::parseAttribute() {
  if (!expect("(", "'.attribute'"))
    return false;
  do {
    if (acceptDotted("managed"))
      continue;
    if (!acceptDotted("unified"))
      return failExpected("'.managed' or '.unified'");
    uint64_t id = 0;
    if (!expect("(", "'.unified'") ||
        !parseCount(id, "an identifier", UINT64_MAX) ||
        !expect(",", "an identifier") ||
        !parseCount(id, "an identifier", UINT64_MAX) ||
        !expect(")", "an identifier"))
      return false;
  } while (accept(","));
  return expect(")", "an attribute");
}

// .ptr .global .align 16
bool ModuleParser::parsePointer(Variable &variable) {
  variable.isPointer = true;
  if (token.kind == Token::Dotted) {
    Space space;
    Type type = typeNamed(std::string(token.word));
    if (isOpaque(type)) {
      variable.type = type;
      advance();
    } else if (spaceNamed(token.word, space)) {
      if (space == Space::Reg || space == Space::Param)
        return failExpected("a space that a pointer can point to");
      variable.pointee = space;
      advance();
    }
  }
  return !acceptDotted("align") || parseAlign(variable.pointeeAlign);
}

bool ModuleParser::parseDeclaration(Declaration &declaration) {
  Variable &variable = declaration.variable;
  while (token.kind == Token::Dotted) {
    if (acceptDotted("align")) {
      declaration.hasAlign = true;
      if (!parseAlign(variable.align))
        return false;
    } else if (acceptDotted("attribute")) {
      if (!parseAttribute())
        return false;
    } else if (acceptDotted("ptr")) {
      if (!parsePointer(variable))
        return false;
    } else if (token.word == "v2" || token.word == "v4" || token.word == "v8") {
      declaration.width = static_cast<unsigned>(token.word[1] - '0');
      advance();
    } else {
      Type type = typeNamed(std::string(token.word));
      if (!isFundamental(type))
        return failExpected("a type that can be declared");
      if (type == Type::B128 &&
          module->versionMajor * 10 + module->versionMinor < 83)
        return fail(token, "'.b128' needs PTX 8.3 or higher");
      if (variable.type != Type::None)
        return fail(token, "'" + std::string(token.text) +
                               "' is a second type beside '." +
                               nameOf(variable.type) + "'");
      variable.type = type;
      advance();
    }
  }
  if (variable.type == Type::None)
    return failExpected("a type");
  if (variable.type == Type::Pred && variable.space != Space::Reg)
    return fail(token, "a predicate can only be a register");
  if (!declaration.hasAlign)
    variable.align =
        static_cast<uint32_t>(elementBytes(variable.type)) * declaration.width;
  return true;
}

// [4][8], [][2]
bool ModuleParser::parseDimensions(std::vector<uint64_t> &dimensions,
                                   bool &unsizedFirst) {
  unsizedFirst = false;
  while (token.is("[")) {
    Token at = token;
    advance();
    if (dimensions.size() >= maximumNesting)
      return fail(at, "array of more than " + std::to_string(maximumNesting) +
                          " dimensions");
    if (dimensions.empty() && token.is("]")) {
      unsizedFirst = true;
      dimensions.push_back(0);
    } else {
      Constant count;
      Token where = token;
      if (!startsConstant())
        return failExpected("the size of a dimension");
      if (!parseConstant(count))
        return false;
      if (!count.isInteger() ||
          (count.kind == Constant::Signed && count.bits >> 63))
        return fail(where, "the size of a dimension must be an integer that "
                           "is not negative");
      dimensions.push_back(count.bits);
    }
    if (!expect("]", "the size of a dimension"))
      return false;
  }
  return true;
}

bool ModuleParser::sizeVariable(const Declaration &declaration,
                                Variable &variable,
                                const std::vector<uint64_t> &dimensions,
                                bool unsizedFirst) {
  uint64_t bytes = elementBytes(variable.type) * declaration.width;
  variable.isUnsized = unsizedFirst;
  for (size_t i = unsizedFirst ? 1 : 0; i < dimensions.size(); ++i)
    if (__builtin_mul_overflow(bytes, dimensions[i], &bytes) ||
        bytes > maximumVariableBytes)
      return fail(token, "'" + variable.name + "' is larger than " +
                             std::to_string(maximumVariableBytes) + " bytes");
  variable.bytes = unsizedFirst ? 0 : bytes;
  return true;
}

bool ModuleParser::parseVariables(const Linkage &linkage, bool inFunction) {
  Declaration declaration;
  Variable &variable = declaration.variable;
  Token at = token;
  variable.isExtern = linkage.isExtern;
  variable.isVisible = linkage.isVisible;
  variable.isWeak = linkage.isWeak;
  variable.isCommon = linkage.isCommon;
  if (!parseSpace(variable.space))
    return false;
  bool allowed = variable.space != Space::Reg &&
                 (inFunction || variable.space != Space::Param);
  if (!allowed)
    return fail(at, "'" + std::string(at.text) + "' outside of a function");
  if (!parseDeclaration(declaration))
    return false;
  if (at.word == "tex") // the old spelling of .global .texref
    variable.type = Type::TexRef;
  do
    if (!parseDeclarator(declaration, inFunction))
      return false;
  while (accept(","));
  return expect(";", "a declaration");
}

/// One name of a declaration. "a<4>" declares a0 to a3 one by one; only
/// registers get the cheaper form of a range (Names.h).
bool ModuleParser::parseDeclarator(const Declaration &declaration,
                                   bool inFunction) {
  Variable variable = declaration.variable;
  Token at = token;
  variable.location = here();
  std::string_view word;
  if (!parseName(word, "the name of a variable"))
    return false;
  variable.name = std::string(word);
  Variable *added = nullptr;
  std::vector<uint64_t> dimensions;
  bool unsizedFirst = false;
  if (accept("<")) {
    uint64_t count = 0;
    if (!parseCount(count, "the number of variables", maximumExpandedNames) ||
        !expect(">", "the number of variables") ||
        !sizeVariable(declaration, variable, dimensions, false))
      return false;
    // The limit is for the whole module, since many small ranges use as much
    // memory as a large one.
    if ((expandedNames += count) > maximumExpandedNames)
      return fail(at, "more than " + std::to_string(maximumExpandedNames) +
                          " variables declared as ranges");
    for (uint64_t i = 0; i < count; ++i) {
      Variable one = variable;
      one.name += std::to_string(i);
      ownedNames.push_back(one.name);
      if (!addVariable(std::move(one), ownedNames.back(), inFunction, at,
                       added))
        return false;
    }
    return true;
  }
  if (!parseDimensions(dimensions, unsizedFirst) ||
      !sizeVariable(declaration, variable, dimensions, unsizedFirst))
    return false;
  if (!token.is("=")) {
    if (unsizedFirst && !variable.isExtern && variable.space != Space::Shared)
      return fail(at, "array '" + variable.name +
                          "' has neither a size nor an initialiser");
    return addVariable(std::move(variable), word, inFunction, at, added);
  }
  if (variable.isExtern ||
      (variable.space != Space::Global && variable.space != Space::Const))
    return failExpected("';' (only .global and .const variables that are not "
                        ".extern have initialisers)");
  advance();
  // Declared first: the initialiser may use the variable's own name.
  return addVariable(std::move(variable), word, inFunction, at, added) &&
         parseInitializer(*added, declaration.width, dimensions, unsizedFirst);
}

/// Adds the variable to the function or the module. An .extern declaration and
/// a definition of the same variable become one, whichever comes first.
bool ModuleParser::addVariable(Variable variable, std::string_view word,
                               bool inFunction, const Token &at,
                               Variable *&added) {
  Meaning meaning;
  meaning.line = at.line;
  bool isLocal = inFunction && variable.space != Space::Global &&
                 variable.space != Space::Const;
  if (!inFunction) {
    const Meaning *old = moduleNames.findExact(word);
    if (old && old->symbol.kind == Symbol::ModuleVariable) {
      Variable &first = module->variables[old->symbol.index];
      bool same = first.space == variable.space &&
                  first.type == variable.type &&
                  (first.isUnsized || variable.isUnsized ||
                   first.bytes == variable.bytes);
      if (same && (first.isExtern || variable.isExtern)) {
        if (first.isExtern)
          first = std::move(variable);
        added = &first;
        return true;
      }
    }
  }
  std::vector<Variable> &list =
      isLocal ? function.variables : module->variables;
  meaning.symbol = {isLocal ? Symbol::FunctionVariable : Symbol::ModuleVariable,
                    static_cast<uint32_t>(list.size())};
  if (!declare(word, meaning, at))
    return false;
  // A .global in a function is stored with the module's, where its name may
  // clash, so it gets a unique suffix.
  if (inFunction && !isLocal)
    do
      variable.name += "$" + std::to_string(list.size());
    while (moduleNames.findExact(variable.name));
  list.push_back(std::move(variable));
  added = &list.back();
  return true;
}

// .reg .v4 .f32 a, b<3>;
bool ModuleParser::parseRegisters() {
  advance();
  Declaration declaration;
  declaration.variable.space = Space::Reg;
  if (!parseDeclaration(declaration))
    return false;
  Type type = declaration.variable.type;
  if (isOpaque(type))
    return fail(token,
                "a register cannot be of type ." + std::string(nameOf(type)));
  do {
    Token at = token;
    std::string_view word;
    if (!parseName(word, "the name of a register"))
      return false;
    Meaning meaning;
    meaning.isRegister = true;
    meaning.type = type;
    meaning.width = static_cast<uint8_t>(declaration.width);
    meaning.line = at.line;
    uint64_t count = 1;
    bool isRange = accept("<");
    if (isRange &&
        (!parseCount(count, "the number of registers", maximumRegisters) ||
         !expect(">", "the number of registers")))
      return false;
    declaredRegisters += count * declaration.width;
    if (declaredRegisters > maximumRegisters)
      return fail(at, "function '" + function.name + "' declares more than " +
                          std::to_string(maximumRegisters) + " registers");
    if (isRange) {
      uint32_t line = scopes.back().declareRange(
          word, static_cast<uint32_t>(count), meaning);
      if (line)
        return fail(at, "registers '" + std::string(word) + "<" +
                            std::to_string(count) +
                            ">' are declared twice; first on line " +
                            std::to_string(line));
    } else {
      meaning.first =
          addRegisters(function.registers, word, type, declaration.width);
      if (!declare(word, meaning, at))
        return false;
    }
  } while (accept(","));
  return expect(";", "a declaration");
}

// (.param .u64 .ptr .global a, .reg .b32 n, .param .b8 rest[])
bool ModuleParser::parseParameters(std::vector<Variable> &list,
                                   Symbol::Kind kind, bool isPrototype) {
  advance();
  if (accept(")"))
    return true;
  do {
    Declaration declaration;
    Variable &variable = declaration.variable;
    Token at = token;
    if (!parseSpace(variable.space))
      return false;
    if (variable.space != Space::Param && variable.space != Space::Reg)
      return fail(at, "expected '.param' or '.reg', found " + at.described());
    if (!parseDeclaration(declaration))
      return false;
    at = token;
    variable.location = here();
    std::string_view word;
    if (!parseName(word, "the name of a parameter"))
      return false;
    variable.name = std::string(word);
    std::vector<uint64_t> dimensions;
    bool unsizedFirst = false;
    if (!parseDimensions(dimensions, unsizedFirst) ||
        !sizeVariable(declaration, variable, dimensions, unsizedFirst))
      return false;
    Meaning meaning;
    meaning.line = at.line;
    meaning.symbol = {kind, static_cast<uint32_t>(list.size())};
    if (variable.space == Space::Reg) {
      if (declaration.width > 1 || !dimensions.empty())
        return fail(at,
                    "parameter '" + variable.name + "' must be one register");
      meaning.isRegister = true;
      meaning.type = variable.type;
      if (!isPrototype)
        variable.reg = meaning.first =
            addRegisters(function.registers, word, variable.type, 1);
    }
    // A prototype's parameters cannot be used, and '_' is the name of none.
    if (!isPrototype && word != "_" && !declare(word, meaning, at))
      return false;
    list.push_back(std::move(variable));
  } while (accept(","));
  return expect(")", "a parameter");
}

} // namespace act::runtime::ptx
