// SPDX-License-Identifier: Apache-2.0
//
// A module as PTX text (Print.h). The tests parse what is printed and compare.
#include "runtime/sim/ptx/Print.h"
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>

namespace act::runtime::ptx {
namespace {

std::string hex(const char *prefix, unsigned digits, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%s%0*" PRIX64, prefix, static_cast<int>(digits),
           value);
  return text;
}

std::string signedText(uint64_t bits) {
  // INT64_MIN has no literal: 9223372036854775808 is unsigned.
  if (bits == uint64_t(1) << 63)
    return "-9223372036854775807-1";
  return std::to_string(static_cast<int64_t>(bits));
}

std::string offsetText(int64_t offset) {
  return offset ? "+" + std::to_string(offset) : "";
}

bool isOpaque(Type type) {
  return type == Type::TexRef || type == Type::SamplerRef ||
         type == Type::SurfRef;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

std::string elementText(Type type, uint64_t bits) {
  if (type == Type::F32)
    return hex("0f", 8, bits);
  if (type == Type::F64)
    return hex("0d", 16, bits);
  unsigned width = std::min(8u, bytesOf(type)) * 8;
  if (!isSigned(type) || !(bits >> (width - 1) & 1))
    return std::to_string(bits);
  return signedText(width == 64 ? bits : bits | ~uint64_t(0) << width);
}

/// An address stored as an initial value. In an array of bytes each element
/// holds one byte of the address, which PTX writes as a mask: 0xFF00(symbol) is
/// byte 1.
std::string patchText(const Variable::Patch &patch, unsigned width) {
  std::string offset = offsetText(patch.addend);
  std::string text = patch.generic ? "generic(" + patch.symbol + ")" + offset
                                   : patch.symbol + offset;
  if (width > 1)
    return text;
  return hex("0x", 2, uint64_t(0xff) << (8 * patch.byte)) + "(" + text + ")";
}

std::string initialText(const Variable &variable) {
  unsigned width = bytesOf(variable.type);
  if (width == 0)
    return "";
  uint64_t end = variable.initial.size();
  std::map<uint64_t, const Variable::Patch *> patches;
  for (const Variable::Patch &patch : variable.patches) {
    patches[patch.at] = &patch;
    end = std::max(end, patch.at + width);
  }
  if (end == 0)
    return "";
  std::string text = " = ", separator;
  bool isScalar = variable.bytes == width;
  if (!isScalar)
    text += "{";
  for (uint64_t at = 0; at < end; at += width) {
    text += separator;
    separator = ", ";
    auto patch = patches.find(at);
    if (patch != patches.end()) {
      text += patchText(*patch->second, width);
      continue;
    }
    uint64_t bits = 0;
    for (unsigned i = 0; i < width && i < 8; ++i)
      if (at + i < variable.initial.size())
        bits |= uint64_t(variable.initial[at + i]) << (8 * i);
    text += elementText(variable.type, bits);
  }
  return text + (isScalar ? "" : "}");
}

/// Space, type, name and size, as in parameters and variables.
std::string declarationText(const Variable &v, const std::string &name) {
  std::string text = "." + std::string(nameOf(v.space));
  unsigned width = isOpaque(v.type) ? 8 : bytesOf(v.type);
  if (!isOpaque(v.type) && v.align != width)
    text += " .align " + std::to_string(v.align);
  bool isHandle = v.isPointer && isOpaque(v.type);
  text += " ." + std::string(isHandle ? "u64" : nameOf(v.type));
  if (v.isPointer) {
    text += " .ptr";
    if (isHandle)
      text += " ." + std::string(nameOf(v.type));
    if (v.pointee != Space::Generic)
      text += " ." + std::string(nameOf(v.pointee));
    if (v.pointeeAlign)
      text += " .align " + std::to_string(v.pointeeAlign);
  }
  text += " " + name;
  if (v.isUnsized)
    text += "[]";
  else if (v.bytes != width)
    text += "[" + std::to_string(v.bytes / std::max(1u, width)) + "]";
  return text;
}

std::string linkageText(bool isExtern, bool isVisible, bool isWeak,
                        bool isCommon) {
  return std::string(isExtern ? ".extern " : "") +
         (isVisible ? ".visible " : "") + (isWeak ? ".weak " : "") +
         (isCommon ? ".common " : "");
}

std::string parameterList(const std::vector<Variable> &list, bool named) {
  std::string text = "(", separator;
  for (const Variable &variable : list) {
    text += separator + declarationText(variable, named ? variable.name : "_");
    separator = ", ";
  }
  return text + ")";
}

std::string tripleText(const char *directive, const uint32_t (&values)[3]) {
  if (!values[0])
    return "";
  return std::string("\n.") + directive + " " + std::to_string(values[0]) +
         ", " + std::to_string(values[1]) + ", " + std::to_string(values[2]);
}

std::string headText(const Function &f) {
  std::string text = linkageText(f.isExtern, f.isVisible, f.isWeak, false);
  text += f.isEntry ? ".entry " : ".func ";
  if (!f.results.empty())
    text += parameterList(f.results, true) + " ";
  text += f.name + parameterList(f.parameters, true);
  const Performance &p = f.performance;
  auto number = [&](const char *directive, uint32_t value) {
    if (value)
      text += std::string("\n.") + directive + " " + std::to_string(value);
  };
  text += tripleText("maxntid", p.maxThreads);
  text += tripleText("reqntid", p.requiredThreads);
  number("maxnreg", p.maxRegisters);
  number("minnctapersm", p.minCtasPerSm);
  number("maxnctapersm", p.maxCtasPerSm);
  text += tripleText("reqnctapercluster", p.requiredCluster);
  number("maxclusterrank", p.maxClusterRank);
  text += p.explicitCluster ? "\n.explicitcluster" : "";
  text += p.blocksAreClusters ? "\n.blocksareclusters" : "";
  text += p.noReturn ? "\n.noreturn" : "";
  return text;
}

/// Prints one function; makes its names unique without nested braces.
class FunctionPrinter {
public:
  FunctionPrinter(const Module &module, const Function &function);
  std::string body();
  std::string instruction(const Instruction &instruction) const;

private:
  std::string unique(const std::string &name);
  void nameLabels();
  void needLabels(const std::vector<Operand> &operands);
  std::string declarations() const;
  std::string operand(const Operand &operand) const;
  std::string list(const std::vector<Operand> &elements, size_t first) const;
  std::string address(const Operand &operand) const; // without brackets
  std::string symbol(const Symbol &symbol) const;

  const Module &module;
  const Function &f;
  std::set<std::string> taken;
  std::vector<std::string> registers, variables, branchTargets, callTargets,
      prototypes;
  std::map<uint32_t, std::vector<std::string>> labels; // by instruction
  size_t parameterRegisters = 0; // these are declared in the head
};

FunctionPrinter::FunctionPrinter(const Module &module, const Function &function)
    : module(module), f(function) {
  for (const Variable &variable : module.variables)
    taken.insert(variable.name);
  for (const Function &other : module.functions)
    taken.insert(other.name);
  for (const auto *list : {&f.results, &f.parameters})
    for (const Variable &variable : *list) {
      taken.insert(variable.name);
      parameterRegisters += variable.space == Space::Reg;
    }
  for (size_t i = 0; i < f.registers.size(); ++i)
    registers.push_back(i < parameterRegisters ? f.registers[i].name
                                               : unique(f.registers[i].name));
  for (const Variable &variable : f.variables)
    variables.push_back(unique(variable.name));
  for (size_t i = 0; i < f.branchTargets.size(); ++i)
    branchTargets.push_back(unique("$targets" + std::to_string(i)));
  for (size_t i = 0; i < f.callTargets.size(); ++i)
    callTargets.push_back(unique("$calls" + std::to_string(i)));
  for (size_t i = 0; i < f.prototypes.size(); ++i)
    prototypes.push_back(unique("$prototype" + std::to_string(i)));
  nameLabels();
}

/// A body has nested scopes, in which inner names may hide outer ones. The
/// printed body is flat, so a repeated name gets a number. A '.' comes from a
/// vector's part ("%v.x"), which is printed as a register of its own.
std::string FunctionPrinter::unique(const std::string &name) {
  std::string plain = name;
  std::replace(plain.begin(), plain.end(), '.', '$');
  std::string candidate = plain;
  for (unsigned i = 1; !taken.insert(candidate).second; ++i)
    candidate = plain + "$" + std::to_string(i);
  return candidate;
}

/// Targets are instruction numbers in the tree. Each that is used needs a name
/// in the text.
void FunctionPrinter::nameLabels() {
  for (const Function::LabelName &label : f.labels)
    labels[label.instruction].push_back(unique(label.name));
  for (const Instruction &instruction : f.instructions)
    needLabels(instruction.operands);
  for (const auto &list : f.branchTargets)
    for (uint32_t index : list)
      if (labels[index].empty())
        labels[index].push_back(unique("$at" + std::to_string(index)));
}

void FunctionPrinter::needLabels(const std::vector<Operand> &operands) {
  for (const Operand &o : operands) {
    needLabels(o.elements);
    if (o.kind == Operand::SymbolRef && o.symbol.kind == Symbol::Label &&
        labels[o.symbol.index].empty())
      labels[o.symbol.index].push_back(
          unique("$at" + std::to_string(o.symbol.index)));
  }
}

std::string FunctionPrinter::symbol(const Symbol &s) const {
  switch (s.kind) {
  case Symbol::ModuleVariable:
    return module.variables[s.index].name;
  case Symbol::FunctionVariable:
    return variables[s.index];
  case Symbol::Parameter:
    return f.parameters[s.index].name;
  case Symbol::ReturnValue:
    return f.results[s.index].name;
  case Symbol::FunctionName:
    return module.functions[s.index].name;
  case Symbol::Label:
    return labels.at(s.index).front();
  case Symbol::BranchTargets:
    return branchTargets[s.index];
  case Symbol::CallTargets:
    return callTargets[s.index];
  case Symbol::Prototype:
    return prototypes[s.index];
  }
  return "";
}

std::string FunctionPrinter::address(const Operand &o) const {
  if (!o.hasBase)
    return signedText(static_cast<uint64_t>(o.offset));
  return (o.baseIsSymbol ? symbol(o.symbol) : registers[o.reg]) +
         offsetText(o.offset);
}

std::string FunctionPrinter::list(const std::vector<Operand> &elements,
                                  size_t first) const {
  std::string text;
  for (size_t i = first; i < elements.size(); ++i)
    text += (i > first ? ", " : "") + operand(elements[i]);
  return text;
}

std::string FunctionPrinter::operand(const Operand &o) const {
  switch (o.kind) {
  case Operand::Reg:
    return (o.negated ? "!" : "") + registers[o.reg] +
           (o.name.empty() ? "" : "." + o.name);
  case Operand::Special:
    return o.name;
  case Operand::Immediate:
    if (o.isFloat)
      return o.isF32 ? hex("0f", 8, o.bits) : hex("0d", 16, o.bits);
    if (o.isUnsigned)
      return std::to_string(o.bits) + "U";
    return signedText(o.bits);
  case Operand::SymbolRef:
    return symbol(o.symbol) + offsetText(o.offset);
  case Operand::Address:
    return "[" + address(o) + "]";
  case Operand::Vector:
    return "{" + list(o.elements, 0) + "}";
  case Operand::Sink:
    return "_";
  case Operand::PredPair:
    return operand(o.elements[0]) + "|" + operand(o.elements[1]);
  case Operand::Tensor:
    return "[" + address(o.elements[0]) + ", " + list(o.elements, 1) + "]";
  case Operand::List:
    return "(" + list(o.elements, 0) + ")";
  }
  return "";
}

std::string FunctionPrinter::instruction(const Instruction &i) const {
  std::string text;
  if (i.guard >= 0)
    text = (i.guardNegated ? "@!" : "@") +
           registers[static_cast<size_t>(i.guard)] + " ";
  text += i.spelling();
  if (!i.operands.empty())
    text += " " + list(i.operands, 0);
  return text;
}

std::string FunctionPrinter::declarations() const {
  std::string text;
  constexpr size_t perLine = 8;
  for (size_t i = parameterRegisters, inLine = 0; i < registers.size(); ++i) {
    bool continues = inLine && inLine < perLine &&
                     f.registers[i].type == f.registers[i - 1].type;
    if (!continues) {
      text += (inLine ? ";\n" : "") + std::string("\t.reg .") +
              nameOf(f.registers[i].type) + " " + registers[i];
      inLine = 1;
    } else {
      text += ", " + registers[i];
      ++inLine;
    }
  }
  if (registers.size() > parameterRegisters)
    text += ";\n";
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable &v = f.variables[i];
    text += "\t" + linkageText(v.isExtern, v.isVisible, v.isWeak, v.isCommon) +
            declarationText(v, variables[i]) + ";\n";
  }
  for (size_t i = 0; i < prototypes.size(); ++i) {
    const Function::Signature &s = f.prototypes[i];
    text += prototypes[i] + ": .callprototype " +
            (s.results.empty() ? "" : parameterList(s.results, false) + " ") +
            "_ " + parameterList(s.parameters, false) +
            (s.noReturn ? " .noreturn" : "") + ";\n";
  }
  auto targets = [&](const std::vector<uint32_t> &list, Symbol::Kind kind) {
    std::string names;
    for (uint32_t index : list)
      names += (names.empty() ? "" : ", ") + symbol({kind, index});
    return names;
  };
  for (size_t i = 0; i < callTargets.size(); ++i)
    text += callTargets[i] + ": .calltargets " +
            targets(f.callTargets[i], Symbol::FunctionName) + ";\n";
  for (size_t i = 0; i < branchTargets.size(); ++i)
    text += branchTargets[i] + ": .branchtargets " +
            targets(f.branchTargets[i], Symbol::Label) + ";\n";
  return text;
}

std::string FunctionPrinter::body() {
  std::string text = "{\n" + declarations();
  Location last;
  auto printLabels = [&](auto from, auto to) {
    for (auto label = from; label != to; ++label)
      for (const std::string &name : label->second)
        text += name + ":\n";
  };
  for (uint32_t i = 0; i < f.instructions.size(); ++i) {
    const Location &at = f.instructions[i].location;
    printLabels(labels.lower_bound(i), labels.upper_bound(i));
    bool moved = at.file != last.file || at.sourceLine != last.sourceLine ||
                 at.sourceColumn != last.sourceColumn;
    if (moved)
      text += "\t.loc " + std::to_string(at.file) + " " +
              std::to_string(at.sourceLine) + " " +
              std::to_string(at.sourceColumn) + "\n";
    last = at;
    text += "\t" + instruction(f.instructions[i]) + ";\n";
  }
  auto end = static_cast<uint32_t>(f.instructions.size());
  printLabels(labels.lower_bound(end), labels.end());
  return text + "}\n";
}

/// Prints a module. Functions are declared in the order of their indices, and
/// defined once everything that they name has been declared.
class ModulePrinter {
public:
  explicit ModulePrinter(const Module &module) : m(module) {}
  std::string run();

private:
  void announce(uint32_t index, bool mayDefine);
  void define(uint32_t index);
  void defineWaiting();
  uint32_t lastNamed(const Function &function) const;
  void lastNamed(const std::vector<Operand> &operands, uint32_t &last) const;

