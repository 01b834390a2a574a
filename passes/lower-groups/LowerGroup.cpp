// SPDX-License-Identifier: Apache-2.0
//
// The body of a group is lowered op by op, by each op's linalg interface. What
// is decided here is the function around it: which memory is an argument and
// which value a result. An op that takes several kernels says so itself
// (KernelOpInterface); `partsOf` sorts the stages of all ops into kernels.
//
//     act.group (%x, %w) {                 func @kernel(%x, %w, %g in place)
//       %y = act.gelu %x                     -> (y, g + dw)
//       act.accumulate @w, %dw .. }
#include "passes/lower-groups/LowerGroup.h"
#include "dialects/act/KernelForm.h"
#include "dialects/act/LinalgBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/kernels/KernelParts.h"

using namespace mlir;
using namespace act;

namespace {

class GroupLowering : StageBuilder {
public:
  GroupLowering(GroupOp group, ArrayRef<int64_t> inPlace, ModuleOp kernels,
                LinalgForm form)
      : StageBuilder(builder, form), group(group),
        inPlace(inPlace.begin(), inPlace.end()), kernels(kernels),
        builder(kernels.getContext()) {
    this->inPlace.resize(group.getNumResults(), -1);
  }

  FailureOr<SmallVector<LoweredKernel>> run();

private:
  FailureOr<LoweredKernel> lower(const KernelPart &part);
  LogicalResult body(const KernelPart &part);
  LogicalResult effect(ParameterEffectOpInterface op, unsigned number);
  LogicalResult whole(Operation &op);

  Value lookup(Value v) override { return lowered.lookup(v); }
  void set(Value result, Value v) override { lowered[result] = v; }
  Value read(unsigned workspace, int64_t rowElements) override;
  void write(unsigned workspace, Value v) override {
    produce(v,
            operand(KernelMemory::Workspace, firstWorkspace + workspace, true));
  }
  LogicalResult lowerEffect(ParameterEffectOpInterface op) override {
    return effect(op, effectNumber);
  }
  Value readScratch() override {
    return argument(scratchType(group, form),
                    operand(KernelMemory::Scratch, 0, false));
  }
  void writeScratch(Value v) override {
    produce(v, operand(KernelMemory::Scratch, 0, true));
  }
  void addInTurns(Value v, unsigned sum, unsigned turns, unsigned ticket,
                  int64_t rowElements) override;
  void storeParts(Value v, unsigned workspace) override;

  KernelOperandAttr
  operand(KernelMemory kind, unsigned index, bool written,
          ParameterBuffer buffer = ParameterBuffer::Parameter) {
    return KernelOperandAttr::get(group.getContext(), kind, index, written,
                                  buffer);
  }
  Value argument(Type type, KernelOperandAttr operand) {
    Value v = function.getBody().front().addArgument(type, group.getLoc());
    made.operands.push_back(operand);
    return v;
  }
  /// An argument for the op's workspace; `written` if this kernel writes it.
  Value argumentFor(unsigned workspace, bool written) {
    unsigned number = firstWorkspace + workspace;
    // One that the op has not declared is an error of checkLaunches.
    auto types = llvm::to_vector(group.getWorkspaceTypes());
    Type type = number < types.size()
                    ? types[number]
                    : RankedTensorType::get({1}, b.getF32Type());
    return argument(plainTensor(type),
                    operand(KernelMemory::Workspace, number, written));
  }
  void produce(Value value, KernelOperandAttr operand) {
    results.push_back(value);
    outputs.push_back(operand);
  }
  /// Gives an argument a role for the next result to be added.
  void mark(Value argument, ArgumentRoleKind role, int64_t rowElements = 0) {
    marks.push_back({cast<BlockArgument>(argument).getArgNumber(),
                     ArgumentRoleAttr::get(group.getContext(), role,
                                           role == ArgumentRoleKind::Read
                                               ? -1
                                               : int64_t(results.size()),
                                           rowElements)});
  }

