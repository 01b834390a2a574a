// SPDX-License-Identifier: Apache-2.0
//
// The body of a group is lowered op by op, by each op's linalg interface. What
// is decided here is the function around it: which memory is an argument, which
// value a result, and into how many functions a group is cut. A cut is needed
// where all programs must have finished before the next op reads a value.
//
//     act.group (%x, %w) {                 func @kernel(%x, %w, %g in place)
//       %y = act.gelu %x                     -> (y, g + dw)
//       act.accumulate @w, %dw .. }
#include "passes/emit/LowerGroup.h"
#include "dialects/act/AttentionLowering.h"
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/MatmulLowering.h"
#include "dialects/act/NormLowering.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/act/FormKernels.h"

using namespace mlir;
using namespace act;

namespace {

/// The product that a GPU splits into parts, summed by a second kernel. Groups
/// that take several kernels anyway are not split.
Operation *productInParts(GroupOp group) {
  Operation *product = nullptr;
  for (Operation &op : group.getBody().front()) {
    if (isa<AttentionGradOp, RmsNormGradOp, LayerNormGradOp>(op))
      return nullptr;
    if (!product && partsOfProduct(&op) > 1)
      product = &op;
  }
  return product;
}

class GroupLowering {
public:
  GroupLowering(GroupOp group, ArrayRef<int64_t> inPlace, ModuleOp kernels,
                LinalgForm form)
      : group(group), inPlace(inPlace.begin(), inPlace.end()), kernels(kernels),
        form(form), b(kernels.getContext()) {
    this->inPlace.resize(group.getNumResults(), -1);
  }

  FailureOr<SmallVector<LoweredKernel>> run();

private:
  /// The gradient of attention takes one kernel per summation order. On blocks,
  /// the kernel over keys runs between those that begin and finish its sums. On
  /// the host, a product's rotary embedding and each sum over a norm's rows are
  /// kernels of their own. On blocks, such sums are made in parts alongside the
  /// rows and added up last. A small product on blocks is also made in parts,
  /// which another kernel sums.
  enum class Part {
    Whole,
    Begin,
    Keys,
    Queries,
    Sinks,
    Bias,
    Product,
    Rope,
    Rows,
    Sums,
    PartsOfProduct,
    ProductOfParts
  };
  /// `sum`: the only sum over rows to compute; null: all.
  FailureOr<LoweredKernel> lower(Part part, Operation *sum = nullptr);
  LogicalResult body(Part part);
  bool leaves(Part part, Operation &op);
  LogicalResult sumOfRows(Part part, Operation *op);
  void productInTurn(Part part);
  LogicalResult attentionGrad(AttentionGradOp op, ValueRange operands,
                              Part part);
  LogicalResult attentionGradSums(AttentionGradOp op, ValueRange operands,
                                  Part part);
  LogicalResult effect(ParameterEffectOpInterface op, unsigned number);
  LogicalResult lowerOp(Operation &op);

  Value argument(Type type, KernelOperand operand) {
    Value v = function.getBody().front().addArgument(type, group.getLoc());
    made.operands.push_back(operand);
    return v;
  }
  /// Workspace `number`; `written` if this kernel writes it.
  Value workspace(unsigned number, bool written) {
    return argument(workspaceType(number),
                    {KernelOperand::Workspace, number, written});
  }
  RankedTensorType workspaceType(unsigned number) {
    return plainTensor(*std::next(group.getWorkspaceTypes().begin(), number));
  }
  void produce(Value value, KernelOperand operand) {
    results.push_back(value);
    outputs.push_back(operand);
  }

  GroupOp group;
  SmallVector<int64_t> inPlace;
  ModuleOp kernels;
  LinalgForm form;
  OpBuilder b;
  const SmallVector<Operation *> sums = sumsOfRows(group);
  Operation *const inParts =
      form == LinalgForm::Sums ? productInParts(group) : nullptr;
  DenseSet<Operation *>
      ofSums; // sums that this part makes or leaves, and their users
  func::FuncOp function;
  LoweredKernel made;
  SmallVector<Value> results;
  SmallVector<KernelOperand> outputs;
  DenseMap<Value, Value> lowered;
  // Argument attributes can be set only when the function has its type.
  SmallVector<std::tuple<unsigned, StringRef, unsigned>> marks;
};

/// Effects have no result in act. As a function they take a persistent buffer
/// and return its next contents, in place (`act.inplace`). A buffer whose old
/// contents do not matter is an output alone.
LogicalResult GroupLowering::effect(ParameterEffectOpInterface op,
                                    unsigned number) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      op, op.getParameterName());
  SmallVector<RankedTensorType> types;
  SmallVector<Value> buffers, operands, next, values;
  const SmallVector<BufferUse> uses = op.getBufferUses();
  auto operandOf = [&](const BufferUse &use) {
    KernelOperand operand{KernelOperand::Effect, number,
                          use.access != BufferUse::Read};
    operand.buffer = use.buffer;
    return operand;
  };
  for (const BufferUse &use : uses) {
    types.push_back(plainTensor(bufferType(parameter, use.buffer)));
    buffers.push_back(use.access == BufferUse::Fill
                          ? Value()
                          : argument(types.back(), operandOf(use)));
  }
  for (Value v : op->getOperands())
    operands.push_back(lowered[v]);
  op.lowerEffect(b, types, buffers, operands, next, values);
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
    marks.push_back({cast<BlockArgument>(buffer).getArgNumber(), "act.inplace",
                     unsigned(results.size())});
    results.push_back(contents);
  }
  return success();
}

