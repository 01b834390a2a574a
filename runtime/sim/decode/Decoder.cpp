// SPDX-License-Identifier: Apache-2.0
//
// What families are built with (Decoder.h). An error is kept and reported at
// the end, so these functions return something harmless after one.
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/decode/FrameLayout.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Symbol;
using ptx::Type;

namespace {
const Operand missing;
}

void Decoder::fail(const std::string &message) {
  if (hasFailed)
    return;
  hasFailed = true;
  error = {message,
           program->name + ":" + std::to_string(instruction->location.line)};
}

// ---- modifiers

bool Decoder::take(const char *word) {
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && instruction->modifiers[i] == word) {
      used[i] = true;
      return true;
    }
  return false;
}

bool Decoder::peek(const char *word) const {
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && instruction->modifiers[i] == word)
      return true;
  return false;
}

/// Most modifiers are accepted in any order. This is for the few pairs whose
/// order matters.
void Decoder::checkOrder(const char *first, const char *second) {
  auto at = [&](const char *word) {
    const auto &all = instruction->modifiers;
    return std::find_if(all.begin(), all.end(), [&](const std::string &m) {
      return m.rfind(word, 0) == 0; // "shared" matches shared::cta
    });
  };
  auto end = instruction->modifiers.end();
  if (at(first) != end && at(second) != end && at(second) < at(first))
    fail("'" + instruction->spelling() + "' has ." + second + " before ." +
         first + ", expected the other order");
}

int Decoder::oneOf(std::initializer_list<const char *> words, bool needed) {
  int index = 0;
  for (const char *word : words) {
    if (take(word))
      return index;
    ++index;
  }
  if (needed) {
    std::string list;
    for (const char *word : words)
      list += std::string(list.empty() ? "." : ", .") + word;
    fail("'" + instruction->spelling() + "' needs one of " + list);
  }
  return -1;
}

/// The first type among the words that are left. `allowed` empty: any type.
Type Decoder::type(std::initializer_list<Type> allowed) {
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i])
      continue;
    Type t = ptx::typeNamed(instruction->modifiers[i]);
    if (t == Type::None)
      continue;
    used[i] = true;
    if (allowed.size() &&
        std::find(allowed.begin(), allowed.end(), t) == allowed.end())
      fail("'" + instruction->spelling() + "' does not take the type ." +
           instruction->modifiers[i]);
    return t;
  }
  std::string left;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      left += "." + instruction->modifiers[i];
  fail("'" + instruction->spelling() + "' needs a type" +
       (left.empty() ? "" : "; '" + left + "' is not one"));
  return Type::B32;
}

std::vector<Type> Decoder::types() {
  std::vector<Type> result;
  for (size_t i = 0; i < used.size(); ++i)
    if (Type t = ptx::typeNamed(instruction->modifiers[i]);
        !used[i] && t != Type::None) {
      used[i] = true;
      result.push_back(t);
    }
  return result;
}

Rounding Decoder::rounding(Rounding byDefault) {
  static const std::pair<const char *, Rounding> words[] = {
      {"rn", Rounding::Rn},   {"rz", Rounding::Rz},   {"rm", Rounding::Rm},
      {"rp", Rounding::Rp},   {"rna", Rounding::Rna}, {"rni", Rounding::Rni},
      {"rzi", Rounding::Rzi}, {"rmi", Rounding::Rmi}, {"rpi", Rounding::Rpi},
      {"rs", Rounding::Rs}};
  for (auto &[word, rounding] : words)
    if (take(word))
      return rounding;
  return byDefault;
}

std::string Decoder::nextWord() {
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) {
      used[i] = true;
      return instruction->modifiers[i];
    }
  return "";
}

Scope Decoder::scope(Scope byDefault) {
  int i = oneOf({"cta", "cluster", "gpu", "sys"});
  if (i == 1)
    require(90, 78);
  return i < 0 ? byDefault : Scope(i);
}

