// SPDX-License-Identifier: Apache-2.0
//
// Writes @grad and the pairs of layer functions. Each op knows its own gradient
// (DifferentiableOpInterface); this file knows the order in which gradients are
// built and added, what crosses from a layer's forward to its backward
// function, and how repeats are paired. What is saved can be changed later
// (SavedValues).
#include "passes/autodiff/Autodiff.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "mlir/IR/IRMapping.h"
#include "passes/autodiff/Passes.h"
#include "passes/module/Entries.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace act {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/autodiff/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

bool act::isReplayed(Operation *op) {
  if (isa<CausalMaskOp, SegmentMaskOp, PositionsOp, AndOp, NotOp>(op))
    return true;
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && (costed.getCostClass() == CostClass::View ||
                    costed.getCostClass() == CostClass::Reference);
}

namespace {

bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// A layer's pair of functions for one set of shared arguments that have
/// gradients. The backward function carries a running sum for each of those, so
/// repeats of one layer that differ in the set have different functions.
struct LayerPair {
  func::FuncOp forward, backward;
  unsigned saved = 0;
  SmallVector<bool> sharedActive;
};

/// The gradients of one straight-line body. The backward ops emitted at `b` may
/// use any forward value: inside a layer, Importer then makes arguments of
/// those that the backward function does not have.
class BodyGradient {
public:
  BodyGradient(OpBuilder &b) : b(b) {}

  /// The values that depend on a trained parameter and may affect the loss.
  DenseSet<Value> active;
  llvm::MapVector<Value, Value> grads;

  /// A value with several readers has a sum of gradients. The terms come in the
  /// order of the walk, from the last reader to the first, so the sum has one
  /// order.
  void add(Value value, Value grad) {
    if (!grad)
      return;
    auto [it, fresh] = grads.insert({value, grad});
    if (!fresh)
      it->second =
          AddOp::create(b, value.getLoc(), value.getType(), it->second, grad);
  }
  Value take(Value value) {
    auto it = grads.find(value);
    return it == grads.end() ? Value() : it->second;
  }

  /// Emits the gradients of the op's operands. All readers of its results have
  /// been visited, so their gradients are complete.
  LogicalResult visit(Operation *op) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      if (Value g = take(param.getResult()))
        AccumulateOp::create(b, op->getLoc(), param.getNameAttr(), g);
      return success();
    }
    // The gradient of a border between layers is a border too.
    if (auto border = dyn_cast<KeptOp>(op)) {
      Value g = take(border.getResult());
      if (g && active.contains(border.getInput()))
        add(border.getInput(), KeptOp::create(b, op->getLoc(), g));
      return success();
    }
    SmallVector<Value> dy;
    bool any = false;
    for (Value r : op->getResults()) {
      dy.push_back(take(r));
      any |= bool(dy.back());
    }
    if (!any)
      return success();
    SmallVector<bool> needed;
    for (Value v : op->getOperands())
      needed.push_back(active.contains(v));
    if (llvm::none_of(needed, [](bool n) { return n; }))
      return success();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no gradient, but what is differentiated "
                             "depends on trained parameters through it");
    SmallVector<Value> dx(op->getNumOperands());
    if (failed(differentiable.buildGradient(b, dy, needed, dx)))
      return failure();
    for (auto [v, g, n] : llvm::zip(op->getOperands(), dx, needed)) {
      if (!n || !g)
        continue;
      // Accumulate into the persistent gradient right away. Waiting until the
      // backward pass reaches the weight's read would keep it alive longer.
      if (auto param = v.getDefiningOp<ParamOp>())
        accumulate(param, g, op->getLoc());
      else
        add(v, g);
    }
    return success();
  }

private:
  // Right after the op that makes the gradient, before the op's other
  // gradients. There it becomes part of that op's kernel, and the gradient
  // needs no memory of its own.
  void accumulate(ParamOp param, Value g, Location loc) {
    OpBuilder::InsertionGuard guard(b);
    if (Operation *def = g.getDefiningOp();
        def && def->getBlock() == b.getBlock())
      b.setInsertionPointAfter(def);
    AccumulateOp::create(b, loc, param.getNameAttr(), g);
  }

  OpBuilder &b;
};

