// SPDX-License-Identifier: Apache-2.0
//
// Finds which kernels need which .shared variables, through calls and tables of
// addresses, and gives every variable one offset (SharedLayout.h).
#include "runtime/sim/decode/SharedLayout.h"
#include <algorithm>
#include <set>

namespace act::runtime::sim {

using ptx::Space;

namespace {

constexpr uint64_t mostStatic = 48 * 1024; // ptxas: "uses too much shared data"

/// The symbols that a function's body names.
struct Names {
  std::set<uint32_t> variables, functions; // of the module
  bool dynamic = false;                    // shared memory without a size
};

struct Variable {
  const ptx::Variable *tree;
  Placement *placement;
  std::vector<uint32_t> kernels; // that hold it
};

class Layout {
public:
  explicit Layout(Program &program)
      : program(program), tree(*program.tree), names(tree.functions.size()) {
    for (size_t i = 0; i < tree.variables.size(); ++i)
      moduleVariables.push_back(add(tree.variables[i], program.placements[i]));
    functionVariables.resize(tree.functions.size());
    for (size_t f = 0; f < tree.functions.size(); ++f)
      for (size_t v = 0; v < tree.functions[f].variables.size(); ++v)
        if (int k = add(tree.functions[f].variables[v],
                        program.functions[f].variables[v]);
            k >= 0)
          functionVariables[f].push_back(k);
    for (size_t f = 0; f < tree.functions.size(); ++f)
      read(tree.functions[f], names[f]);
    findTables();
  }

  Status run() {
    for (uint32_t f = 0; f < tree.functions.size(); ++f)
      if (tree.functions[f].isEntry)
        findVariables(f);
    uint64_t common = 0;
    for (Variable &v : variables)
      if (v.kernels.size() > 1)
        put(v, common);
    for (uint32_t f = 0; f < tree.functions.size(); ++f)
      if (tree.functions[f].isEntry)
        if (Status s = placeOwn(f); !s)
          return s;
    placeDynamic();
    return ok();
  }

private:
  Program &program;
  const ptx::Module &tree;
  std::vector<Names> names;
  std::vector<Variable> variables;  // .shared, with a size
  std::vector<int> moduleVariables; // into variables; -1: of another space
  std::vector<std::vector<int>> functionVariables;
  std::vector<std::set<uint32_t>> reached; // by kernel, in their order
  std::vector<uint32_t> kernels;
  std::vector<uint32_t> inTables; // functions: reached from everywhere
  uint64_t dynamicAlign = 1;

  int add(const ptx::Variable &v, Placement &p) {
    if (v.space != Space::Shared)
      return -1;
    if (v.isUnsized) {
      dynamicAlign = std::max<uint64_t>(dynamicAlign, v.align);
      return -1;
    }
    variables.push_back({&v, &p, {}});
    return int(variables.size() - 1);
  }

  void read(const ptx::Operand &o, const ptx::Function &f, Names &into) {
    bool named = o.kind == ptx::Operand::SymbolRef ||
                 (o.kind == ptx::Operand::Address && o.baseIsSymbol);
    if (named && o.symbol.kind == ptx::Symbol::FunctionName)
      into.functions.insert(o.symbol.index);
    const ptx::Variable *v = nullptr;
    if (named && o.symbol.kind == ptx::Symbol::ModuleVariable) {
      into.variables.insert(o.symbol.index);
      v = &tree.variables[o.symbol.index];
    } else if (named && o.symbol.kind == ptx::Symbol::FunctionVariable) {
      v = &f.variables[o.symbol.index];
    }
    into.dynamic |= v && v->space == Space::Shared && v->isUnsized;
    for (const ptx::Operand &e : o.elements)
      read(e, f, into);
  }