/// The host's form has one kernel per summation order: dq sums over keys, dk
/// and dv over queries.
LogicalResult GroupLowering::attentionGrad(AttentionGradOp op,
                                           ValueRange operands, Part part) {
  if (form == LinalgForm::Sums)
    return attentionGradSums(op, operands, part);
  SmallVector<Value> values;
  if (part == Part::Queries) {
    if (failed(lowerAttentionGradQ(b, op, operands, values)))
      return failure();
    lowered[op.getDq()] = values[0];
    if (op.getDsinks())
      lowered[op.getDsinks()] = values[1];
  } else if (part == Part::Keys) {
    if (failed(lowerAttentionGradKV(b, op, operands, values)))
      return failure();
    lowered[op.getDk()] = values[0];
    lowered[op.getDv()] = values[1];
  } else if (part == Part::Bias && op.getDbias()) {
    return lowerAttentionGradBias(b, op, operands, lowered[op.getDbias()]);
  }
  return success();
}

/// The GPU's form computes the scores once. Programs go over blocks of keys,
/// keep dk and dv, and add their part of dq to a workspace in turns:
///
///     Begin     delta; the zeros of sum, turns and ticket
///     Keys      dk, dv; sum += part of dq
///     Queries   dq = sum, scaled and rounded
///
/// If only dq is needed, or only dk and dv, there are no turns: its rows loop
/// over the others. The parts exchange values through workspaces, because they
/// are separate launches.
LogicalResult GroupLowering::attentionGradSums(AttentionGradOp op,
                                               ValueRange operands, Part part) {
  enum { sum, delta, turns, ticket }; // in the order of the op's workspaces
  bool ofKeys = !op.getDk().use_empty() || !op.getDv().use_empty();
  bool inTurns = takesTurns(op);
  auto summed = [&](unsigned number, StringRef mark, unsigned result) {
    Value v = workspace(number, true);
    marks.push_back({cast<BlockArgument>(v).getArgNumber(), mark, result});
    return v;
  };
  // The sum is stored in tiles if it divides into whole tiles.
  auto inTiles = [&](Value v) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(v.getType()).getShape(); // [.., s, a, d]
    ArrayRef<int64_t> row = shape.take_back(2);
    if (shape[shape.size() - 3] % 8 == 0 && row.back() % 8 == 0)
      marks.push_back({cast<BlockArgument>(v).getArgNumber(), "act.tiles",
                       row[0] * row[1]});
    return v;
  };
  switch (part) {
  default:
    llvm_unreachable("no part of attention's gradient");
  case Part::Begin: {
    AttentionGradWorkspace begun;
    attentionGradBegin(b, op, operands, begun);
    Value made[] = {begun.sum, begun.delta, begun.turns, begun.ticket};
    for (auto [number, v] : llvm::enumerate(made))
      if (inTurns || number == delta)
        produce(v, {KernelOperand::Workspace, unsigned(number), true});
    return success();
  }
  case Part::Keys: {
    if (!ofKeys)
      return success();
    Value dk, dv, added;
    if (failed(attentionGradKeys(b, op, operands, workspace(delta, false), dk,
                                 dv, added)))
      return failure();
    lowered[op.getDk()] = dk;
    lowered[op.getDv()] = dv;
    if (inTurns) {
      inTiles(summed(sum, "act.summed", results.size()));
      summed(turns, "act.turns", results.size());
      summed(ticket, "act.ticket", results.size());
      results.push_back(added);
    }
    return success();
  }
  case Part::Queries:
    if (op.getDq().use_empty())
      return success();
    if (!inTurns) {
      Value dk, dv, added;
      if (failed(attentionGradKeys(b, op, operands, workspace(delta, false), dk,
                                   dv, added)))
        return failure();
      attentionGradEnd(b, op, operands, added, lowered[op.getDq()]);
      return success();
    }
    attentionGradEnd(b, op, operands, inTiles(workspace(sum, false)),
                     lowered[op.getDq()]);
    return success();
  case Part::Sinks:
    return op.getDsinks()
               ? attentionGradSinks(b, op, operands, workspace(delta, false),
                                    lowered[op.getDsinks()])
               : success();
  case Part::Bias:
    return op.getDbias()
               ? attentionGradBias(b, op, operands, workspace(delta, false),
                                   lowered[op.getDbias()])
               : success();
  }
  return failure();
}

