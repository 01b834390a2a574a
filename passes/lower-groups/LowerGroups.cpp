// SPDX-License-Identifier: Apache-2.0
#include "passes/lower-groups/LowerGroups.h"
#include "mlir/IR/Verifier.h"
#include "passes/kernel-cache/KernelCache.h"
#include "passes/kernels/FormKernels.h"
#include "passes/lower-groups/LowerGroup.h"
#include "passes/lower-groups/Passes.h"
#include "passes/module/Entries.h"
#include "passes/tile/KnownTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

namespace act {
#define GEN_PASS_DEF_LOWERGROUPSPASS
#include "passes/lower-groups/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// A choice of operands in place for one group.
using Choice = std::pair<Operation *, std::vector<int64_t>>;

/// The functions that no other function of the module calls or repeats.
SmallVector<func::FuncOp> entries(ModuleOp module) {
  llvm::SmallDenseSet<StringRef> called;
  module.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      called.insert(repeat.getCallee());
    else if (auto call = dyn_cast<func::CallOp>(op))
      called.insert(call.getCallee());
  });
  SmallVector<func::FuncOp> found;
  for (auto f : module.getOps<func::FuncOp>())
    if (!f.getBody().empty() && !called.contains(f.getName()))
      found.push_back(f);
  return found;
}

/// Adds the launches of `group` in one choice to it.
void addLaunches(GroupOp group, ArrayRef<int64_t> inPlace,
                 ArrayRef<LoweredKernel> kernels,
                 ArrayRef<StringAttr> symbols) {
  Region &region = group.getLaunches();
  if (region.empty())
    region.emplaceBlock();
  auto b = OpBuilder::atBlockEnd(&region.front());
  // Without a result in place, there is nothing to say.
  bool none = llvm::all_of(inPlace, [](int64_t i) { return i < 0; });
  for (auto [kernel, symbol] : llvm::zip_equal(kernels, symbols))
    LaunchOp::create(
        b, group.getLoc(),
        SymbolRefAttr::get(b.getStringAttr(kernelsName),
                           FlatSymbolRefAttr::get(symbol)),
        b.getArrayAttr(llvm::to_vector_of<Attribute>(kernel.operands)),
        b.getDenseI64ArrayAttr(none ? ArrayRef<int64_t>() : inPlace),
        kernel.isMain);
}

/// The module @kernels for `target`, made where there is none.
FailureOr<ModuleOp> kernelsFor(ModuleOp module, StringRef target) {
  if (ModuleOp there = kernelsOf(module)) {
    auto made = there->getAttrOfType<StringAttr>(targetAttr);
    if (made.getValue() == target)
      return there;
    auto nameOf = [](StringRef target) {
      return target.empty() ? "the host" : target;
    };
    return there.emitError()
           << "the module's groups were lowered for " << nameOf(made.getValue())
           << ", not for " << nameOf(target);
  }
  if (Operation *taken = module.lookupSymbol(kernelsName))
    return taken->emitError()
           << "is named @" << kernelsName
           << ", the name of the module that --lower-groups makes";
  auto b = OpBuilder::atBlockEnd(module.getBody());
  auto kernels = ModuleOp::create(b, module.getLoc(), kernelsName);
  kernels->setAttr(targetAttr, b.getStringAttr(target));
  return kernels;
}

struct LowerGroups : act::impl::LowerGroupsPassBase<LowerGroups> {
  using LowerGroupsPassBase::LowerGroupsPassBase;

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (!target.empty() &&
        failed(tile::knownTarget(target, module.getContext())))
      return failure();
    if (!kernelsFormed(module))
      return emitError(module.getLoc(), "the module has no groups to lower; "
                                        "--form-kernels makes them");
    std::vector<Program> programs;
    for (func::FuncOp f : entries(module)) {
      auto program = flatten(module, f.getName());
      if (failed(program))
        return failure();
      programs.push_back(std::move(*program));
    }
    return lowerGroups(
        module,
        llvm::map_to_vector(programs, [](const Program &p) { return &p; }),
        target);
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace

ModuleOp act::kernelsOf(ModuleOp module) {
  auto kernels = module.lookupSymbol<ModuleOp>(kernelsName);
  return kernels && kernels->hasAttrOfType<StringAttr>(targetAttr) ? kernels
                                                                   : ModuleOp();
}

std::vector<int64_t> act::inPlaceOf(const FlatLaunch &launch,
                                    const Program &program) {
  std::vector<int64_t> inPlace(launch.results.size(), -1);
  for (auto [r, p] : llvm::enumerate(launch.results)) {
    if (p.kind != Place::Buffer || !program.buffers[p.index].reuses)
      continue;
    ArrayRef<int64_t> choice = launch.group.getInplace();
    if (r < choice.size())
      inPlace[r] = choice[r];
  }
  return inPlace;
}

SmallVector<LaunchOp> act::launchesOf(GroupOp group,
                                      ArrayRef<int64_t> inPlace) {
  bool none = llvm::all_of(inPlace, [](int64_t i) { return i < 0; });
  SmallVector<LaunchOp> launches;
  if (!group.getLaunches().empty())
    for (auto launch : group.getLaunches().getOps<LaunchOp>())
      if (launch.getInplace() == (none ? ArrayRef<int64_t>() : inPlace))
        launches.push_back(launch);
  return launches;
}

LogicalResult act::lowerGroups(ModuleOp module,
                               ArrayRef<const Program *> programs,
                               StringRef target) {
  if (failed(checkGroups(module)))
    return failure();
  auto kernels = kernelsFor(module, target);
  if (failed(kernels))
    return failure();
  LinalgForm form = target.empty() ? LinalgForm::Tiles : LinalgForm::Sums;
  // The functions, by text, and their names.
  std::map<std::string, StringAttr> known;
  llvm::StringSet<> names;
  for (auto f : kernels->getOps<func::FuncOp>()) {
    known.insert({textForKey(f), f.getSymNameAttr()});
    names.insert(f.getName());
  }
  std::set<Choice> done;
  for (const Program *program : programs)
    for (const FlatLaunch &launch : program->launches) {
      // The runtime copies by itself.
      if (launch.copy != Copy::None)
        continue;
      Choice choice{launch.group, inPlaceOf(launch, *program)};
      if (!done.insert(choice).second ||
          !launchesOf(launch.group, choice.second).empty())
        continue;
      auto lowered = lowerGroup(launch.group, choice.second, *kernels, form);
      if (failed(lowered))
        return failure();
      SmallVector<StringAttr> symbols;
      for (LoweredKernel &kernel : *lowered) {
        std::string text = textForKey(kernel.function);
        auto [it, first] = known.insert({text, StringAttr()});
        if (first) {
          std::string symbol = "k" + std::to_string(known.size() - 1) + "_";
          for (char c : launch.group.getName())
            symbol += llvm::isAlnum(c) ? c : '_';
          while (!names.insert(symbol).second)
            symbol += '_';
          kernel.function.setName(symbol);
          it->second = kernel.function.getSymNameAttr();
        } else {
          kernel.function.erase();
        }
        symbols.push_back(it->second);
      }
      addLaunches(launch.group, choice.second, *lowered, symbols);
    }
  return failure(failed(verify(*kernels)) || failed(checkLaunches(module)));
}