/// Writes @grad. Forward is a copy of @forward, so that @forward stays for
/// evaluation.
class Differentiator {
public:
  Differentiator(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run();

private:
  void markActive(Block &body, DenseSet<Value> &active);
  LogicalResult addStatistics(Block &body);
  FailureOr<LayerPair> layer(RepeatOp repeat, ArrayRef<bool> sharedActive);
  LogicalResult repeatForward(RepeatOp repeat, const DenseSet<Value> &active);
  LogicalResult repeatBackward(OpBuilder &b, RepeatOp repeat,
                               BodyGradient &body);
  LogicalResult seedLoss(OpBuilder &b, func::FuncOp grad, BodyGradient &body);
  LogicalResult seedResults(func::FuncOp grad, BodyGradient &body);
  void returnGradients(OpBuilder &b, func::FuncOp grad, BodyGradient &body);

  ModuleOp module;
  SymbolTable symbols;
  std::map<std::pair<std::string, SmallVector<bool>>, LayerPair> layers;
  DenseMap<Operation *, LayerPair> pairOf; // the forward repeat -> its pair
};

bool trains(Operation *op, StringRef name, SymbolTable &symbols) {
  auto parameter = symbols.lookup<ParameterOp>(name);
  return parameter && !parameter.getFrozen() &&
         isa<FloatType>(
             cast<RankedTensorType>(parameter.getType()).getElementType());
}

// Marks the values that need a gradient: floats that depend on a trained
// parameter. Ops whose operands are all unmarked get no gradient, so frozen
// weights cost none.
void Differentiator::markActive(Block &body, DenseSet<Value> &active) {
  for (Operation &op : body) {
    bool on = llvm::any_of(op.getOperands(),
                           [&](Value v) { return active.contains(v); });
    if (auto param = dyn_cast<ParamOp>(op))
      on = trains(&op, param.getName(), symbols);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      // If a layer has anything trained, its carried values depend on it. All
      // layers share one function, so all results are active.
      if (auto callee = symbols.lookup<func::FuncOp>(repeat.getCallee()))
        callee.walk([&](ParamOp p) { on |= trains(p, p.getName(), symbols); });
    }
    if (on)
      for (Value r : op.getResults())
        if (isFloatTensor(r.getType()))
          active.insert(r);
  }
}

// Brings forward ops into the form that gradients read: with the row statistics
// as further results, and a linear op with an adapter as its products.
//
//   %y = act.rms_norm %x, %g             becomes
//   %y, %rstd = act.rms_norm %x, %g
LogicalResult Differentiator::addStatistics(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    OpBuilder b(&op);
    Operation *current = &op;
    if (auto linear = dyn_cast<LinearOp>(op); linear && linear.getLoraA()) {
      SmallVector<Value> results;
      if (failed(linear.decompose(b, results)))
        return failure();
      op.replaceAllUsesWith(results);
      op.erase();
      continue;
    }
    auto differentiable = dyn_cast<DifferentiableOpInterface>(current);
    if (!differentiable)
      continue;
    Operation *full = differentiable.withStatistics(b);
    if (full == current)
      continue;
    current->replaceAllUsesWith(
        full->getResults().take_front(current->getNumResults()));
    current->erase();
  }
  return success();
}

/// Lets ops of one function use values of another. Each such value becomes an
/// argument, a copy of a free op (isReplayed), or a saved value.
///
///   bwd:  %d = act.matmul %dy, %0      %0 is a value of fwd
///     becomes a saved value:           fwd returns %0, bwd takes %arg for it
///   bwd:  %d = act.matmul %dy, %w      %w = act.param in fwd
///     becomes a copy:                  bwd reads the parameter itself
class Importer {
public:
  Importer(func::FuncOp from, func::FuncOp to, IRMapping &known)
      : to(to), known(known),
        fromReturn(from.getBody().front().getTerminator()) {}

  SmallVector<Value>
      saved; // values of `from`, in the order of to's new arguments