LogicalResult GroupLowering::lowerOp(Operation &op) {
  SmallVector<Value> operands, values;
  for (Value v : op.getOperands())
    operands.push_back(lowered[v]);
  auto lowerable = dyn_cast<LinalgOpInterface>(op);
  if (!lowerable)
    return op.emitOpError("has no linalg form");
  if (failed(form == LinalgForm::Sums
                 ? lowerable.lowerToSums(b, operands, values)
                 : lowerable.lowerToLinalg(b, operands, values)))
    return failure();
  for (auto [from, to] : llvm::zip_equal(op.getResults(), values))
    lowered[from] = to;
  return success();
}

/// Whether `op` belongs to another part. Reshapes are free, so each part has
/// those that it needs.
bool GroupLowering::leaves(Part part, Operation &op) {
  switch (part) {
  case Part::Product:
    return isa<RopeOp>(op);
  case Part::Rope:
    return !isa<RopeOp>(op) &&
           !(isa<ReshapeOp>(op) && lowered.lookup(op.getOperand(0)));
  case Part::Rows:
    return ofSums.contains(&op) && !llvm::is_contained(sums, &op);
  case Part::Sums:
    return !ofSums.contains(&op) &&
           !(isa<ReshapeOp>(op) && lowered.lookup(op.getOperand(0)));
  case Part::PartsOfProduct:
    return inParts->isBeforeInBlock(&op);
  default:
    return false;
  }
}

/// On a GPU, the kernel over rows stores partial sums in a workspace
/// (`act.parts`), and the part Sums adds them up. On the host a sum is a kernel
/// of its own, over all rows.
LogicalResult GroupLowering::sumOfRows(Part part, Operation *op) {
  unsigned number = llvm::find(sums, op) - sums.begin();
  if (form == LinalgForm::Tiles)
    return part == Part::Sums ? lowerOp(*op) : success();
  if (part == Part::Sums) {
    lowered[op->getResult(0)] =
        lowerSumOfParts(b, op, workspace(number, false));
    return success();
  }
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(lowered[v]);
  Value parts = workspace(number, true);
  marks.push_back({cast<BlockArgument>(parts).getArgNumber(), "act.parts",
                   unsigned(results.size())});
  Operation *norm = nullptr;
  for (Operation &other : group.getBody().front())
    if (isa<RmsNormGradOp, LayerNormGradOp>(other))
      norm = &other;
  results.push_back(
      lowerSumOfRows(b, op, operands, lowered[norm->getOperand(0)]));
  return success();
}

/// Split-K: the first kernel stores parts of the product in scratch, the second
/// adds them in order and goes on with what follows.
void GroupLowering::productInTurn(Part part) {
  SmallVector<Value> operands;
  for (Value v : inParts->getOperands())
    operands.push_back(lowered[v]);
  if (part == Part::PartsOfProduct)
    produce(lowerPartsOfProduct(b, inParts, operands),
            {KernelOperand::Scratch, 0, true});
  else
    lowered[inParts->getResult(0)] = lowerProductOfParts(
        b, inParts, operands,
        argument(scratchType(group), {KernelOperand::Scratch, 0, false}));
}

/// Lowers the group's ops in order, each in the way of its kind. `lowered` maps
/// act values to values of the function.
LogicalResult GroupLowering::body(Part part) {
  // Effects are numbered over the whole group, also those that this part leaves
  // to another.
  unsigned effects = 0;
  RopeOp rope = ropeOfProduct(group);
  Value handed = rope ? beforeRope(rope) : Value();
  if (part == Part::Rope)
    lowered[handed] = workspace(0, false);
  for (Operation &op : group.getBody().front().without_terminator()) {
    auto acts = dyn_cast<ParameterEffectOpInterface>(op);
    unsigned number = effects;
    effects += bool(acts);
    if (leaves(part, op))
      continue;
    if (acts) {
      if (failed(effect(acts, number)))
        return failure();
      continue;
    }
    if (&op == inParts) {
      productInTurn(part);
      continue;
    }
    if (llvm::is_contained(sums, &op)) {
      if (failed(sumOfRows(part, &op)))
        return failure();
      continue;
    }
    if (auto grad = dyn_cast<AttentionGradOp>(op)) {
      SmallVector<Value> operands;
      for (Value v : op.getOperands())
        operands.push_back(lowered[v]);
      if (failed(attentionGrad(grad, operands, part)))
        return failure();
      continue;
    }
    if (failed(lowerOp(op)))
      return failure();
  }
  if (part == Part::Product)
    produce(lowered[handed], {KernelOperand::Workspace, 0, true});
  return success();
}

