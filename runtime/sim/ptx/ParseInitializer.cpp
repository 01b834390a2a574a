// SPDX-License-Identifier: Apache-2.0
//
// Initial values of variables, as bytes. An address is not known yet: it
// becomes a patch, which is filled in when the module is loaded.
#include "runtime/sim/ptx/ModuleParser.h"
#include <cstring>

namespace act::runtime::ptx {
namespace {

/// The bytes that a module's initialisers may span beyond 8 per character of
/// text: `x[2][1000000] = {{1}, {2}}` is short and has a long gap.
constexpr uint64_t maximumGapBytes = 64 << 20;

/// 0xFF00 selects byte 1.
int maskedByte(uint64_t mask) {
  for (int byte = 0; byte < 8; ++byte)
    if (mask == uint64_t(0xff) << (8 * byte))
      return byte;
  return -1;
}

} // namespace

bool ModuleParser::parseInitializer(Variable &variable, unsigned width,
                                    const std::vector<uint64_t> &dimensions,
                                    bool unsizedFirst) {
  if (bytesOf(variable.type) == 0 && token.is("{")) {
    // A sampler's or texture's properties: { addr_mode_0 = wrap, ... }
    return fail(token, "initialisers of ." +
                           std::string(nameOf(variable.type)) +
                           " variables are not supported");
  }
  if (variable.type == Type::F16 || variable.type == Type::F16x2 ||
      bytesOf(variable.type) == 0)
    return fail(token, "a variable of type ." +
                           std::string(nameOf(variable.type)) +
                           " cannot have an initialiser");
  std::vector<uint64_t> counts = dimensions;
  if (unsizedFirst)
    counts[0] = UINT64_MAX;
  if (width > 1)
    counts.push_back(width);
  uint64_t elements = 0;
  if (!parseInitialLevel(variable, counts, 0, 0, elements))
    return false;
  if (unsizedFirst) {
    uint64_t bytes = bytesOf(variable.type);
    for (size_t i = 1; i < counts.size(); ++i)
      bytes *= counts[i];
    variable.isUnsized = false;
    variable.bytes = bytes * elements;
    if (variable.bytes > maximumVariableBytes)
      return fail(token, "'" + variable.name + "' is larger than " +
                             std::to_string(maximumVariableBytes) + " bytes");
  }
  return true;
}

bool ModuleParser::parseInitialLevel(Variable &variable,
                                     const std::vector<uint64_t> &counts,
                                     size_t level, uint64_t at,
                                     uint64_t &elements) {
  if (level == counts.size())
    return parseInitialValue(variable, at);
  if (!expect("{", "'=' or '{': one brace for each dimension"))
    return false;
  uint64_t stride = bytesOf(variable.type);
  for (size_t i = level + 1; i < counts.size(); ++i)
    stride *= counts[i];
  for (elements = 0; !token.is("}"); ++elements) {
    if (elements && !expect(",", "an element of an initialiser"))
      return false;
    if (elements >= counts[level])
      return fail(token, "'" + variable.name + "' has only " +
                             std::to_string(counts[level]) +
                             " elements in this dimension");
    uint64_t inner = 0;
    if (!parseInitialLevel(variable, counts, level + 1, at + elements * stride,
                           inner))
      return false;
  }
  advance();
  return true;
}

// 4, generic(x)+4, x+4, 0xFF00(generic(x)), 0xFF(1000)
bool ModuleParser::parseInitialValue(Variable &variable, uint64_t at) {
  Token start = token;
  Variable::Patch patch;
  patch.at = at;
  patch.width = static_cast<uint8_t>(bytesOf(variable.type));
  if (token.kind == Token::Integer && peek().is("(")) {
    int byte = maskedByte(token.bits);
    if (byte < 0)
      return fail(token, "mask " + std::string(token.text) +
                             " does not select one byte of eight");
    patch.byte = static_cast<uint8_t>(byte);
    patch.width = 1;
    if (bytesOf(variable.type) != 1)
      return fail(token, "a mask needs elements of one byte, not ." +
                             std::string(nameOf(variable.type)));
    advance();
    advance();
    if (token.kind == Token::Word && token.text != "WARP_SZ")
      return parseInitialAddress(variable, std::move(patch)) &&
             expect(")", "the operand of a mask");
    Constant value;
    if (!parseConstant(value) || !expect(")", "the operand of a mask"))
      return false;
    if (!value.isInteger())
      return fail(start, "a mask needs an integer or an address");
    value.bits = value.bits >> (8 * byte) & 0xff;
    return storeInitial(variable, at, value, start);
  }
  if (token.kind == Token::Word && token.text != "WARP_SZ") {
    if (patch.width != 4 && patch.width != 8)
      return fail(token, "an address does not fit an element of type ." +
                             std::string(nameOf(variable.type)));
    return parseInitialAddress(variable, std::move(patch));
  }
  Constant value;
  return parseConstant(value) && storeInitial(variable, at, value, start);
}

bool ModuleParser::parseInitialAddress(Variable &variable,
                                       Variable::Patch patch) {
  patch.generic = token.text == "generic" && peek().is("(");
  if (patch.generic) {
    advance();
    advance();
  }
  Token at = token;
  std::string_view word;
  if (!parseName(word, "the name of a variable or function"))
    return false;
  const Meaning *meaning = find(word);
  bool isVariable = meaning && !meaning->isRegister &&
                    meaning->symbol.kind == Symbol::ModuleVariable;
  bool isFunction = meaning && !meaning->isRegister &&
                    meaning->symbol.kind == Symbol::FunctionName;
  if (!isVariable && !isFunction)
    return fail(at, "'" + std::string(word) +
                        "' is not declared as a variable or function of the "
                        "module");
  patch.symbol = isVariable ? module->variables[meaning->symbol.index].name
                            : std::string(word);
  if (!parseOffset(patch.addend))
    return false;
  if (patch.generic &&
      (!expect(")", "the operand of 'generic'") || !parseOffset(patch.addend)))
    return false;
  variable.patches.push_back(std::move(patch));
  return true;
}

bool ModuleParser::storeInitial(Variable &variable, uint64_t at,
                                const Constant &value, const Token &where) {
  Type type = variable.type;
  uint64_t width = bytesOf(type);
  bool isFloatType = type == Type::F32 || type == Type::F64;
  uint64_t bits = value.bits;
  if (isFloatType) {
    if (value.isInteger())
      return fail(where, "an integer as the value of an element of type ." +
                             std::string(nameOf(type)));
    double number = 0;
    float single = 0;
    if (value.kind == Constant::Single) {
      auto word = static_cast<uint32_t>(bits);
      memcpy(&single, &word, sizeof single);
      number = single;
    } else {
      memcpy(&number, &bits, sizeof number);
      single = static_cast<float>(number);
    }
    bool isPayload = value.kind == Constant::Single && type == Type::F32;
    if (type == Type::F64)
      memcpy(&bits, &number, sizeof number);
    else if (!isPayload) { // 0f keeps its bits, NaN payloads included
      bits = 0;
      memcpy(&bits, &single, sizeof single);
    }
  } else if ((value.kind == Constant::Single && width != 4) ||
             (value.kind == Constant::Double && width != 8)) {
    return fail(where, "a floating-point value does not fit an element of "
                       "type ." +
                           std::string(nameOf(type)));
  }
  if (width < 8)
    bits &= (uint64_t(1) << (8 * width)) - 1;
  if (bits == 0)
    return true; // bytes that are not stored are zero
  uint64_t end = at + width;
  if (end > variable.initial.size()) {
    initialBytes += end - variable.initial.size();
    if (initialBytes > maximumGapBytes + 8 * uint64_t(textSize))
      return fail(where, "initialisers span more than " +
                             std::to_string(maximumGapBytes) +
                             " bytes beyond what the file's length allows");
    variable.initial.resize(end);
  }
  for (uint64_t i = 0; i < width && i < 8; ++i)
    variable.initial[at + i] = static_cast<uint8_t>(bits >> (8 * i));
  return true;
}

} // namespace act::runtime::ptx
