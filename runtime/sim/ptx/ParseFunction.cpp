// SPDX-License-Identifier: Apache-2.0
//
// Functions: their head, parameters and performance directives.
#include "runtime/sim/ptx/ModuleParser.h"

namespace act::runtime::ptx {
namespace {

/// Whether two declarations agree in what a call has to know: spaces and sizes.
/// Names and element types may differ.
bool sameTypes(const std::vector<Variable> &a, const std::vector<Variable> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].space != b[i].space || a[i].bytes != b[i].bytes ||
        a[i].isUnsized != b[i].isUnsized)
      return false;
  return true;
}

} // namespace

bool ModuleParser::parseFunction(const Linkage &linkage) {
  function = Function();
  source = Location();
  scopes.clear();
  scopes.emplace_back();
  declaredRegisters = 0;
  function.isEntry = token.isDotted("entry");
  function.isExtern = linkage.isExtern;
  function.isVisible = linkage.isVisible;
  function.isWeak = linkage.isWeak;
  if (linkage.isCommon)
    return fail(token, "'.common' is for variables");
  advance();
  if (acceptDotted("attribute") && !parseAttribute())
    return false;
  if (!function.isEntry && token.is("(") &&
      !parseParameters(function.results, Symbol::ReturnValue, false))
    return false;
  Token at = token;
  std::string_view word;
  function.location = here();
  if (!parseName(word, "the name of a function"))
    return false;
  function.name = std::string(word);
  if (token.is("(") &&
      !parseParameters(function.parameters, Symbol::Parameter, false))
    return false;
  if (!parseFunctionDirectives())
    return false;
  function.hasBody = token.is("{");
  if (!announceFunction(at))
    return false;
  if (!function.hasBody) {
    if (!accept(";"))
      return failExpected("'{' or ';' after the head of a function");
    // A declaration after the definition adds nothing and must not replace it.
    Function &known = module->functions[functionIndex];
    if (!known.hasBody)
      known = std::move(function);
    scopes.clear(); // back in the module
    return true;
  }
  if (!parseBody())
    return false;
  module->functions[functionIndex] = std::move(function);
  return true;
}

/// A function may be declared many times and defined once.
bool ModuleParser::announceFunction(const Token &at) {
  if (const Meaning *old = moduleNames.findExact(at.text);
      old && old->symbol.kind == Symbol::FunctionName) {
    functionIndex = old->symbol.index;
    const Function &known = module->functions[functionIndex];
    if (known.hasBody && function.hasBody)
      return fail(at, "function '" + function.name +
                          "' is defined twice; first on line " +
                          std::to_string(known.location.line));
    if (known.isEntry != function.isEntry ||
        !sameTypes(known.results, function.results) ||
        !sameTypes(known.parameters, function.parameters))
      return fail(at, "function '" + function.name +
                          "' is declared differently on line " +
                          std::to_string(known.location.line));
    // The new head replaces the old one, so what only the old one said is
    // carried over.
    function.isVisible |= known.isVisible;
    function.isWeak |= known.isWeak;
    function.aliasOf = known.aliasOf;
    return true;
  }
  functionIndex = static_cast<uint32_t>(module->functions.size());
  Meaning meaning;
  meaning.symbol = {Symbol::FunctionName, functionIndex};
  meaning.line = at.line;
  if (uint32_t line = moduleNames.declare(at.text, meaning))
    return fail(at, "'" + function.name +
                        "' is declared twice; first on line " +
                        std::to_string(line));
  module->functions.emplace_back();
  module->functions.back().name = function.name;
  return true;
}

/// One to three numbers; missing ones are 1, as in ".maxntid 128".
bool ModuleParser::parseTriple(uint32_t (&values)[3]) {
  for (int i = 0; i < 3; ++i)
    values[i] = 1;
  for (int i = 0; i < 3; ++i) {
    Token at = token;
    uint64_t value = 0;
    if (!parseCount(value, "a number", UINT32_MAX))
      return false;
    if (value == 0)
      return fail(at, "expected a number that is not 0");
    values[i] = static_cast<uint32_t>(value);
    if (!accept(","))
      return true;
  }
  return failExpected("at most three numbers");
}

namespace {

/// The target and version that a function's directive needs.
struct DirectiveNeeds {
  std::string_view name;
  uint32_t sm, ptx10;
};
constexpr DirectiveNeeds directiveNeeds[] = {
    {"maxclusterrank", 90, 78},
    {"reqnctapercluster", 90, 78},
    {"explicitcluster", 90, 78},
    {"blocksareclusters", 90, 90},
};

/// The conflict between a function's directives; "" if there is none.
const char *conflict(const Function &function) {
  const Performance &p = function.performance;
  if (p.maxThreads[0] && p.requiredThreads[0])
    return "'.maxntid' and '.reqntid' contradict each other";
  if (p.maxClusterRank && p.requiredCluster[0])
    return "'.maxclusterrank' and '.reqnctapercluster' contradict each other";
  if (p.blocksAreClusters && !(p.requiredThreads[0] && p.requiredCluster[0]))
    return "'.blocksareclusters' needs '.reqntid' and '.reqnctapercluster'";
  if (p.noReturn && function.isEntry)
    return "'.noreturn' is for '.func' only; a kernel returns";
  return "";
}

} // namespace

bool ModuleParser::parseFunctionDirectives() {
  Token start = token;
  Performance &p = function.performance;
  while (token.kind == Token::Dotted) {
    Token at = token;
    if (at.word == "pragma") {
      if (!parsePragma())
        return false;
      continue;
    }
    advance();
    for (const DirectiveNeeds &needs : directiveNeeds)
      if (at.word == needs.name &&
          (module->sm < needs.sm ||
           module->versionMajor * 10 + module->versionMinor < needs.ptx10))
        return fail(at, "'" + std::string(at.text) + "' needs sm_" +
                            std::to_string(needs.sm) + " and PTX " +
                            std::to_string(needs.ptx10 / 10) + "." +
                            std::to_string(needs.ptx10 % 10) + " or higher");
    uint64_t value = 0;
    uint32_t *number = at.word == "maxnreg"          ? &p.maxRegisters
                       : at.word == "minnctapersm"   ? &p.minCtasPerSm
                       : at.word == "maxnctapersm"   ? &p.maxCtasPerSm
                       : at.word == "maxclusterrank" ? &p.maxClusterRank
                                                     : nullptr;
    if (number) {
      if (!parseCount(value, "a number", UINT32_MAX))
        return false;
      if (value == 0 && (at.word == "maxnreg" || at.word == "minnctapersm"))
        return fail(at, "'" + std::string(at.text) +
                            "' needs a number that is not 0");
      *number = static_cast<uint32_t>(value);
    } else if (at.word == "maxntid") {
      if (!parseTriple(p.maxThreads))
        return false;
    } else if (at.word == "reqntid") {
      if (!parseTriple(p.requiredThreads))
        return false;
    } else if (at.word == "reqnctapercluster") {
      if (!parseTriple(p.requiredCluster))
        return false;
    } else if (at.word == "explicitcluster") {
      p.explicitCluster = true;
    } else if (at.word == "blocksareclusters") {
      p.blocksAreClusters = true;
    } else if (at.word == "noreturn") {
      p.noReturn = true;
    } else if (at.word == "abi_preserve" || at.word == "abi_preserve_control") {
      if (!parseCount(value, "a number", UINT32_MAX))
        return false;
    } else {
      return fail(at, "unknown directive '" + std::string(at.text) +
                          "' of a function");
    }
  }
  const char *why = conflict(function);
  return !*why || fail(start, why);
}

} // namespace act::runtime::ptx