  const Module &m;
  std::string text;
  uint32_t announced = 0;
  std::vector<uint32_t> waiting;
};

void ModulePrinter::lastNamed(const std::vector<Operand> &operands,
                              uint32_t &last) const {
  for (const Operand &o : operands) {
    lastNamed(o.elements, last);
    if ((o.kind == Operand::SymbolRef ||
         (o.kind == Operand::Address && o.baseIsSymbol)) &&
        o.symbol.kind == Symbol::FunctionName)
      last = std::max(last, o.symbol.index);
  }
}

/// The highest index among the functions that the body names. All of them must
/// have been declared before the body is printed.
uint32_t ModulePrinter::lastNamed(const Function &function) const {
  uint32_t last = 0;
  for (const Instruction &instruction : function.instructions)
    lastNamed(instruction.operands, last);
  for (const auto &list : function.callTargets)
    for (uint32_t index : list)
      last = std::max(last, index);
  return last;
}

void ModulePrinter::define(uint32_t index) {
  const Function &function = m.functions[index];
  text += headText(function) + "\n" + FunctionPrinter(m, function).body();
}

/// Prints a function, or only its head if the body names functions that come
/// later. Either way the indices stay in order, so that parsing the text gives
/// the same indices.
void ModulePrinter::announce(uint32_t index, bool mayDefine) {
  const Function &function = m.functions[index];
  announced = index + 1;
  if (function.hasBody && mayDefine && lastNamed(function) <= index) {
    define(index);
  } else {
    text += headText(function) + ";\n";
    if (function.hasBody)
      waiting.push_back(index);
  }
}

void ModulePrinter::defineWaiting() {
  std::vector<uint32_t> still;
  for (uint32_t index : waiting)
    if (lastNamed(m.functions[index]) < announced)
      define(index);
    else
      still.push_back(index);
  waiting = std::move(still);
}

std::string ModulePrinter::run() {
  text = ".version " + std::to_string(m.versionMajor) + "." +
         std::to_string(m.versionMinor) + "\n.target " + m.target;
  for (const std::string &option : m.targetOptions)
    if (option != "debug") // a promise of debug sections
      text += ", " + option;
  text += "\n.address_size " + std::to_string(m.addressSize) + "\n";
  for (size_t i = 0; i < m.files.size(); ++i)
    if (!m.files[i].empty())
      text += ".file " + std::to_string(i) + " \"" + m.files[i] + "\"\n";
  // Variables come before the bodies that use them, and after the functions
  // whose addresses they hold.
  std::map<std::string, uint32_t> indices;
  for (uint32_t i = 0; i < m.functions.size(); ++i)
    indices[m.functions[i].name] = i;
  uint32_t held = 0;
  for (const Variable &variable : m.variables)
    for (const Variable::Patch &patch : variable.patches)
      if (auto i = indices.find(patch.symbol); i != indices.end())
        held = std::max(held, i->second + 1);
  for (uint32_t i = 0; i < held; ++i)
    announce(i, false);
  for (const Variable &v : m.variables)
    text += linkageText(v.isExtern, v.isVisible, v.isWeak, v.isCommon) +
            declarationText(v, v.name) + initialText(v) + ";\n";
  for (uint32_t i = held; i < m.functions.size(); ++i) {
    announce(i, true);
    defineWaiting();
  }
  defineWaiting();
  for (const Function &function : m.functions)
    if (function.aliasOf >= 0)
      text += ".alias " + function.name + ", " +
              m.functions[static_cast<size_t>(function.aliasOf)].name + ";\n";
  return text;
}

} // namespace

std::string print(const Module &module) { return ModulePrinter(module).run(); }

std::string print(const Module &module, const Function &function,
                  const Instruction &instruction) {
  return FunctionPrinter(module, function).instruction(instruction);
}

} // namespace act::runtime::ptx