unsigned Decoder::vector() {
  int i = oneOf({"v2", "v4", "v8"});
  return i < 0 ? 1 : 2u << i;
}

ptx::Space Decoder::space() {
  using ptx::Space;
  struct Word {
    const char *spelling;
    Space space;
    uint32_t sm, ptx10;
  };
  static const Word words[] = {{"global", Space::Global, 10, 10},
                               {"shared", Space::Shared, 10, 10},
                               {"shared::cta", Space::Shared, 30, 78},
                               {"shared::cluster", Space::Shared, 90, 78},
                               {"local", Space::Local, 10, 10},
                               {"const", Space::Const, 10, 10},
                               {"param", Space::Param, 10, 10},
                               {"param::entry", Space::Param, 70, 83},
                               {"param::func", Space::Param, 70, 83}};
  clusterSpace = peek("shared::cluster");
  for (const Word &word : words)
    if (take(word.spelling)) {
      require(word.sm, word.ptx10);
      return word.space;
    }
  return Space::Generic;
}

// ---- requirements

void Decoder::require(uint32_t sm, uint32_t ptx10) {
  const ptx::Module &m = module();
  // The module's own .target counts, not the device, which may be newer.
  if (m.sm < sm)
    fail("'" + instruction->spelling() + "' needs sm_" + std::to_string(sm) +
         " or higher; the module's target is " + m.target);
  uint32_t version = m.versionMajor * 10 + m.versionMinor;
  if (version < ptx10)
    fail("'" + instruction->spelling() + "' needs PTX " +
         std::to_string(ptx10 / 10) + "." + std::to_string(ptx10 % 10) +
         " or higher; the module says " + std::to_string(m.versionMajor) + "." +
         std::to_string(m.versionMinor));
}

void Decoder::requireSuffix(uint32_t sm, char suffix, uint32_t ptx10) {
  const ptx::Module &m = module();
  if (m.sm != sm || m.suffix != suffix)
    fail("'" + instruction->spelling() + "' needs sm_" + std::to_string(sm) +
         suffix + "; the module's target is " + m.target);
  require(sm, ptx10);
}

// ---- building

void Decoder::begin(Handler handler, Class kind, uint8_t flags) {
  decoded.run = handler;
  decoded.kind = kind;
  decoded.flags |= flags;
}

void Decoder::pushSlot(uint32_t slot) { slots.push_back(slot); }
void Decoder::reads(uint32_t slot, unsigned bytes) {
  readUses.push_back({slot, uint16_t(bytes)});
}
void Decoder::writes(uint32_t slot, unsigned bytes) {
  writeUses.push_back({slot, uint16_t(bytes)});
}
void Decoder::dropReads() { readUses.clear(); }
void Decoder::byBits(size_t first) {
  // Predicates and 128-bit registers are not tracked bit by bit.
  for (const std::vector<SlotUse> *uses : {&readUses, &writeUses})
    for (const SlotUse &use : *uses)
      if (use.bytes == 0 || use.bytes > 8)
        return;
  decoded.flags |= flagByBits;
  for (size_t k = first; k < readUses.size(); ++k)
    readUses[k].selects = true;
}

void Decoder::passes(size_t first) {
  for (size_t k = first; k < readUses.size(); ++k)
    readUses[k].passes = true;
}

uint32_t Decoder::scratch(unsigned bytes) { return layout->scratch(bytes); }
uint32_t Decoder::constant(uint64_t bits, unsigned bytes) {
  return layout->constant(bits, bytes);
}
uint32_t Decoder::special(Special which, unsigned bytes, uint64_t addend) {
  return layout->special(which, bytes, addend);
}

unsigned Decoder::registerBytes(const Operand &operand) const {
  return operand.kind == Operand::Reg
             ? slotBytes(owner->registers[operand.reg].type)
             : 0;
}

