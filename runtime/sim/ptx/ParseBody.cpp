// SPDX-License-Identifier: Apache-2.0
//
// Statements of a function's body: labels, directives, instructions, blocks.
#include "runtime/sim/ptx/ModuleParser.h"

namespace act::runtime::ptx {
namespace {

constexpr uint64_t maximumExpandedNames = 1 << 16;

} // namespace

/// Declares in the innermost scope, or in the module.
bool ModuleParser::declare(std::string_view word, const Meaning &meaning,
                           const Token &at) {
  Scope &scope = scopes.empty() ? moduleNames : scopes.back();
  if (uint32_t line = scope.declare(word, meaning))
    return fail(at, "'" + std::string(word) +
                        "' is declared twice; first on line " +
                        std::to_string(line));
  return true;
}

bool ModuleParser::parseBody() {
  // The parameters' scope is the body's: a body cannot hide its parameters.
  bool good = parseBlock();
  scopes.clear(); // back in the module
  return good;
}

bool ModuleParser::parseBlock() {
  Token open = token;
  if (!enter(token))
    return false;
  advance();
  if (depth > 1)
    scopes.emplace_back();
  while (!token.is("}")) {
    if (token.kind == Token::End)
      return fail(open, "'{' is not closed before the end of the file");
    if (!parseStatement())
      return false;
  }
  advance();
  --depth;
  return closeScope();
}

/// Resolves the pending names that this scope declares; moves the rest to the
/// enclosing scope.
bool ModuleParser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (Pending &use : scope.pending) {
    const Meaning *meaning = scope.findExact(use.name);
    bool found = meaning && !meaning->isRegister;
    Token at;
    at.line = use.location.line;
    at.column = use.location.column;
    if (!found) {
      if (scopes.empty())
        return fail(at, "'" + std::string(use.name) + "' is not declared");
      scopes.back().pending.push_back(use);
    } else if (use.operand) {
      use.operand->symbol = meaning->symbol;
    } else if (meaning->symbol.kind != Symbol::Label) {
      return fail(at, "'" + std::string(use.name) + "' is not a label");
    } else {
      *use.target = meaning->symbol.index;
    }
  }
  return true;
}

bool ModuleParser::parseStatement() {
  if (token.is("{"))
    return parseBlock();
  if (token.kind == Token::Dotted)
    return parseDirectiveInBody();
  if (token.kind == Token::Word && peek().is(":"))
    return parseLabel();
  return parseInstruction();
}

bool ModuleParser::parseDirectiveInBody() {
  if (token.word == "reg")
    return parseRegisters();
  if (token.word == "loc")
    return parseLoc();
  if (token.word == "pragma")
    return parsePragma();
  Linkage linkage;
  return parseLinkage(linkage) && parseVariables(linkage, true);
}

bool ModuleParser::parseLabel() {
  Token at = token;
  advance();
  advance();
  if (acceptDotted("branchtargets"))
    return parseTargets(at.text, at);
  if (acceptDotted("calltargets"))
    return parseCallTargets(at.text, at);
  if (acceptDotted("callprototype"))
    return parsePrototype(at.text, at);
  auto index = static_cast<uint32_t>(function.instructions.size());
  Meaning meaning;
  meaning.line = at.line;
  meaning.symbol = {Symbol::Label, index};
  function.labels.push_back({std::string(at.text), index});
  return declare(at.text, meaning, at);
}

// ts: .branchtargets L1, L2, N<4>;
bool ModuleParser::parseTargets(std::string_view word, const Token &at) {
  std::vector<Pending> uses;
  do {
    Pending use;
    use.location = here();
    if (!parseName(use.name, "a label"))
      return false;
    if (!accept("<")) {
      uses.push_back(use);
      continue;
    }
    uint64_t count = 0;
    if (!parseCount(count, "the number of labels", maximumExpandedNames) ||
        !expect(">", "the number of labels"))
      return false;
    if ((expandedNames += count) > maximumExpandedNames)
      return fail(at, "more than " + std::to_string(maximumExpandedNames) +
                          " labels listed as ranges");
    std::string prefix(use.name);
    for (uint64_t i = 0; i < count; ++i) {
      ownedNames.push_back(prefix + std::to_string(i));
      use.name = ownedNames.back();
      uses.push_back(use);
    }
  } while (accept(","));
  if (uses.empty())
    return fail(at, "list of labels '" + std::string(word) + "' is empty");
  Meaning meaning;
  meaning.line = at.line;
  meaning.symbol = {Symbol::BranchTargets,
                    static_cast<uint32_t>(function.branchTargets.size())};
  function.branchTargets.emplace_back(uses.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    uses[i].target = &function.branchTargets.back()[i];
    scopes.back().pending.push_back(uses[i]);
  }
  return declare(word, meaning, at) && expect(";", "a list of labels");
}