  void importInto(Operation *user) {
    for (OpOperand &operand : user->getOpOperands())
      if (outside(operand.get()))
        operand.set(get(operand.get(), user));
    for (Region &region : user->getRegions())
      region.walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (outside(operand.get()) &&
              operand.get().getParentRegion()->getParentOp() ==
                  fromReturn->getParentOp())
            operand.set(get(operand.get(), user));
      });
  }

private:
  bool outside(Value v) {
    Region *region = v.getParentRegion();
    return region && !to.getBody().isAncestor(region);
  }

  Value get(Value v, Operation *user) {
    // Copy a free op next to its user, so that no value lives longer.
    Operation *def = v.getDefiningOp();
    if (def && isReplayed(def)) {
      auto [it, fresh] = copies.insert({def, nullptr});
      if (!fresh && it->second->isBeforeInBlock(user))
        return it->second->getResult(cast<OpResult>(v).getResultNumber());
      OpBuilder b(user);
      Operation *copy = b.clone(*def);
      copies[def] = copy;
      importInto(copy);
      return copy->getResult(cast<OpResult>(v).getResultNumber());
    }
    if (Value mapped = known.lookupOrNull(v))
      return mapped;
    saved.push_back(v);
    Value argument = to.getBody().front().addArgument(v.getType(), v.getLoc());
    known.map(v, argument);
    return argument;
  }

  func::FuncOp to;
  IRMapping &known;
  Operation *fromReturn;
  DenseMap<Operation *, Operation *> copies;
};

void setType(func::FuncOp f) {
  Block &body = f.getBody().front();
  f.setType(FunctionType::get(f.getContext(), body.getArgumentTypes(),
                              body.getTerminator()->getOperandTypes()));
}

// The pair for a repeat's layer, in the form that Autodiff.h describes.
// The backward ops are built on forward's values, and those are imported at the
// end: only then is it known which of them are read.
FailureOr<LayerPair> Differentiator::layer(RepeatOp repeat,
                                           ArrayRef<bool> sharedActive) {
  std::pair<std::string, SmallVector<bool>> key(
      repeat.getCallee().str(), SmallVector<bool>(sharedActive));
  if (auto it = layers.find(key); it != layers.end())
    return it->second;

  auto callee = symbols.lookup<func::FuncOp>(repeat.getCallee());
  LayerPair pair;
  pair.sharedActive.assign(sharedActive.begin(), sharedActive.end());
  pair.forward = callee.clone();
  pair.forward.setName(callee.getName().str() + ".fwd");
  pair.forward.setPrivate();
  symbols.insert(pair.forward, std::next(callee->getIterator()));
  Block &fwd = pair.forward.getBody().front();
  if (failed(addStatistics(fwd)))
    return failure();

  OpBuilder b(module.getContext());
  unsigned carried = repeat.getCarried().size(),
           shared = repeat.getShared().size();
  bool indexed = fwd.getNumArguments() == carried + shared + 1;
  auto fwdCarried = fwd.getArguments().drop_front(indexed).take_front(carried);
  auto fwdShared = fwd.getArguments().drop_front(indexed + carried);

  pair.backward =
      func::FuncOp::create(repeat.getLoc(), callee.getName().str() + ".bwd",
                           FunctionType::get(module.getContext(), {}, {}));
  pair.backward.setPrivate();
  symbols.insert(pair.backward, std::next(pair.forward->getIterator()));
  Block *bwd = pair.backward.addEntryBlock();
  IRMapping known;
  if (indexed)
    known.map(fwd.getArgument(0),
              bwd->addArgument(b.getI64Type(), repeat.getLoc()));
  SmallVector<Value> dCarried, dShared;
  for (Value v : fwdCarried)
    dCarried.push_back(bwd->addArgument(v.getType(), v.getLoc()));
  for (auto [v, on] : llvm::zip(fwdShared, sharedActive))
    if (on)
      dShared.push_back(bwd->addArgument(v.getType(), v.getLoc()));
  for (Value v : fwdShared)
    known.map(v, bwd->addArgument(v.getType(), v.getLoc()));

  b.setInsertionPointToEnd(bwd);
  BodyGradient body(b);
  for (Value v : fwdCarried)
    if (isFloatTensor(v.getType()))
      body.active.insert(v);
  for (auto [v, on] : llvm::zip(fwdShared, sharedActive))
    if (on)
      body.active.insert(v);
  markActive(fwd, body.active);

  Operation *ret = fwd.getTerminator();
  for (auto [v, g] : llvm::zip(ret->getOperands(), dCarried))
    body.add(v, g);
  for (Operation &op : llvm::reverse(fwd.without_terminator()))
    if (failed(body.visit(&op)))
      return failure();

  // A repeat carries all values in both directions. One that the loss does not
  // depend on has a zero gradient.
  SmallVector<Value> results;
  for (Value v : fwdCarried) {
    Value g = body.take(v);
    if (!g)
      g = ConstantOp::create(b, v.getLoc(), cast<RankedTensorType>(v.getType()),
                             0.0);
    results.push_back(g);
  }
  unsigned next = 0;
  for (auto [v, on] : llvm::zip(fwdShared, sharedActive)) {
    if (!on)
      continue;
    Value sum = dShared[next++];
    if (Value g = body.take(v))
      sum = AddOp::create(b, v.getLoc(), v.getType(), sum, g);
    results.push_back(sum);
  }
  func::ReturnOp::create(b, repeat.getLoc(), results);

  Importer importer(pair.forward, pair.backward, known);
  for (Operation &op : llvm::make_early_inc_range(*bwd))
    importer.importInto(&op);
  ret->insertOperands(ret->getNumOperands(), importer.saved);
  pair.saved = importer.saved.size();
  setType(pair.forward);
  setType(pair.backward);
  return layers[key] = pair;
}