/// Builds one part as a function. Every part has all operands of the group as
/// its first arguments, in their order, and lowers all ops that `leaves` does
/// not exclude. What only other parts need is dead then.
FailureOr<LoweredKernel> GroupLowering::lower(Part part, Operation *sum) {
  made = LoweredKernel();
  ofSums.clear();
  SmallVector<Operation *> work(sum ? SmallVector<Operation *>{sum} : sums);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (ofSums.insert(op).second)
      work.append(op->user_begin(), op->user_end());
  }
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
    lowered[v] = argument(type, {KernelOperand::Input, unsigned(i), false});
  }
  if (failed(body(part)))
    return failure();
  Operation *yield = group.getBody().front().getTerminator();
  for (auto [r, v] : llvm::enumerate(yield->getOperands())) {
    Value value = lowered.lookup(v);
    if (!value)
      continue; // another part makes it
    // In place, the argument is the result's memory: no operand of its own.
    if (inPlace[r] >= 0) {
      marks.push_back(
          {unsigned(inPlace[r]), "act.inplace", unsigned(results.size())});
      made.operands[inPlace[r]].written = true;
      results.push_back(value);
    } else {
      produce(value, {KernelOperand::Result, unsigned(r), true});
    }
  }
  func::ReturnOp::create(b, group.getLoc(), results);
  // Drop ops that only other parts need.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (isOpTriviallyDead(&op))
      op.erase();
  function.setType(FunctionType::get(b.getContext(), entry->getArgumentTypes(),
                                     ValueRange(results).getTypes()));
  for (auto [argument, mark, result] : marks)
    function.setArgAttr(argument, mark, b.getI64IntegerAttr(result));
  llvm::append_range(made.operands, outputs);
  return made;
}

/// The parts that this group is cut into, in the order in which they are
/// launched.
FailureOr<SmallVector<LoweredKernel>> GroupLowering::run() {
  auto &ops = group.getBody().front().getOperations();
  bool attentionGrad =
      llvm::any_of(ops, [](Operation &op) { return isa<AttentionGradOp>(op); });
  SmallVector<LoweredKernel> list;
  SmallVector<Part> parts{Part::Whole};
  // dq may overlap q, so Queries is last: no kernel reads q after it.
  if (attentionGrad)
    parts = {Part::Begin, Part::Keys, Part::Sinks, Part::Bias, Part::Queries};
  else if (form == LinalgForm::Tiles && ropeOfProduct(group))
    parts = {Part::Product, Part::Rope};
  else if (!sums.empty())
    parts = {Part::Rows, Part::Sums};
  else if (inParts)
    parts = {Part::PartsOfProduct, Part::ProductOfParts};
  SmallVector<std::pair<Part, Operation *>> all;
  for (Part part : parts) {
    if (part == Part::Sums && form == LinalgForm::Tiles)
      for (Operation *sum : sums)
        all.push_back({part, sum});
    else
      all.push_back({part, nullptr});
  }
  for (auto [part, sum] : all) {
    auto made = lower(part, sum);
    if (failed(made))
      return failure();
    // Without gradients of keys, the rows of queries are the main kernel.
    made->isMain =
        part == Part::Whole || part == Part::Keys || part == Part::Product ||
        part == Part::Rows || part == Part::PartsOfProduct ||
        (part == Part::Queries &&
         llvm::none_of(list, [](const LoweredKernel &k) { return k.isMain; }));
    // A part without results has nothing to do in this group, such as the sinks
    // of an attention that has none.
    if (!made->function.getResultTypes().empty())
      list.push_back(*made);
    else
      made->function.erase();
  }
  return list;
}

} // namespace

RankedTensorType act::scratchType(GroupOp group) {
  Operation *product = productInParts(group);
  return product ? plainTensor(partsOfProductType(product))
                 : RankedTensorType();
}

FailureOr<SmallVector<LoweredKernel>> act::lowerGroup(GroupOp group,
                                                      ArrayRef<int64_t> inPlace,
                                                      ModuleOp kernels,
                                                      LinalgForm form) {
  return GroupLowering(group, inPlace, kernels, form).run();
}
