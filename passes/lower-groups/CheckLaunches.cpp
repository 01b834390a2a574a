// SPDX-License-Identifier: Apache-2.0
//
// What later phases take for granted about launches. They bind addresses by
// these operands, and nobody looks at types again.
#include "dialects/act/LinalgBuilder.h"
#include "passes/kernels/KernelParts.h"
#include "passes/lower-groups/LowerGroups.h"
#include "passes/lower-groups/Passes.h"
#include <set>

namespace act {
#define GEN_PASS_DEF_CHECKLAUNCHESPASS
#include "passes/lower-groups/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// An operand as the launch prints it.
std::string textOf(KernelOperandAttr operand) {
  std::string text;
  llvm::raw_string_ostream os(text);
  operand.printOperand(os);
  return text;
}

/// Checks the launches of one group for one choice of operands in place.
class Checker {
public:
  Checker(GroupOp group, ModuleOp kernels, LinalgForm form)
      : group(group), kernels(kernels), form(form) {
    for (Operation &op : group.getBody().front())
      if (auto effect = dyn_cast<ParameterEffectOpInterface>(op))
        effects.push_back(effect);
  }

  LogicalResult run(ArrayRef<int64_t> inPlace);

private:
  LogicalResult launch(LaunchOp launch, ArrayRef<int64_t> inPlace);
  FailureOr<Type> memoryOf(LaunchOp launch, KernelOperandAttr operand);

  GroupOp group;
  ModuleOp kernels;
  LinalgForm form;
  SmallVector<ParameterEffectOpInterface> effects;
  llvm::SmallDenseSet<unsigned> results, workspaces, acted;
  std::set<std::pair<unsigned, ParameterBuffer>> changed;
  bool scratch = false;
};

/// The type of the memory that `operand` names.
FailureOr<Type> Checker::memoryOf(LaunchOp launch, KernelOperandAttr operand) {
  unsigned index = operand.getIndex();
  auto within = [&](size_t count, StringRef what) -> LogicalResult {
    if (index < count)
      return success();
    return launch.emitOpError() << "names " << what << " " << index
                                << " of a group that has " << count;
  };
  auto plain = [](Type type) -> Type {
    return isa<RankedTensorType>(type) ? Type(plainTensor(type)) : type;
  };
  switch (operand.getKind()) {
  case KernelMemory::Input:
    if (failed(within(group.getInputs().size(), "input")))
      return failure();
    return plain(group.getInputs()[index].getType());
  case KernelMemory::Result:
    if (failed(within(group.getNumResults(), "result")))
      return failure();
    return plain(group.getResult(index).getType());
  case KernelMemory::Workspace:
    if (failed(within(group.getWorkspace().size(), "workspace")))
      return failure();
    return plain(*std::next(group.getWorkspaceTypes().begin(), index));
  case KernelMemory::Scratch: {
    RankedTensorType type = scratchType(group, form);
    if (!type)
      return launch.emitOpError("uses scratch of a group that has none");
    return Type(type);
  }
  case KernelMemory::Effect: {
    if (failed(within(effects.size(), "effect")))
      return failure();
    auto effect = effects[index];
    bool uses = llvm::any_of(effect.getBufferUses(), [&](const BufferUse &use) {
      return use.buffer == operand.getBuffer();
    });
    if (!uses)
      return launch.emitOpError()
             << "binds the " << stringifyParameterBuffer(operand.getBuffer())
             << " of effect " << index << ", which does not use it";
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        effect, effect.getParameterName());
    if (!parameter)
      return effect->emitOpError()
             << "names no parameter: " << effect.getParameterName();
    return plain(bufferType(parameter, operand.getBuffer()));
  }
  }
  llvm_unreachable("no kind of memory");
}