namespace {

// .b matches any type of its size, .u and .s match each other, a float matches
// only itself (PTX ISA 9.2). Predicates count as bits.
enum class Kind { Bits, Integer, Float };
Kind kindOf(Type type) {
  switch (type) {
  case Type::U8:
  case Type::U16:
  case Type::U32:
  case Type::U64:
  case Type::S8:
  case Type::S16:
  case Type::S32:
  case Type::S64:
    return Kind::Integer;
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
  case Type::F32:
  case Type::F64:
    return Kind::Float;
  default:
    return Kind::Bits;
  }
}

/// Whether an immediate fits the type. .f32 and .f64 take floating-point
/// constants, 16-bit floats none at all. Other types take integers; .b32 and
/// .b64 also take a float of their width, as bits.
bool takesNumber(Type type, const Operand &number) {
  bool isF32 = number.isF32, isF64 = number.isFloat && !isF32;
  switch (type) {
  case Type::F32:
  case Type::F64:
    return isF32 || isF64;
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
    return false;
  case Type::B32:
    return !isF64;
  case Type::B64:
    return !isF32;
  default:
    return !isF32 && !isF64;
  }
}

} // namespace

/// A float may be written in either width; it is converted when the program is
/// decoded.
uint32_t Decoder::immediateSlot(const Operand &o, Type type) {
  unsigned bytes = slotBytes(type);
  uint64_t bits = o.bits;
  if (!takesNumber(type, o))
    fail("'" + instruction->spelling() + "' does not take this number as ." +
         ptx::nameOf(type));
  if (type == Type::Pred)
    return layout->constant(bits ? ~0u : 0, 0);
  if (o.isF32 && type == Type::F64) {
    float f;
    uint32_t low = uint32_t(bits);
    std::memcpy(&f, &low, 4);
    double d = f;
    std::memcpy(&bits, &d, 8);
  } else if (o.isFloat && !o.isF32 && type == Type::F32) {
    double d;
    std::memcpy(&d, &bits, 8);
    float f = float(d);
    uint32_t low;
    std::memcpy(&low, &f, 4);
    bits = low;
  }
  return layout->constant(bits, bytes);
}

/// Only mov and cvt read special registers, except WARP_SZ, which is a
/// constant. Registers that change while a thread runs, such as %clock, are not
/// slots of the frame; mov has a handler for them.
uint32_t Decoder::specialSlot(const Operand &o, Type type, bool wide) {
  unsigned bytes = slotBytes(type);
  const SpecialRegister *special = specialNamed(o.name);
  if (!special) {
    fail((isChangingSpecial(o.name) ? "only mov reads "
                                    : "unknown special register ") +
         o.name);
    return layout->constant(0, bytes);
  }
  require(special->sm, special->ptx10);
  bool isConstant = special->which == Special::WarpSize;
  if (!isConstant && instruction->root != "mov" && instruction->root != "cvt")
    fail("only mov and cvt read " + o.name);
  unsigned width = type == Type::Pred ? 1 : ptx::bytesOf(type);
  if (kindOf(type) == Kind::Float ||
      !(wide ? special->widths >= width : special->widths & width))
    fail("'" + instruction->spelling() + "' does not take " + o.name);
  return layout->special(special->which, bytes, 0);
}

/// The address of a module's variable is a constant. That of a function's own
/// memory depends on the activation, so it is a special register of the frame.
/// A function's address is a number in a window of its own, which only calls
/// understand.
uint32_t Decoder::symbolSlot(const Operand &o, unsigned bytes,
                             ptx::Space &space) {
  using ptx::Space;
  const Symbol &s = o.symbol;
  switch (s.kind) {
  case Symbol::ModuleVariable: {
    const ptx::Variable &v = module().variables[s.index];
    space = v.space;
    uint64_t address =
        v.space == Space::Shared
            ? (v.isUnsized ? functionCode->dynamicSharedOffset
                           : program->placements[s.index].offset)
            : reinterpret_cast<uint64_t>(program->variables[s.index]);
    return layout->constant(address + o.offset, bytes);
  }
  case Symbol::FunctionVariable: {
    const Placement &p = functionCode->variables[s.index];
    space = p.space;
    if (p.space == Space::Shared)
      return layout->constant(p.offset + o.offset, bytes);
    return special(Special::LocalBase, bytes, p.offset + o.offset);
  }
  case Symbol::Parameter: {
    const Placement &p = functionCode->parameters[s.index];
    space = p.space;
    return special(owner->isEntry ? Special::ParameterBlock
                                  : Special::LocalBase,
                   bytes, p.offset + o.offset);
  }
  case Symbol::ReturnValue: {
    space = Space::Local;
    return special(Special::LocalBase, bytes,
                   functionCode->results[s.index].offset + o.offset);
  }
  case Symbol::FunctionName:
    space = Space::Generic;
    return layout->constant(functionWindow +
                                16 * (module().meantBy(s.index) + 1) + o.offset,
                            bytes);
  default:
    fail("'" + o.name + "' is not a value");
    return layout->constant(0, bytes);
  }
}

