// SPDX-License-Identifier: Apache-2.0
#include "passes/act/AttentionModule.h"
#include "passes/act/Differentiate.h"
#include "passes/act/Entries.h"
#include "passes/act/FormKernels.h"
#include "passes/act/Passes.h"
#include "passes/act/SavedValues.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

namespace act {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "passes/act/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

enum class Policy { None, Selective, Attention, AttentionCore, Layer, Segments };

/// Cheap ops whose inputs are kept anyway. Walks in order, so that a value that
/// has to be kept can serve those after it.
DenseSet<Operation *> selectCheap(ArrayRef<Value> saved, Block &body) {
  DenseSet<Value> kept(saved.begin(), saved.end());
  for (BlockArgument a : body.getArguments())
    kept.insert(a);
  DenseSet<Operation *> chosen;
  DenseSet<Value> dropped;
  // Can `v` be had from kept values through cheap ops alone?
  std::function<bool(Value, bool)> reachable = [&](Value v, bool root) -> bool {
    if (!root && kept.contains(v) && !dropped.contains(v))
      return true;
    Operation *def = v.getDefiningOp();
    if (!def)
      return true;
    auto costed = dyn_cast<CostOpInterface>(def);
    if (!costed)
      return false;
    CostClass c = costed.getCostClass();
    if (c != CostClass::Cheap && c != CostClass::Statistic && !isReplayed(def))
      return false;
    return llvm::all_of(def->getOperands(), [&](Value o) { return reachable(o, false); });
  };
  for (Operation &op : body.without_terminator()) {
    auto costed = dyn_cast<CostOpInterface>(op);
    if (!costed || (costed.getCostClass() != CostClass::Cheap &&
                    costed.getCostClass() != CostClass::Statistic))
      continue;
    // The first result; the statistics behind it stay.
    if (op.getNumResults() == 0 || !kept.contains(op.getResult(0)))
      continue;
    if (!reachable(op.getResult(0), true))
      continue;
    chosen.insert(&op);
    dropped.insert(op.getResult(0));
  }
  return chosen;
}

class Rematerializer {
public:
  Rematerializer(ModuleOp module, Policy policy, int64_t segments)
      : module(module), symbols(module), policy(policy), segments(segments) {}

  LogicalResult run() {
    auto grad = module.lookupSymbol<func::FuncOp>(gradName);
    auto pairs = findSavedPairs(grad);
    if (failed(pairs))
      return failure();
    for (SavedPair &pair : *pairs) {
      if (policy == Policy::Segments) {
        if (failed(cutIntoSegments(pair)))
          return failure();
        continue;
      }
      if (failed(recomputeInLayer(pair)))
        return failure();
    }
    if (policy == Policy::Selective)
      recomputeInBody(grad);
    return success();
  }

private:
  /// The ops of a forward layer that the policy runs again.
  DenseSet<Operation *> region(Block &body, ArrayRef<Value> saved) {
    DenseSet<Operation *> ops;
    switch (policy) {
    case Policy::Selective:
      return selectCheap(saved, body);
    case Policy::Layer:
      for (Operation &op : body.without_terminator())
        ops.insert(&op);
      return ops;
    case Policy::Attention:
      return attentionModule(body, /*coreOnly=*/false);
    case Policy::AttentionCore:
      return attentionModule(body, /*coreOnly=*/true);
    default:
      return ops;
    }
  }

  LogicalResult recomputeInLayer(SavedPair &pair) {
    auto fwd = symbols.lookup<func::FuncOp>(pair.forward.getCallee());
    auto bwd = symbols.lookup<func::FuncOp>(pair.backward.getCallee());
    LayerRewriter rewriter(pair, fwd, bwd);
    rewriter.recompute(region(fwd.getBody().front(), rewriter.savedValues()),
                       /*keepStatistics=*/policy == Policy::Selective);
    return success();
  }