LogicalResult Checker::launch(LaunchOp launch, ArrayRef<int64_t> inPlace) {
  auto function =
      kernels.lookupSymbol<func::FuncOp>(launch.getKernel().getLeafReference());
  if (!function || launch.getKernel().getRootReference() != kernelsName ||
      launch.getKernel().getNestedReferences().size() != 1)
    return launch.emitOpError()
           << "names " << launch.getKernel() << ", which is no kernel";
  // What the operands stand for: arguments, then results without an argument
  // whose memory they take.
  SmallVector<Type> types(function.getArgumentTypes());
  llvm::SmallDenseSet<int64_t> placed;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (ArgumentRoleAttr role = roleOf(function, i); role && role.makesResult())
      placed.insert(role.getResult());
  for (auto [r, type] : llvm::enumerate(function.getResultTypes()))
    if (!placed.contains(r))
      types.push_back(type);
  auto operands = launch.getOperandsAttr().getAsRange<KernelOperandAttr>();
  size_t count = launch.getOperandsAttr().size();
  if (count != types.size())
    return launch.emitOpError()
           << "has " << count << " operands; " << launch.getKernel()
           << " takes " << types.size();
  SmallVector<unsigned> written;
  for (auto [i, operand, type] : llvm::enumerate(operands, types)) {
    auto memory = memoryOf(launch, operand);
    if (failed(memory))
      return failure();
    // Memory is dense: the elements count, not the shape.
    auto from = dyn_cast<RankedTensorType>(*memory),
         to = dyn_cast<RankedTensorType>(type);
    bool agrees = from && to ? from.getElementType() == to.getElementType() &&
                                   elementCount(from) == elementCount(to)
                             : *memory == type;
    if (!agrees)
      return launch.emitOpError()
             << "binds operand " << i << " of type " << type << " to "
             << textOf(operand) << " of type " << *memory;
    // What runs beside other launches depends on what each writes.
    ArgumentRoleAttr role = i < function.getNumArguments() ? roleOf(function, i)
                                                           : ArgumentRoleAttr();
    bool writes = i >= function.getNumArguments() ||
                  (role && role.getKind() != ArgumentRoleKind::Read);
    if (writes != operand.getWritten())
      return launch.emitOpError()
             << "says that operand " << i << " is "
             << (writes ? "not written, but " : "written, but not that ")
             << launch.getKernel() << " writes it";
    if (operand.getKind() == KernelMemory::Workspace) {
      if (operand.getWritten())
        written.push_back(operand.getIndex());
      else if (!workspaces.contains(operand.getIndex()))
        return launch.emitOpError() << "reads workspace " << operand.getIndex()
                                    << ", which no earlier launch has written";
    }
    if (operand.getKind() == KernelMemory::Scratch) {
      if (!operand.getWritten() && !scratch)
        return launch.emitOpError(
            "reads scratch, which no earlier launch has written");
      scratch |= operand.getWritten();
    }
    if (operand.getKind() == KernelMemory::Effect) {
      acted.insert(operand.getIndex());
      if (writes &&
          !changed.insert({operand.getIndex(), operand.getBuffer()}).second)
        return launch.emitOpError()
               << "changes the "
               << stringifyParameterBuffer(operand.getBuffer()) << " of effect "
               << operand.getIndex() << " a second time";
    }
    auto makes = [&](unsigned result) -> LogicalResult {
      if (results.insert(result).second)
        return success();
      return launch.emitOpError()
             << "makes result " << result << " of its group a second time";
    };
    if (operand.getKind() == KernelMemory::Result &&
        failed(makes(operand.getIndex())))
      return failure();
    if (operand.getKind() == KernelMemory::Input && operand.getWritten()) {
      auto it = llvm::find(inPlace, int64_t(operand.getIndex()));
      if (it == inPlace.end())
        return launch.emitOpError()
               << "writes input " << operand.getIndex()
               << ", which no result of this choice takes over";
      if (failed(makes(it - inPlace.begin())))
        return failure();
    }
  }
  workspaces.insert(written.begin(), written.end());
  return success();
}

LogicalResult Checker::run(ArrayRef<int64_t> inPlace) {
  // A choice takes some of the operands that the group permits.
  ArrayRef<int64_t> permitted = group.getInplace();
  bool chosen = inPlace.empty() ||
                (inPlace.size() == permitted.size() &&
                 llvm::any_of(inPlace, [](int64_t i) { return i >= 0; }));
  for (size_t r = 0; chosen && r < inPlace.size(); ++r)
    chosen = inPlace[r] == -1 || inPlace[r] == permitted[r];
  if (!chosen)
    return group.emitOpError()
           << "has launches for the operands [" << inPlace
           << "] in place, but permits [" << permitted << "]";
  for (LaunchOp op : launchesOf(group, inPlace))
    if (failed(launch(op, inPlace)))
      return failure();
  for (unsigned r = 0; r < group.getNumResults(); ++r)
    if (!results.contains(r))
      return group.emitOpError() << "has no launch that makes result " << r;
  for (unsigned e = 0; e < effects.size(); ++e)
    if (!acted.contains(e))
      return group.emitOpError() << "has no launch for effect " << e << ", "
                                 << effects[e]->getName();
  return success();
}

struct CheckLaunches : act::impl::CheckLaunchesPassBase<CheckLaunches> {
  void runOnOperation() override {
    if (failed(checkLaunches(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult act::checkLaunches(ModuleOp module) {
  ModuleOp kernels = kernelsOf(module);
  if (kernels)
    for (Operation &op : *kernels.getBody()) {
      auto f = dyn_cast<func::FuncOp>(op);
      if (!f || f.isExternal() || !f.getBody().hasOneBlock() ||
          f.getNumResults() == 0)
        return op.emitError(
            "is no kernel: expected a function of one block, with results");
    }
  bool onHost =
      !kernels ||
      kernels->getAttrOfType<StringAttr>(targetAttr).getValue().empty();
  LinalgForm form = onHost ? LinalgForm::Tiles : LinalgForm::Sums;
  auto checked = module.walk([&](GroupOp group) {
    if (group.getLaunches().empty())
      return WalkResult::advance();
    if (!kernels) {
      group.emitOpError("has launches in a module without kernels");
      return WalkResult::interrupt();
    }
    SmallVector<ArrayRef<int64_t>> choices;
    for (auto launch : group.getLaunches().getOps<LaunchOp>())
      if (!llvm::is_contained(choices, launch.getInplace()))
        choices.push_back(launch.getInplace());
    for (ArrayRef<int64_t> choice : choices)
      if (failed(Checker(group, kernels, form).run(choice)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(checked.wasInterrupted());
}
