// SPDX-License-Identifier: Apache-2.0
//
// The recursive-descent parser behind `parse`. Private to runtime/sim/ptx.
//
// Each parse... function starts at the first token of its construct and leaves
// `token` at the first one after it. It returns false on an error, which is the
// first and only one (`fail`). `depth` limits recursion.
#ifndef ACT_RUNTIME_SIM_PTX_MODULEPARSER_H
#define ACT_RUNTIME_SIM_PTX_MODULEPARSER_H
#include "runtime/sim/ptx/Lexer.h"
#include "runtime/sim/ptx/Names.h"
#include "runtime/sim/ptx/Parser.h"
#include <deque>

namespace act::runtime::ptx {

/// The value of a constant expression.
struct Constant {
  enum Kind : uint8_t { Signed, Unsigned, Double, Single };
  Kind kind = Signed;
  uint64_t bits = 0;
  bool isInteger() const { return kind == Signed || kind == Unsigned; }
};

class ModuleParser {
public:
  ModuleParser(std::string_view text, const std::string &name);
  Result<std::unique_ptr<Module>> run();

private:
  // Tokens (ModuleParser.cpp)
  void advance();
  const Token &peek();
  bool accept(std::string_view symbol);
  bool expect(std::string_view symbol, const char *after);
  bool acceptDotted(std::string_view word);
  bool fail(const Token &at, std::string message);
  bool failExpected(const char *what);
  bool enter(const Token &at); // one level deeper; pair with --depth
  bool parseName(std::string_view &name, const char *what);
  bool parseCount(uint64_t &value, const char *what, uint64_t most);
  Location here() const;

  // Module directives (ModuleParser.cpp)
  bool parseVersion();
  bool parseTarget();
  bool addTargetOption(const Token &at, std::string_view word);
  bool parseAddressSize();
  bool parseModule();
  bool parseModuleItem();
  bool parseFile();
  bool parseLoc();
  bool parseSection();
  bool parsePragma();
  bool parseAlias();
  bool skipDwarfLine();

  // Variables (ParseVariable.cpp)
  struct Linkage {
    bool isExtern = false, isVisible = false, isWeak = false, isCommon = false;
  };
  struct Declaration { // the part before the name
    Variable variable;
    unsigned width = 1; // of a vector
    bool hasAlign = false;
  };
  bool parseLinkage(Linkage &linkage);
  bool parseSpace(Space &space);
  bool parseDeclaration(Declaration &declaration);
  bool parseAttribute();
  bool parseAlign(uint32_t &align);
  bool parsePointer(Variable &variable);
  bool parseDimensions(std::vector<uint64_t> &dimensions, bool &unsizedFirst);
  bool sizeVariable(const Declaration &declaration, Variable &variable,
                    const std::vector<uint64_t> &dimensions, bool unsizedFirst);
  bool parseVariables(const Linkage &linkage, bool inFunction);
  bool parseDeclarator(const Declaration &declaration, bool inFunction);
  bool addVariable(Variable variable, std::string_view name, bool inFunction,
                   const Token &at, Variable *&added);
  bool parseRegisters();
  bool parseParameters(std::vector<Variable> &list, Symbol::Kind kind,
                       bool isPrototype);

  // Initialisers (ParseInitializer.cpp)
  bool parseInitializer(Variable &variable, unsigned width,
                        const std::vector<uint64_t> &dimensions,
                        bool unsizedFirst);
  bool parseInitialLevel(Variable &variable,
                         const std::vector<uint64_t> &counts, size_t level,
                         uint64_t at, uint64_t &elements);
  bool parseInitialValue(Variable &variable, uint64_t at);
  bool parseInitialAddress(Variable &variable, Variable::Patch patch);
  bool storeInitial(Variable &variable, uint64_t at, const Constant &value,
                    const Token &where);

  // Constant expressions (ParseConstant.cpp)
  bool startsConstant() const;
  bool parseConstant(Constant &value);
  bool parseBinary(Constant &value, int leastPrecedence);
  bool parseUnary(Constant &value);
  bool parsePrimary(Constant &value);
  bool combine(const Token &op, Constant &left, const Constant &right);
  bool parseOffset(int64_t &offset); // [+ or - term]...

  // Functions (ParseFunction.cpp)
  bool parseFunction(const Linkage &linkage);
  bool parseFunctionDirectives();
  bool parseTriple(uint32_t (&values)[3]);
  bool announceFunction(const Token &at);

  // Bodies (ParseBody.cpp)
  bool parseBody();
  bool parseBlock();
  bool parseStatement();
  bool parseDirectiveInBody();
  bool parseLabel();
  bool parseTargets(std::string_view name, const Token &at);
  bool parseCallTargets(std::string_view name, const Token &at);
  bool parsePrototype(std::string_view name, const Token &at);
  bool parseInstruction();
  bool declare(std::string_view name, const Meaning &meaning, const Token &at);
  bool closeScope();
  void awaitNames(std::vector<Operand> &operands);

  // Operands (ParseOperand.cpp)
  bool parseOperand(Operand &operand, bool inCall);
  bool parseOne(Operand &operand, bool inCall);
  bool parseList(Operand &operand, Operand::Kind kind, const char *close,
                 bool inCall);
  bool parseAddress(Operand &operand);
  bool parseNamed(Operand &operand);
  bool parseComponent(Operand &operand, const Meaning &meaning);
  const Meaning *find(std::string_view name);

  Lexer lexer;
  std::string name;
  size_t textSize;
  Token token, ahead;
  bool hasAhead = false;
  Error error;
  bool failed = false;
  unsigned depth = 0;
  uint64_t initialBytes = 0;  // of all initialisers, gaps included
  uint64_t expandedNames = 0; // from ranges of variables and labels
  Location source;            // of the last .loc
  std::unique_ptr<Module> module;

  Scope moduleNames;
  std::deque<std::string> ownedNames; // not views of the text
  // of the function being read
  Function function;
  uint32_t functionIndex = 0;
  std::vector<Scope> scopes; // [0]: parameters and results
  uint64_t declaredRegisters = 0;
  bool sawLateName = false; // in the current instruction
};

} // namespace act::runtime::ptx
#endif