// Replaces the repeat by one of the forward function, which also returns the
// saved values as stacks.
LogicalResult Differentiator::repeatForward(RepeatOp repeat,
                                            const DenseSet<Value> &active) {
  SmallVector<bool> sharedActive;
  for (Value v : repeat.getShared())
    sharedActive.push_back(active.contains(v));
  auto pair = layer(repeat, sharedActive);
  if (failed(pair))
    return failure();
  unsigned carried = repeat.getCarried().size();
  if (repeat.getNumResults() != carried || !repeat.getStacked().empty())
    return repeat.emitOpError("with stacked values has no gradient");
  SmallVector<Type> types(repeat.getResultTypes());
  auto results =
      pair->forward.getFunctionType().getResults().drop_front(carried);
  for (Type t : results)
    types.push_back(prepend(cast<RankedTensorType>(t), repeat.getCount(),
                            repeat.getLetter()));
  OpBuilder b(repeat);
  auto fwd = RepeatOp::create(
      b, repeat.getLoc(), types, pair->forward.getName(), repeat.getLetter(),
      repeat.getCount(), repeat.getFrom(), repeat.getReverse(),
      repeat.getCarried(), repeat.getShared(), ValueRange());
  repeat->replaceAllUsesWith(fwd->getResults().take_front(carried));
  repeat.erase();
  pairOf[fwd] = *pair;
  return success();
}

// Emits the repeat of the backward function: the layers in the opposite order,
// the gradients of the carried results carried back, the stacks handed over.
// Sums for shared values start from zero here; `add` adds them to the gradients
// from other readers of the value.
LogicalResult Differentiator::repeatBackward(OpBuilder &b, RepeatOp repeat,
                                             BodyGradient &body) {
  const LayerPair &pair = pairOf[repeat];
  bool any = false;
  SmallVector<Value> carry;
  for (Value v : repeat.getCarriedResults())
    any |= bool(body.take(v));
  if (!any)
    return success();
  auto gradOrZero = [&](Value v) -> Value {
    if (Value g = body.take(v))
      return g;
    return ConstantOp::create(b, v.getLoc(),
                              cast<RankedTensorType>(v.getType()), 0.0);
  };
  for (Value v : repeat.getCarriedResults())
    carry.push_back(gradOrZero(v));
  for (auto [v, on] : llvm::zip(repeat.getShared(), pair.sharedActive))
    if (on)
      carry.push_back(ConstantOp::create(
          b, v.getLoc(), cast<RankedTensorType>(v.getType()), 0.0));
  auto bwd = RepeatOp::create(
      b, repeat.getLoc(), ValueRange(carry).getTypes(),
      StringRef(const_cast<LayerPair &>(pair).backward.getName()),
      repeat.getLetter(), repeat.getCount(), repeat.getFrom(),
      !repeat.getReverse(), carry, repeat.getShared(), repeat.getStacks());
  unsigned i = 0;
  for (Value v : repeat.getCarried()) {
    if (body.active.contains(v))
      body.add(v, bwd.getResult(i));
    ++i;
  }
  for (auto [v, on] : llvm::zip(repeat.getShared(), pair.sharedActive))
    if (on)
      body.add(v, bwd.getResult(i++));
  return success();
}