/// Whether a register may be used as `type` (PTX ISA 9.2). `wide` allows a
/// larger register, as ld, st and cvt do.
unsigned Decoder::checkedBytes(const ptx::Register &r, Type type, bool wide) {
  unsigned have = slotBytes(r.type), bytes = slotBytes(type);
  Kind is = kindOf(r.type), expected = kindOf(type);
  bool clash = is != Kind::Bits && expected != Kind::Bits &&
               (is != expected || (is == Kind::Float && r.type != type));
  if (clash || (r.type == Type::Pred) != (type == Type::Pred) ||
      (wide ? have < bytes : have != bytes))
    fail("register " + r.name + " is ." + ptx::nameOf(r.type) + ", expected ." +
         ptx::nameOf(type) + " in '" + instruction->spelling() + "'");
  return have;
}

/// Every kind of operand becomes a slot with 32 lanes, constants too, so
/// handlers do not tell them apart.
uint32_t Decoder::source(const Operand &o, Type type, bool wide) {
  unsigned bytes = slotBytes(type);
  uint32_t slot = 0;
  switch (o.kind) {
  case Operand::Reg: {
    slot = layout->registerSlot(o.reg);
    bytes = checkedBytes(owner->registers[o.reg], type, wide);
    break;
  }
  case Operand::Immediate:
    slot = immediateSlot(o, type);
    break;
  case Operand::Special:
    slot = specialSlot(o, type, wide);
    break;
  case Operand::SymbolRef: {
    ptx::Space space;
    slot = symbolSlot(o, bytes, space);
    break;
  }
  default:
    fail("'" + instruction->spelling() + "' expects a value of type ." +
         ptx::nameOf(type) + " as operand");
  }
  slots.push_back(slot);
  SlotUse use{slot, uint16_t(bytes)};
  if (type != Type::Pred)
    use.used = uint8_t(std::min(ptx::bytesOf(type), 8u));
  readUses.push_back(use);
  return slot;
}

/// A sink ("_") gets a slot that nobody reads, so handlers always have a place
/// to write to.
uint32_t Decoder::result(const Operand &o, Type type, bool wide) {
  unsigned bytes = slotBytes(type);
  uint32_t slot = 0;
  if (o.kind == Operand::Sink) {
    slot = layout->scratch(bytes);
  } else if (o.kind == Operand::Reg) {
    slot = layout->registerSlot(o.reg);
    bytes = checkedBytes(owner->registers[o.reg], type, wide);
  } else {
    fail("'" + instruction->spelling() + "' expects a register for its result");
  }
  slots.push_back(slot);
  writeUses.push_back({slot, uint16_t(bytes)});
  return slot;
}

uint32_t Decoder::source(size_t index, Type type, bool wide) {
  if (index >= operandCount()) {
    fail("'" + instruction->spelling() + "' expects more than " +
         std::to_string(operandCount()) + " operands");
    return 0;
  }
  usedOperands[index] = true;
  return source(instruction->operands[index], type, wide);
}