  /// Values that cross the phase boundary in the entry function itself.
  void recomputeInBody(func::FuncOp grad) {
    Block &block = grad.getBody().front();
    PhaseOp boundary;
    for (auto phase : block.getOps<PhaseOp>())
      boundary = phase;
    if (!boundary)
      return;
    SmallVector<Value> crossing;
    for (Operation &op : block) {
      if (!op.isBeforeInBlock(boundary))
        break;
      for (Value r : op.getResults())
        if (!isReplayed(&op) && llvm::any_of(r.getUsers(), [&](Operation *u) {
              return boundary->isBeforeInBlock(u) && !u->hasTrait<OpTrait::IsTerminator>();
            }))
          crossing.push_back(r);
    }
    DenseSet<Operation *> chosen;
    for (Operation *op : selectCheap(crossing, block))
      if (op->isBeforeInBlock(boundary) && llvm::is_contained(crossing, op->getResult(0)))
        chosen.insert(op);
    recomputeAcross(boundary, chosen);
  }

  LogicalResult cutIntoSegments(SavedPair &pair);

  ModuleOp module;
  SymbolTable symbols;
  Policy policy;
  int64_t segments;
};

// Forward: one repeat without saved values per segment. Backward, from the last
// segment to the first: run the segment again with saved values, except its
// last layer, whose backward function recomputes for itself (so the layer's
// last product is not run again for nothing); then go back through it.
LogicalResult Rematerializer::cutIntoSegments(SavedPair &pair) {
  RepeatOp forward = pair.forward, backward = pair.backward;
  int64_t count = forward.getCount(), first = forward.getFrom();
  int64_t n = segments ? segments : std::llround(std::sqrt(double(count)));
  if (n < 1 || n > count)
    return forward.emitError() << "cannot be cut into " << n << " segments: it runs "
                               << count << " layers";
  if (forward.getReverse())
    return forward.emitError("runs its layers in reverse and cannot be cut into segments");
  auto fwd = symbols.lookup<func::FuncOp>(forward.getCallee());
  auto bwd = symbols.lookup<func::FuncOp>(backward.getCallee());
  unsigned carried = forward.getCarried().size();

  // @layer without saved values, and a backward function that recomputes.
  func::FuncOp plain = fwd.clone();
  plain.setName(fwd.getName().str() + ".plain");
  symbols.insert(plain, std::next(fwd->getIterator()));
  Operation *ret = plain.getBody().front().getTerminator();
  ret->setOperands(ret->getOperands().take_front(carried));
  eraseDead(plain.getBody().front());
  plain.setType(FunctionType::get(plain.getContext(), plain.getArgumentTypes(),
                                  ret->getOperandTypes()));
  func::FuncOp own = bwd.clone();
  own.setName(bwd.getName().str() + ".recompute");
  symbols.insert(own, std::next(bwd->getIterator()));
  func::FuncOp ownFwd = fwd.clone();
  symbols.insert(ownFwd, std::next(fwd->getIterator()));
  SavedPair ownPair = pair;
  LayerRewriter rewriter(ownPair, ownFwd, own, /*rewriteCalls=*/false);
  DenseSet<Operation *> all;
  for (Operation &op : ownFwd.getBody().front().without_terminator())
    all.insert(&op);
  rewriter.recompute(all, /*keepStatistics=*/false);
  // What is left to save is carried arguments; any order, by argument number.
  SmallVector<unsigned> inputs;
  for (Value v : rewriter.savedValues())
    inputs.push_back(cast<BlockArgument>(v).getArgNumber());
  unsigned indexed = ownFwd.getNumArguments() - carried - forward.getShared().size();
  symbols.erase(ownFwd);

  SmallVector<int64_t> cut;
  for (int64_t i = 0; i <= n; ++i)
    cut.push_back(std::llround(double(i) * count / n));

  OpBuilder b(forward);
  Location loc = forward.getLoc();
  SmallVector<SmallVector<Value>> starts;
  SmallVector<Value> x(forward.getCarried());
  for (int64_t i = 0; i < n; ++i) {
    starts.push_back(x);
    auto run = RepeatOp::create(
        b, loc, ValueRange(x).getTypes(), plain.getName(),
        n == 1 ? forward.getLetter() : "", cut[i + 1] - cut[i], first + cut[i], false, x,
        forward.getShared(), ValueRange());
    x.assign(run.getResults().begin(), run.getResults().end());
  }
  for (unsigned i = 0; i < carried; ++i)
    forward.getResult(i).replaceAllUsesWith(x[i]);

  b.setInsertionPoint(backward);
  SmallVector<Value> dy(backward.getCarried());
  SmallVector<Value> stackTypesOf(forward.getStacks());
  for (int64_t i = n - 1; i >= 0; --i) {
    int64_t from = first + cut[i], k = cut[i + 1] - cut[i];
    SmallVector<Value> x = starts[i], stacks;
    for (Value &v : x)
      v = KeptOp::create(b, loc, v);
    SmallVector<Value> lastInput = x;
    if (k > 1) {
      SmallVector<Type> types(ValueRange(x).getTypes());
      for (Type t : fwd.getFunctionType().getResults().drop_front(carried))
        types.push_back(prepend(cast<RankedTensorType>(t), k - 1, std::to_string(k - 1)));
      auto again = RepeatOp::create(b, loc, types, fwd.getName(), "", k - 1, from, false, x,
                                    forward.getShared(), ValueRange());
      again->setAttr("act.recompute", b.getUnitAttr());
      lastInput.assign(again.getCarriedResults().begin(), again.getCarriedResults().end());
      stacks.assign(again.getStacks().begin(), again.getStacks().end());
    }
    SmallVector<Value> slices;
    for (unsigned a : inputs) {
      Value v = lastInput[a - indexed];
      auto type = prepend(cast<RankedTensorType>(v.getType()), 1, "1");
      slices.push_back(reshapeTo(b, v, type));
    }
    auto last = RepeatOp::create(b, loc, ValueRange(dy).getTypes(), own.getName(), "", 1,
                                 from + k - 1, true, dy, backward.getShared(), slices);
    dy.assign(last.getResults().begin(), last.getResults().end());
    if (k > 1) {
      auto rest = RepeatOp::create(b, loc, ValueRange(dy).getTypes(), bwd.getName(), "",
                                   k - 1, from, true, dy, backward.getShared(), stacks);
      dy.assign(rest.getResults().begin(), rest.getResults().end());
    }
  }
  backward.replaceAllUsesWith(dy);
  backward.erase();
  forward.erase();
  // With one layer to a segment nobody calls these any more.
  for (func::FuncOp f : {fwd, bwd})
    if (SymbolTable::symbolKnownUseEmpty(f, module))
      symbols.erase(f);
  return success();
}

struct Rematerialize : act::impl::RematerializePassBase<Rematerialize> {
  using RematerializePassBase::RematerializePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    StringRef text = policy;
    int64_t segments = 0;
    Policy p;
    if (text == "none")
      p = Policy::None;
    else if (text == "selective")
      p = Policy::Selective;
    else if (text == "attention")
      p = Policy::Attention;
    else if (text == "attention-core")
      p = Policy::AttentionCore;
    else if (text == "layer")
      p = Policy::Layer;
    else if (text == "sqrt")
      p = Policy::Segments;
    else if (text.consume_front("segments=")) {
      p = Policy::Segments;
      if (text.getAsInteger(10, segments) || segments < 1) {
        module.emitError() << "remat policy '" << policy
                           << "': expected a number of segments of 1 or more, found '" << text
                           << "'";
        return signalPassFailure();
      }
    } else {
      module.emitError() << "unknown remat policy '" << policy
                         << "': expected none, selective, attention, attention-core, "
                            "layer, sqrt or segments=N";
      return signalPassFailure();
    }
    if (auto earlier = module->getAttrOfType<StringAttr>("act.remat");
        earlier && earlier.getValue() != "none") {
      module.emitError() << "is rematerialized already, by policy '" << earlier.getValue()
                         << "'; policy '" << policy << "' cannot be added to it";
      return signalPassFailure();
    }
    if (failed(checkEntries(module)) ||
        (!module.lookupSymbol(gradName) && failed(differentiate(module))))
      return signalPassFailure();
    if (p != Policy::None && kernelsFormed(module)) {
      module.emitError("is in kernel form; what is recomputed is chosen before kernels are formed");
      return signalPassFailure();
    }
    module->setAttr("act.remat", StringAttr::get(&getContext(), policy));
    if (p == Policy::None)
      return;
    if (failed(Rematerializer(module, p, segments).run()))
      signalPassFailure();
  }
};

} // namespace
