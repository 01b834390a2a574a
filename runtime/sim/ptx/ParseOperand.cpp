// SPDX-License-Identifier: Apache-2.0
//
// Operands of instructions, and the names of special registers.
#include "runtime/sim/ptx/ModuleParser.h"
#include <cstring>

namespace act::runtime::ptx {
namespace {

constexpr std::string_view threeDimensional[] = {
    "tid",       "ntid",       "ctaid",         "nctaid",
    "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"};
constexpr std::string_view scalar[] = {"laneid",
                                       "warpid",
                                       "nwarpid",
                                       "smid",
                                       "nsmid",
                                       "gridid",
                                       "is_explicit_cluster",
                                       "cluster_ctarank",
                                       "cluster_nctarank",
                                       "lanemask_eq",
                                       "lanemask_le",
                                       "lanemask_lt",
                                       "lanemask_ge",
                                       "lanemask_gt",
                                       "clock",
                                       "clock_hi",
                                       "clock64",
                                       "globaltimer",
                                       "globaltimer_lo",
                                       "globaltimer_hi",
                                       "reserved_smem_offset_begin",
                                       "reserved_smem_offset_end",
                                       "reserved_smem_offset_cap",
                                       "reserved_smem_offset_0",
                                       "reserved_smem_offset_1",
                                       "total_smem_size",
                                       "aggr_smem_size",
                                       "dynamic_smem_size",
                                       "current_graph_exec"};

enum class SpecialKind { No, Scalar, ThreeDimensional };

/// %envreg<32>, %pm<8>, %pm<8>_64
bool isNumbered(std::string_view word, std::string_view prefix, unsigned count,
                std::string_view suffix) {
  if (word.size() <= prefix.size() + suffix.size() ||
      word.substr(0, prefix.size()) != prefix ||
      word.substr(word.size() - suffix.size()) != suffix)
    return false;
  word =
      word.substr(prefix.size(), word.size() - prefix.size() - suffix.size());
  unsigned n = 0;
  for (char c : word) {
    if (c < '0' || c > '9' || word.size() > 2)
      return false;
    n = n * 10 + static_cast<unsigned>(c - '0');
  }
  return n < count && (word.size() == 1 || word[0] != '0');
}

SpecialKind specialNamed(std::string_view name) {
  if (name.empty() || name[0] != '%')
    return SpecialKind::No;
  name.remove_prefix(1);
  for (std::string_view s : threeDimensional)
    if (s == name)
      return SpecialKind::ThreeDimensional;
  for (std::string_view s : scalar)
    if (s == name)
      return SpecialKind::Scalar;
  return isNumbered(name, "envreg", 32, "") || isNumbered(name, "pm", 8, "") ||
                 isNumbered(name, "pm", 8, "_64")
             ? SpecialKind::Scalar
             : SpecialKind::No;
}

/// .b0 .h1 .b3210: the bytes or halves that a video instruction takes.
bool isSelector(std::string_view word) {
  if (word.size() < 2 || word.size() > 5 || (word[0] != 'b' && word[0] != 'h'))
    return false;
  for (char c : word.substr(1))
    if (c < '0' || c > '7')
      return false;
  return true;
}

/// Kinds of names that may be used before their declaration.
bool isLate(Symbol::Kind kind) {
  return kind == Symbol::Label || kind == Symbol::BranchTargets ||
         kind == Symbol::CallTargets || kind == Symbol::Prototype;
}

void become(Operand &operand, const Constant &value) {
  operand.kind = Operand::Immediate;
  operand.bits = value.bits;
  operand.isFloat = !value.isInteger();
  operand.isF32 = value.kind == Constant::Single;
  operand.isUnsigned = value.kind == Constant::Unsigned;
}

} // namespace

/// The innermost meaning. Null also for labels and the like, even known ones: a
/// later declaration in an inner scope may still hide them.
const Meaning *ModuleParser::find(std::string_view wanted) {
  for (size_t i = scopes.size(); i-- > 0;)
    if (const Meaning *m = scopes[i].find(wanted, function.registers))
      return !m->isRegister && isLate(m->symbol.kind) ? nullptr : m;
  return moduleNames.findExact(wanted);
}

/// One operand, or the pair d|p of a result and a predicate. The pair is read
/// here rather than in parseOne(), because elements of lists cannot be pairs.
bool ModuleParser::parseOperand(Operand &operand, bool inCall) {
  if (!parseOne(operand, inCall))
    return false;
  bool canPair = operand.kind == Operand::Reg || operand.kind == Operand::Sink;
  if (!canPair || operand.negated || !token.is("|"))
    return true;
  Token bar = token;
  advance();
  Operand pair;
  pair.kind = Operand::PredPair;
  pair.location = operand.location;
  pair.elements.resize(2);
  pair.elements[0] = std::move(operand);
  if (!parseOne(pair.elements[1], false))
    return false;
  const Operand &second = pair.elements[1];
  if ((second.kind != Operand::Reg && second.kind != Operand::Sink) ||
      second.negated)
    return fail(bar, "expected a register or '_' after '|'");
  operand = std::move(pair);
  return true;
}

bool ModuleParser::parseOne(Operand &operand, bool inCall) {
  operand.location = here();
  if (token.is("{"))
    return parseList(operand, Operand::Vector, "}", false);
  if (token.is("(") && inCall)
    return parseList(operand, Operand::List, ")", false);
  if (token.is("["))
    return parseAddress(operand);
  if (token.is("!") && peek().kind == Token::Word) {
    Token at = token;
    advance();
    if (!parseNamed(operand))
      return false;
    if (operand.kind != Operand::Reg)
      return fail(at, "expected a register after '!'");
    operand.negated = true;
    return true;
  }
  if (startsConstant()) {
    Constant value;
    if (!parseConstant(value))
      return false;
    become(operand, value);
    return true;
  }
  if (token.kind != Token::Word)
    return failExpected("an operand");
  if (token.text == "_") {
    operand.kind = Operand::Sink;
    advance();
    return true;
  }
  if (!parseNamed(operand))
    return false;
  return operand.kind != Operand::SymbolRef || parseOffset(operand.offset);
}

bool ModuleParser::parseList(Operand &operand, Operand::Kind kind,
                             const char *close, bool inCall) {
  operand.kind = kind;
  if (!enter(token))
    return false;
  advance();
  if (!token.is(close))
    do {
      operand.elements.emplace_back();
      if (!parseOne(operand.elements.back(), inCall))
        return false;
    } while (accept(","));
  --depth;
  return expect(close, "an element of a list");
}

// [reg+4] [sym] [0x10] [map, {c0, c1}] [map, sampler, {x, y}]
bool ModuleParser::parseAddress(Operand &operand) {
  operand.kind = Operand::Address;
  if (!enter(token))
    return false;
  advance();
  if (token.kind == Token::Word && token.text != "WARP_SZ") {
    Token at = token;
    Operand base;
    // An unknown name may be a label that follows, but a label is no address.
    // The flag tells the two apart; the instruction's own flag is kept.
    bool before = sawLateName;
    sawLateName = false;
    if (!parseNamed(base))
      return false;
    bool isLateName = sawLateName;
    sawLateName = before;
    if (isLateName)
      return fail(at, "'" + std::string(at.text) + "' is not declared");
    if (base.kind != Operand::Reg && base.kind != Operand::SymbolRef)
      return fail(at,
                  "expected a register or a variable as an address, found " +
                      at.described());
    operand.hasBase = true;
    operand.baseIsSymbol = base.kind == Operand::SymbolRef;
    operand.reg = base.reg;
    operand.symbol = base.symbol;
    operand.name = std::move(base.name);
  } else {
    Token at = token;
    Constant value;
    if (!startsConstant())
      return failExpected("an address");
    if (!parseConstant(value))
      return false;
    if (!value.isInteger())
      return fail(at, "an address must be an integer");
    operand.offset = static_cast<int64_t>(value.bits);
  }
  if (!parseOffset(operand.offset))
    return false;
  if (token.is(",")) {
    Operand tensor;
    tensor.kind = Operand::Tensor;
    tensor.location = operand.location;
    tensor.elements.push_back(std::move(operand));
    while (accept(",")) {
      tensor.elements.emplace_back();
      if (!parseOne(tensor.elements.back(), false))
        return false;
    }
    operand = std::move(tensor);
  }
  --depth;
  return expect("]", "an address");
}

/// Declared names hide special registers. A name that nobody has declared yet
/// is taken for a label or the like, and waits until its scope closes.
bool ModuleParser::parseNamed(Operand &operand) {
  Token at = token;
  std::string_view wanted;
  if (!parseName(wanted, "a name"))
    return false;
  // "%r.x" names a part; "%r .x" does not, so the dot must touch the name.
  bool hasComponent = token.kind == Token::Dotted && token.begin == at.end;
  if (const Meaning *meaning = find(wanted)) {
    if (meaning->isRegister)
      return parseComponent(operand, *meaning);
    if (hasComponent)
      return fail(token, "'" + std::string(wanted) + "' has no parts");
    operand.kind = Operand::SymbolRef;
    operand.symbol = meaning->symbol;
    operand.name = std::string(wanted);
    return true;
  }
  SpecialKind special = specialNamed(wanted);
  if (special != SpecialKind::No) {
    operand.kind = Operand::Special;
    operand.name = std::string(wanted);
    if (!hasComponent)
      return true;
    if (special != SpecialKind::ThreeDimensional || token.word.size() != 1 ||
        !strchr("xyzw", token.word[0]))
      return fail(token, "'" + std::string(wanted) + "' has no part '" +
                             std::string(token.text) + "'");
    operand.name += token.text;
    advance();
    return true;
  }
  if (wanted[0] == '%')
    return fail(at, "register '" + std::string(wanted) + "' is not declared");
  if (hasComponent)
    return fail(at, "'" + std::string(wanted) + "' is not declared");
  operand.kind = Operand::SymbolRef;
  operand.symbol = {Symbol::Label, UINT32_MAX};
  operand.name = std::string(wanted);
  sawLateName = true;
  return true;
}

// v.x of a vector; r.b0 of a register; the vector itself is {v.x, v.y, ...}
bool ModuleParser::parseComponent(Operand &operand, const Meaning &meaning) {
  operand.kind = Operand::Reg;
  operand.reg = meaning.first;
  if (token.kind == Token::Dotted && meaning.width > 1 &&
      token.word.size() == 1) {
    for (const char *letters : {"xyzw", "rgba"})
      if (const char *p = strchr(letters, token.word[0]);
          p && p - letters < meaning.width) {
        operand.reg += static_cast<uint32_t>(p - letters);
        advance();
        return true;
      }
  }
  if (token.kind == Token::Dotted) {
    if (meaning.width > 1 || !isSelector(token.word))
      return fail(token,
                  "register has no part '" + std::string(token.text) + "'");
    operand.name = std::string(token.word);
    advance();
    return true;
  }
  if (meaning.width > 1) {
    operand.kind = Operand::Vector;
    for (unsigned i = 0; i < meaning.width; ++i) {
      Operand element;
      element.kind = Operand::Reg;
      element.reg = meaning.first + i;
      element.location = operand.location;
      operand.elements.push_back(std::move(element));
    }
  }
  return true;
}

} // namespace act::runtime::ptx
