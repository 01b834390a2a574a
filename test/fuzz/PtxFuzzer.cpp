// SPDX-License-Identifier: Apache-2.0
//
// Whatever `parse` accepts has indices in range, and prints as text that is
// accepted again and prints the same.
#include "runtime/sim/ptx/Parser.h"
#include "runtime/sim/ptx/Print.h"
#include <cstdlib>

using namespace act::runtime::ptx;

namespace {

void require(bool condition) {
  if (!condition)
    abort();
}

void check(const Module &module, const Function &f, const Symbol &symbol) {
  switch (symbol.kind) {
  case Symbol::ModuleVariable:
    return require(symbol.index < module.variables.size());
  case Symbol::FunctionVariable:
    return require(symbol.index < f.variables.size());
  case Symbol::Parameter:
    return require(symbol.index < f.parameters.size());
  case Symbol::ReturnValue:
    return require(symbol.index < f.results.size());
  case Symbol::FunctionName:
    return require(symbol.index < module.functions.size());
  case Symbol::Label:
    return require(symbol.index <= f.instructions.size());
  case Symbol::BranchTargets:
    return require(symbol.index < f.branchTargets.size());
  case Symbol::CallTargets:
    return require(symbol.index < f.callTargets.size());
  case Symbol::Prototype:
    return require(symbol.index < f.prototypes.size());
  }
}

void check(const Module &module, const Function &f, const Operand &operand) {
  bool isBase = operand.kind == Operand::Address && operand.hasBase;
  if (operand.kind == Operand::Reg || (isBase && !operand.baseIsSymbol))
    require(operand.reg < f.registers.size());
  if (operand.kind == Operand::SymbolRef || (isBase && operand.baseIsSymbol))
    check(module, f, operand.symbol);
  for (const Operand &element : operand.elements)
    check(module, f, element);
}

void check(const Module &module, const Function &f) {
  require(f.aliasOf < static_cast<int64_t>(module.functions.size()));
  for (const Instruction &instruction : f.instructions) {
    require(instruction.guard < static_cast<int64_t>(f.registers.size()));
    for (const Operand &operand : instruction.operands)
      check(module, f, operand);
  }
  for (const auto &list : f.branchTargets)
    for (uint32_t index : list)
      check(module, f, {Symbol::Label, index});
  for (const auto &list : f.callTargets)
    for (uint32_t index : list)
      check(module, f, {Symbol::FunctionName, index});
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto module = parse({reinterpret_cast<const char *>(data), size}, "<fuzzed>");
  if (!module)
    return 0;
  constexpr size_t most = 1 << 16; // a short text can have a long initialiser
  size_t bytes = 0;
  for (const Variable &variable : (*module)->variables) {
    require(variable.initial.size() <= variable.bytes);
    for (const Variable::Patch &patch : variable.patches) {
      require(patch.at + patch.width <= variable.bytes);
      bytes += patch.at;
    }
    bytes += variable.initial.size();
  }
  for (const Function &function : (*module)->functions)
    check(**module, function);
  if (bytes > most)
    return 0;
  std::string printed = print(**module);
  auto again = parse(printed, "<printed>");
  require(static_cast<bool>(again));
  require(print(**again) == printed);
  return 0;
}