/// Repeats views that are read after `boundary` there, as layers do, so that
/// their inputs cross it instead. What crosses is then the result of an op and
/// never a view of it, and a policy that recomputes the result finds its
/// readers. Goes backwards, so that a view of a view is repeated as well.
void replayViews(Block &block, Operation *boundary) {
  for (Operation *op = boundary->getPrevNode(); op; op = op->getPrevNode()) {
    auto costed = dyn_cast<CostOpInterface>(op);
    if (isa<KeptOp>(op) || !costed || costed.getCostClass() != CostClass::View)
      continue;
    Operation *first = nullptr; // of its readers after the boundary
    SmallVector<OpOperand *> behind;
    for (OpOperand &use : op->getUses()) {
      Operation *user = block.findAncestorOpInBlock(*use.getOwner());
      // A view that enters a repeat has memory of its own, and the two repeats
      // of a layer share it.
      if (user->isBeforeInBlock(boundary) || isa<RepeatOp>(user) ||
          user->hasTrait<OpTrait::IsTerminator>())
        continue;
      behind.push_back(&use);
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (!first)
      continue;
    Operation *again = OpBuilder(first).clone(*op);
    for (OpOperand *use : behind)
      use->set(again->getResult(cast<OpResult>(use->get()).getResultNumber()));
  }
}

LogicalResult Differentiator::seedLoss(OpBuilder &b, func::FuncOp grad,
                                       BodyGradient &body) {
  Value loss = grad.getBody().front().getTerminator()->getOperand(0);
  if (!body.active.contains(loss))
    return emitError(grad.getLoc(),
                     "the loss depends on no parameter that is trained");
  Value seed = ConstantOp::create(b, grad.getLoc(),
                                  cast<RankedTensorType>(loss.getType()), 1.0);
  // WriteStep finds the seed by this attribute, to weigh micro-batches.
  seed.getDefiningOp()->setAttr(lossScaleAttr, b.getUnitAttr());
  body.add(loss, seed);
  return success();
}

static std::string gradientName(func::FuncOp f, bool result, unsigned i) {
  auto name = result ? f.getResultAttrOfType<StringAttr>(i, nameAttr)
                     : f.getArgAttrOfType<StringAttr>(i, nameAttr);
  return (name ? name.getValue().str()
               : (result ? "result" : "arg") + std::to_string(i)) +
         ".grad";
}

// A differentiable function is given the gradients of its results behind its
// own arguments.
LogicalResult Differentiator::seedResults(func::FuncOp grad,
                                          BodyGradient &body) {
  Block &block = grad.getBody().front();
  OpBuilder b(module.getContext());
  SmallVector<Value> results(block.getTerminator()->getOperands());
  bool any = false;
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!body.active.contains(result) || grad.getResultAttr(i, updatesAttr))
      continue;
    any = true;
    unsigned at = grad.getNumArguments();
    auto attrs = b.getDictionaryAttr(
        b.getNamedAttr(nameAttr, b.getStringAttr(gradientName(grad, true, i))));
    if (failed(
            grad.insertArgument(at, result.getType(), attrs, result.getLoc())))
      return failure();
    body.add(result, block.getArgument(at));
  }
  return any ? success()
             : emitError(grad.getLoc(),
                         "no result depends on a parameter that is trained or "
                         "on an argument with act.requires_grad");
}