  GroupOp group;
  SmallVector<int64_t> inPlace;
  ModuleOp kernels;
  OpBuilder builder;
  /// What an earlier kernel of the group has done: effects and yielded values.
  DenseSet<Operation *> acted;
  DenseSet<unsigned> yielded;
  /// The ops with stages, in any kernel.
  DenseSet<Operation *> staged;
  // Of the kernel that is being made:
  func::FuncOp function;
  LoweredKernel made;
  // The first workspace and the effect of the op that is being lowered, counted
  // over the group.
  unsigned firstWorkspace = 0, effectNumber = 0;
  SmallVector<Value> results;
  SmallVector<KernelOperandAttr> outputs;
  DenseMap<Value, Value> lowered; // values of the group, as values here
  // Argument attributes can be set only when the function has its type.
  SmallVector<std::pair<unsigned, ArgumentRoleAttr>> marks;
};

/// Effects have no result in act. As a function they take a persistent buffer
/// and return its next contents, in place. A buffer whose old
/// contents do not matter is an output alone.
LogicalResult GroupLowering::effect(ParameterEffectOpInterface op,
                                    unsigned number) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      op, op.getParameterName());
  SmallVector<RankedTensorType> types;
  SmallVector<Value> buffers, next, values;
  const SmallVector<BufferUse> uses = op.getBufferUses();
  auto operandOf = [&](const BufferUse &use) {
    return operand(KernelMemory::Effect, number, use.access != BufferUse::Read,
                   use.buffer);
  };
  for (const BufferUse &use : uses) {
    types.push_back(plainTensor(bufferType(parameter, use.buffer)));
    buffers.push_back(use.access == BufferUse::Fill
                          ? Value()
                          : argument(types.back(), operandOf(use)));
  }
  op.lowerEffect(b, types, buffers, operands(op), next, values);
  // An op with stages has set its results there.
  if (!staged.contains(op))
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
      lowered[result] = value;
  unsigned made = 0;
  for (auto [use, buffer] : llvm::zip_equal(uses, buffers)) {
    if (use.access == BufferUse::Read)
      continue;
    Value contents = next[made++];
    if (!buffer) {
      produce(contents, operandOf(use));
      continue;
    }
    mark(buffer, ArgumentRoleKind::InPlace);
    results.push_back(contents);
  }
  return success();
}

Value GroupLowering::read(unsigned workspace, int64_t rowElements) {
  Value v = argumentFor(workspace, false);
  if (rowElements)
    mark(v, ArgumentRoleKind::Read, rowElements);
  return v;
}

void GroupLowering::addInTurns(Value v, unsigned sum, unsigned turns,
                               unsigned ticket, int64_t rowElements) {
  mark(argumentFor(sum, true), ArgumentRoleKind::Summed, rowElements);
  mark(argumentFor(turns, true), ArgumentRoleKind::Turns);
  mark(argumentFor(ticket, true), ArgumentRoleKind::Ticket);
  results.push_back(v);
}

void GroupLowering::storeParts(Value v, unsigned workspace) {
  mark(argumentFor(workspace, true), ArgumentRoleKind::Parts);
  results.push_back(v);
}

LogicalResult GroupLowering::whole(Operation &op) {
  SmallVector<Value> values;
  auto lowerable = dyn_cast<LinalgOpInterface>(op);
  if (!lowerable)
    return op.emitOpError("has no linalg form");
  if (failed(form == LinalgForm::Sums
                 ? lowerable.lowerToSums(b, operands(&op), values)
                 : lowerable.lowerToLinalg(b, operands(&op), values)))
    return failure();
  for (auto [from, to] : llvm::zip_equal(op.getResults(), values))
    lowered[from] = to;
  return success();
}