  void read(const ptx::Function &f, Names &into) {
    for (const ptx::Instruction &i : f.instructions)
      for (const ptx::Operand &o : i.operands)
        read(o, f, into);
    for (const auto &targets : f.callTargets)
      into.functions.insert(targets.begin(), targets.end());
    if (f.aliasOf >= 0)
      into.functions.insert(uint32_t(f.aliasOf));
  }

  // A function whose address is in a variable may be called from anywhere, so
  // every kernel reaches it.
  void findTables() {
    for (const ptx::Variable &v : tree.variables)
      for (const auto &patch : v.patches)
        for (uint32_t f = 0; f < tree.functions.size(); ++f)
          if (tree.functions[f].name == patch.symbol)
            inTables.push_back(f);
  }

  // Follows the names of functions from the kernel on, and adds the kernel to
  // each variable on the way. Whether a call happens at run time does not
  // matter; ptxas decides by names too.
  void findVariables(uint32_t kernel) {
    std::set<uint32_t> seen;
    std::vector<uint32_t> left = inTables;
    left.push_back(kernel);
    auto has = [&](int k) {
      if (k >= 0 && (variables[k].kernels.empty() ||
                     variables[k].kernels.back() != kernel))
        variables[k].kernels.push_back(kernel);
    };
    while (!left.empty()) {
      uint32_t f = left.back();
      left.pop_back();
      if (!seen.insert(f).second)
        continue;
      for (uint32_t v : names[f].variables)
        has(moduleVariables[v]);
      for (int v : functionVariables[f])
        has(v);
      left.insert(left.end(), names[f].functions.begin(),
                  names[f].functions.end());
    }
    kernels.push_back(kernel);
    reached.push_back(std::move(seen));
  }

  static void put(Variable &v, uint64_t &end) {
    v.placement->offset = alignTo(end, v.tree->align);
    end = v.placement->offset + v.tree->bytes;
  }

  Status placeOwn(uint32_t kernel) {
    FunctionCode &code = program.functions[kernel];
    auto isOf = [&](const Variable &v) {
      return std::find(v.kernels.begin(), v.kernels.end(), kernel) !=
             v.kernels.end();
    };
    uint64_t &end = code.kernel.sharedBytes;
    for (Variable &v : variables)
      if (v.kernels.size() > 1 && isOf(v))
        end = std::max(end, v.placement->offset + v.tree->bytes);
    for (Variable &v : variables)
      if (v.kernels.size() == 1 && isOf(v))
        put(v, end);
    for (Variable &v : variables)
      if (isOf(v))
        code.sharedVariables.push_back(
            {v.tree->name, v.placement->offset, v.tree->bytes});
    if (end > mostStatic)
      return Error{"kernel '" + code.name + "' has " + std::to_string(end) +
                       " bytes of static shared memory, expected up to " +
                       std::to_string(mostStatic),
                   program.name + ":" +
                       std::to_string(tree.functions[kernel].location.line)};
    return ok();
  }

  // A function names dynamic memory at one fixed offset, so all kernels that
  // reach such a function share that offset.
  void placeDynamic() {
    auto needsOne = [&](uint32_t f) {
      return !tree.functions[f].isEntry && names[f].dynamic;
    };
    auto isBound = [&](const std::set<uint32_t> &functions) {
      return std::any_of(functions.begin(), functions.end(), needsOne);
    };
    uint64_t bound = 0;
    for (size_t k = 0; k < kernels.size(); ++k)
      if (isBound(reached[k]))
        bound =
            std::max(bound, program.functions[kernels[k]].kernel.sharedBytes);
    for (FunctionCode &code : program.functions)
      code.dynamicSharedOffset = alignTo(bound, dynamicAlign);
    for (size_t k = 0; k < kernels.size(); ++k)
      if (FunctionCode &code = program.functions[kernels[k]];
          !isBound(reached[k]))
        code.dynamicSharedOffset =
            alignTo(code.kernel.sharedBytes, dynamicAlign);
  }
};

} // namespace

Status layOutShared(Program &program) { return Layout(program).run(); }

} // namespace act::runtime::sim