uint32_t Decoder::result(size_t index, Type type, bool wide) {
  if (index >= operandCount()) {
    fail("'" + instruction->spelling() + "' expects more than " +
         std::to_string(operandCount()) + " operands");
    return 0;
  }
  usedOperands[index] = true;
  return result(instruction->operands[index], type, wide);
}

const Operand &Decoder::operand(size_t index) {
  if (index >= operandCount()) {
    fail("'" + instruction->spelling() + "' expects more than " +
         std::to_string(operandCount()) + " operands");
    return missing;
  }
  usedOperands[index] = true;
  return instruction->operands[index];
}

std::vector<const Operand *> Decoder::elements(size_t index, unsigned count) {
  const Operand &o = operand(index);
  std::vector<const Operand *> all;
  for (const Operand &element : o.elements)
    all.push_back(&element);
  if (o.kind != Operand::Vector)
    all = {&o};
  else if (std::all_of(all.begin(), all.end(), [](const Operand *element) {
             return element->kind == Operand::Sink;
           }))
    fail("'" + instruction->spelling() + "' needs a register in its vector");
  if (all.size() != count)
    fail("'" + instruction->spelling() + "' moves " + std::to_string(count) +
         " elements");
  all.resize(count, &missing);
  return all;
}

uint32_t Decoder::sourcePredicate(size_t index, bool *negated) {
  *negated = index < operandCount() && instruction->operands[index].negated;
  return source(index, Type::Pred);
}

uint32_t Decoder::resultPredicate(const Operand &o) {
  return result(o, Type::Pred);
}

AddressOperand Decoder::address(const Operand &o) {
  AddressOperand a;
  if (o.kind != Operand::Address) {
    fail("'" + instruction->spelling() + "' expects an address in brackets");
    return a;
  }
  a.offset = o.offset;
  if (o.hasBase && o.baseIsSymbol) {
    Operand base = o;
    base.offset = 0;
    a.slot = symbolSlot(base, 8, a.space);
    a.symbol = o.symbol.kind;
    a.isParameter =
        a.symbol == Symbol::Parameter || a.symbol == Symbol::ReturnValue ||
        (a.symbol == Symbol::FunctionVariable &&
         owner->variables[o.symbol.index].space == ptx::Space::Param);
  } else if (o.hasBase) {
    a.bytes = slotBytes(owner->registers[o.reg].type);
    if (a.bytes != 4 && a.bytes != 8)
      fail("an address has 32 or 64 bits; register " +
           owner->registers[o.reg].name + " is ." +
           ptx::nameOf(owner->registers[o.reg].type));
    a.slot = layout->registerSlot(o.reg);
    readUses.push_back({a.slot, a.bytes});
  } else {
    a.isNumber = true;
    a.slot = layout->constant(0, 8);
  }
  return a;
}

AddressOperand Decoder::address(size_t index) {
  return address(operand(index));
}

int64_t Decoder::immediate(size_t index) {
  const Operand &o = operand(index);
  if (o.kind != Operand::Immediate || o.isFloat || o.isF32) {
    fail("operand " + std::to_string(index + 1) + " of '" +
         instruction->spelling() + "' must be an integer constant");
    return 0;
  }
  return int64_t(o.bits);
}

bool Decoder::isImmediate(size_t index) const {
  return index < operandCount() &&
         instruction->operands[index].kind == Operand::Immediate;
}

bool Decoder::isSink(size_t index) const {
  return index < operandCount() &&
         instruction->operands[index].kind == Operand::Sink;
}

/// Nothing may be ignored: a modifier that no family took could change the
/// meaning.
void Decoder::finish() {
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      fail("unknown modifier '." + instruction->modifiers[i] + "' in '" +
           instruction->spelling() + "'");
  for (size_t i = 0; i < usedOperands.size(); ++i)
    if (!usedOperands[i])
      fail("'" + instruction->spelling() + "' does not take " +
           std::to_string(usedOperands.size()) + " operands");
  if (!decoded.run)
    fail("'" + instruction->spelling() + "' is not known");
}

} // namespace act::runtime::sim