/// Lowers the group's ops in order. An op whose operands another kernel makes
/// is left to a later one.
LogicalResult GroupLowering::body(const KernelPart &part) {
  // Effects and workspaces are numbered over the whole group.
  unsigned effects = 0, workspaces = 0;
  for (Operation &op : group.getBody().front().without_terminator()) {
    auto acts = dyn_cast<ParameterEffectOpInterface>(op);
    effectNumber = effects;
    effects += bool(acts);
    firstWorkspace = workspaces;
    if (auto kernel = dyn_cast<KernelOpInterface>(op))
      workspaces += kernel.getWorkspaceTypes().size();
    if (!llvm::all_of(op.getOperands(), [&](Value v) { return lookup(v); }))
      continue;
    if (staged.contains(&op)) {
      for (auto [at, stage] : part.stages)
        if (at == &op &&
            failed(cast<KernelOpInterface>(op).lowerStage(*this, stage)))
          return failure();
    } else if (acts) {
      if (acted.insert(&op).second && failed(effect(acts, effectNumber)))
        return failure();
    } else if (failed(whole(op))) {
      return failure();
    }
  }
  return success();
}

/// Builds one kernel as a function. Every kernel has all operands of the group
/// as its first arguments, in their order, and lowers all ops that it can. What
/// only other kernels need is dead then.
FailureOr<LoweredKernel> GroupLowering::lower(const KernelPart &part) {
  made = LoweredKernel();
  made.isMain = part.isMain;
  results.clear();
  outputs.clear();
  lowered.clear();
  marks.clear();
  function = func::FuncOp::create(group.getLoc(), "kernel",
                                  FunctionType::get(b.getContext(), {}, {}));
  kernels.push_back(function);
  made.function = function;
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [i, v] : llvm::enumerate(group.getBody().front().getArguments())) {
    Type type = isa<RankedTensorType>(v.getType())
                    ? Type(plainTensor(v.getType()))
                    : v.getType();
    lowered[v] = argument(type, operand(KernelMemory::Input, i, false));
  }
  if (failed(body(part)))
    return failure();
  Operation *yield = group.getBody().front().getTerminator();
  for (auto [r, v] : llvm::enumerate(yield->getOperands())) {
    Value value = lookup(v);
    if (!value || !yielded.insert(r).second)
      continue; // another kernel makes it
    // In place, the argument is the result's memory: no operand of its own.
    if (inPlace[r] >= 0) {
      mark(entry->getArgument(inPlace[r]), ArgumentRoleKind::InPlace);
      made.operands[inPlace[r]] =
          operand(KernelMemory::Input, inPlace[r], true);
      results.push_back(value);
    } else {
      produce(value, operand(KernelMemory::Result, r, true));
    }
  }
  func::ReturnOp::create(b, group.getLoc(), results);
  // Drop ops that only other kernels need.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (isOpTriviallyDead(&op))
      op.erase();
  function.setType(FunctionType::get(b.getContext(), entry->getArgumentTypes(),
                                     ValueRange(results).getTypes()));
  for (auto [argument, role] : marks)
    function.setArgAttr(argument, ActDialect::getRoleAttrName(), role);
  llvm::append_range(made.operands, outputs);
  return made;
}

FailureOr<SmallVector<LoweredKernel>> GroupLowering::run() {
  SmallVector<KernelPart> parts = partsOf(group, form);
  for (const KernelPart &part : parts)
    for (auto [op, stage] : part.stages)
      staged.insert(op);
  SmallVector<LoweredKernel> list;
  for (const KernelPart &part : parts) {
    auto made = lower(part);
    if (failed(made))
      return failure();
    list.push_back(*made);
  }
  return list;
}

} // namespace

FailureOr<SmallVector<LoweredKernel>> act::lowerGroup(GroupOp group,
                                                      ArrayRef<int64_t> inPlace,
                                                      ModuleOp kernels,
                                                      LinalgForm form) {
  return GroupLowering(group, inPlace, kernels, form).run();
}