bool ModuleParser::parseCallTargets(std::string_view word, const Token &at) {
  std::vector<uint32_t> targets;
  do {
    Token where = token;
    std::string_view wanted;
    if (!parseName(wanted, "the name of a function"))
      return false;
    const Meaning *meaning = moduleNames.findExact(wanted);
    if (!meaning || meaning->symbol.kind != Symbol::FunctionName)
      return fail(where, "'" + std::string(wanted) +
                             "' is not declared as a function");
    targets.push_back(meaning->symbol.index);
  } while (accept(","));
  Meaning meaning;
  meaning.line = at.line;
  meaning.symbol = {Symbol::CallTargets,
                    static_cast<uint32_t>(function.callTargets.size())};
  function.callTargets.push_back(std::move(targets));
  return declare(word, meaning, at) && expect(";", "a list of functions");
}

// p: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;
bool ModuleParser::parsePrototype(std::string_view word, const Token &at) {
  Function::Signature signature;
  if (token.is("(") &&
      !parseParameters(signature.results, Symbol::ReturnValue, true))
    return false;
  std::string_view sink;
  if (!parseName(sink, "'_' for the name of the function"))
    return false;
  if (token.is("(") &&
      !parseParameters(signature.parameters, Symbol::Parameter, true))
    return false;
  while (token.kind == Token::Dotted) {
    uint64_t ignored = 0;
    if (acceptDotted("noreturn"))
      signature.noReturn = true;
    else if (!acceptDotted("abi_preserve") &&
             !acceptDotted("abi_preserve_control"))
      return failExpected("'.noreturn' or ';'");
    else if (!parseCount(ignored, "a number", UINT32_MAX))
      return false;
  }
  Meaning meaning;
  meaning.line = at.line;
  meaning.symbol = {Symbol::Prototype,
                    static_cast<uint32_t>(function.prototypes.size())};
  function.prototypes.push_back(std::move(signature));
  return declare(word, meaning, at) && expect(";", "a prototype");
}

// @!%p bra L;
bool ModuleParser::parseInstruction() {
  Instruction instruction;
  instruction.location = here();
  sawLateName = false;
  if (accept("@")) {
    instruction.guardNegated = accept("!");
    Token at = token;
    Operand guard;
    if (!parseNamed(guard))
      return false;
    if (guard.kind != Operand::Reg ||
        function.registers[guard.reg].type != Type::Pred)
      return fail(at, "'" + std::string(at.text) + "' is not a predicate");
    instruction.guard = static_cast<int32_t>(guard.reg);
  }
  if (token.kind != Token::Word)
    return failExpected("an instruction");
  instruction.root = std::string(token.text);
  for (advance(); token.kind == Token::Dotted; advance())
    instruction.modifiers.emplace_back(token.word);
  bool isCall = instruction.root == "call";
  if (!token.is(";"))
    do {
      instruction.operands.emplace_back();
      if (!parseOperand(instruction.operands.back(), isCall))
        return false;
    } while (accept(","));
  if (!token.is(";"))
    return failExpected(
        ("',' or ';' after the operands of '" + instruction.spelling() + "'")
            .c_str());
  advance();
  if (sawLateName)
    awaitNames(instruction.operands);
  function.instructions.push_back(std::move(instruction));
  return true;
}

/// Keeps pointers to the operands: they are on the heap, so moving the
/// instruction does not move them.
void ModuleParser::awaitNames(std::vector<Operand> &operands) {
  for (Operand &operand : operands) {
    awaitNames(operand.elements);
    bool isLateName = operand.kind == Operand::SymbolRef &&
                      operand.symbol.kind == Symbol::Label &&
                      operand.symbol.index == UINT32_MAX;
    if (!isLateName)
      continue;
    ownedNames.push_back(operand.name);
    Pending use;
    use.name = ownedNames.back();
    use.location = operand.location;
    use.operand = &operand;
    scopes.back().pending.push_back(use);
  }
}

} // namespace act::runtime::ptx