// It returns the gradients of its arguments behind its own results. One that
// the results do not depend on is zero.
void Differentiator::returnGradients(OpBuilder &b, func::FuncOp grad,
                                     BodyGradient &body) {
  Block &block = grad.getBody().front();
  Operation *ret = block.getTerminator();
  for (unsigned i = 0; i < grad.getNumArguments(); ++i) {
    if (!grad.getArgAttr(i, requiresGradAttr))
      continue;
    Value argument = block.getArgument(i);
    Value g = body.take(argument);
    if (!g)
      g = ConstantOp::create(b, argument.getLoc(),
                             cast<RankedTensorType>(argument.getType()), 0.0);
    unsigned at = ret->getNumOperands();
    ret->insertOperands(at, g);
    auto attrs = b.getDictionaryAttr(b.getNamedAttr(
        nameAttr, b.getStringAttr(gradientName(grad, false, i))));
    (void)grad.insertResult(at, g.getType(), attrs);
  }
}

LogicalResult Differentiator::run() {
  auto forward = symbols.lookup<func::FuncOp>(forwardName);
  if (!forward)
    return emitError(module.getLoc(),
                     "the module has no function @forward to differentiate");
  if (forward.getBody().empty() || !forward.getBody().hasOneBlock())
    return emitError(forward.getLoc(),
                     "@forward is not one straight block of ops");
  bool function = isDifferentiableFunction(module);
  if (!function && !returnsLoss(module))
    return emitError(
        forward.getLoc(),
        "@forward's first result is not a scalar loss (a float tensor of rank "
        "0), and it is not marked act.differentiable; a model for inference "
        "has no gradients, so --remat, --device-memory without --allocator "
        "and an optimizer do not apply");

  func::FuncOp grad = forward.clone();
  grad.setName(gradName);
  symbols.insert(grad, std::next(forward->getIterator()));
  Block &block = grad.getBody().front();
  if (failed(addStatistics(block)))
    return failure();

  OpBuilder b(block.getTerminator());
  BodyGradient body(b);
  for (BlockArgument a : block.getArguments())
    if (grad.getArgAttr(a.getArgNumber(), requiresGradAttr))
      body.active.insert(a);
  markActive(block, body.active);
  SmallVector<RepeatOp> repeats(block.getOps<RepeatOp>());
  for (RepeatOp repeat : repeats) {
    // The replacement has new result values; carry their activity over. The
    // old repeat is erased, so the new one is found by its neighbour.
    SmallVector<bool> was;
    for (Value r : repeat.getResults())
      was.push_back(body.active.contains(r));
    auto before = repeat->getPrevNode();
    DenseSet<Value> active = body.active;
    for (Value r : repeat.getResults())
      body.active.erase(r);
    if (failed(repeatForward(repeat, active)))
      return failure();
    Operation *fwd = before ? before->getNextNode() : &block.front();
    for (auto [i, on] : llvm::enumerate(was))
      if (on)
        body.active.insert(fwd->getResult(i));
  }

  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  auto backward = PhaseOp::create(b, grad.getLoc(), "backward");
  if (failed(function ? seedResults(grad, body) : seedLoss(b, grad, body)))
    return failure();
  for (Operation *op : llvm::reverse(ops)) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      if (failed(repeatBackward(b, repeat, body)))
        return failure();
    } else if (failed(body.visit(op))) {
      return failure();
    }
  }
  // Backward reads the values of forward's layers, not their borders. A border
  // is there in modules that --inline-repeats has written out.
  for (auto border : block.getOps<KeptOp>())
    if (border->isBeforeInBlock(backward))
      border.getResult().replaceUsesWithIf(
          border.getInput(), [&](OpOperand &use) {
            return backward->isBeforeInBlock(
                block.findAncestorOpInBlock(*use.getOwner()));
          });
  if (function)
    returnGradients(b, grad, body);
  replayViews(block, backward);
  return success();
}

struct Autodiff : act::impl::AutodiffPassBase<Autodiff> {
  void runOnOperation() override {
    if (failed(differentiate(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult act::differentiate(ModuleOp module) {
  if (failed(checkEntries(module)))
    return failure();
  if (module.lookupSymbol(gradName))
    return emitError(module.getLoc(),
                     "the module is already differentiated: it has a @grad");
  if (kernelsFormed(module))
    return emitError(
        module.getLoc(),
        "the module is in kernel form without a gradient and can no longer be "
        "differentiated; differentiate it before kernels are formed");
  return Differentiator(module).run();
}
