// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of a differentiated module that change what forward saves. Each one
// takes the choice as given: it does not ask whether recomputing or moving
// pays. In layers it keeps the contract that the last results of the forward
// function are the last arguments of the backward function, in the same order.
#include "passes/remat/SavedValues.h"
#include "dialects/act/AttrNames.h"
#include "mlir/IR/IRMapping.h"
#include "passes/autodiff/Autodiff.h"

using namespace mlir;

namespace act {

// Whether repeating `op` does any work; a parameter or a view does none.
static bool runs(Operation *op) {
  auto costed = dyn_cast<CostOpInterface>(op);
  return !costed || (costed.getCostClass() != CostClass::View &&
                     costed.getCostClass() != CostClass::Reference);
}

static InFlightDiagnostic refuse(RepeatOp repeat) {
  return repeat.emitOpError()
         << "saves values in a way that --remat cannot change: ";
}

// Verifies that
// - all stacks go to one repeat, in order, and nowhere else;
// - that repeat runs the same layers in the opposite order and takes no other
//   stacks;
// - the forward repeat takes no stacks;
// - the backward repeat's last shared values are those of the forward one;
// - if the forward layer takes its index, so does the backward layer.
static FailureOr<SavedPair> pairOf(RepeatOp forward, SymbolTable &symbols) {
  RepeatOp backward;
  for (auto [i, stack] : llvm::enumerate(forward.getStacks())) {
    if (!stack.hasOneUse())
      return refuse(forward)
             << "stack " << i << " has "
             << std::distance(stack.use_begin(), stack.use_end())
             << " uses, expected 1";
    OpOperand &use = *stack.use_begin();
    auto user = dyn_cast<RepeatOp>(use.getOwner());
    unsigned whole =
        user ? user.getCarried().size() + user.getShared().size() : 0;
    if (!user || (backward && user != backward) ||
        use.getOperandNumber() != whole + i)
      return refuse(forward)
             << "stack " << i << " is not stacked operand " << i
             << (i ? " of the repeat that takes the others" : " of a repeat");
    backward = user;
  }
  if (backward.getStacked().size() != forward.getStacks().size())
    return refuse(backward) << "it takes " << backward.getStacked().size()
                            << " stacks, expected the "
                            << forward.getStacks().size() << " of one repeat";
  if (backward.getCount() != forward.getCount() ||
      backward.getFrom() != forward.getFrom() ||
      backward.getReverse() == forward.getReverse())
    return refuse(backward) << "it does not run the layers of the saving "
                               "repeat in the opposite order";
  if (!forward.getStacked().empty())
    return refuse(forward) << "it takes stacks itself";
  ValueRange shared = forward.getShared(), others = backward.getShared();
  if (others.size() < shared.size() ||
      others.take_back(shared.size()) != shared)
    return refuse(backward)
           << "its last shared values are not those of the saving repeat";
  auto indexed = [&](RepeatOp repeat) {
    return symbols.lookup<func::FuncOp>(repeat.getCallee()).getNumArguments() >
           repeat.getNumOperands();
  };
  if (indexed(forward) && !indexed(backward))
    return refuse(backward) << "@" << backward.getCallee()
                            << " does not take the layer's index, but @"
                            << forward.getCallee() << " does";
  return SavedPair{forward, backward};
}

// The functions of pairs are rewritten, so nothing else may call them.
static LogicalResult checkCallers(ArrayRef<SavedPair> pairs, ModuleOp module,
                                  SymbolTable &symbols) {
  for (SavedPair pair : pairs)
    for (RepeatOp repeat : {pair.forward, pair.backward}) {
      bool forward = repeat == pair.forward;
      Operation *callee = symbols.lookup(repeat.getCallee());
      auto uses = SymbolTable::getSymbolUses(callee, module);
      for (SymbolTable::SymbolUse use : *uses) {
        bool known = llvm::any_of(pairs, [&](SavedPair p) {
          return (forward ? p.forward : p.backward) == use.getUser();
        });
        if (known)
          continue;
        InFlightDiagnostic error = refuse(repeat)
                                   << "@" << repeat.getCallee()
                                   << " is also called elsewhere";
        error.attachNote(use.getUser()->getLoc()) << "here";
        return failure();
      }
    }
  return success();
}

FailureOr<SmallVector<SavedPair>> findSavedPairs(func::FuncOp grad) {
  auto module = grad->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  SmallVector<SavedPair> pairs;
  for (auto forward : grad.getBody().getOps<RepeatOp>()) {
    if (forward.getStacks().empty())
      continue;
    auto pair = pairOf(forward, symbols);
    if (failed(pair))
      return failure();
    pairs.push_back(*pair);
  }
  if (failed(checkCallers(pairs, module, symbols)))
    return failure();
  return pairs;
}

static void setType(func::FuncOp f) {
  Block &body = f.getBody().front();
  f.setType(FunctionType::get(f.getContext(), body.getArgumentTypes(),
                              body.getTerminator()->getOperandTypes()));
}

/// Emits act.offload of `v` after its last reader before `end`. Earlier, the
/// value would be in both arenas for longer; later, its memory would be free
/// later. A reader of a reshape reads the same memory, so it counts.
static Value offloadAfterUses(Value v, Operation *end) {
  Block &block = *end->getBlock();
  Operation *last = v.getDefiningOp();
  SmallVector<Value> names{v}; // and views of it
  while (!names.empty()) {
    Value name = names.pop_back_val();
    for (Operation *user : name.getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      if (!user || !user->isBeforeInBlock(end))
        continue;
      if (!last || last->isBeforeInBlock(user))
        last = user;
      if (isa<ReshapeOp, KeptOp>(user))
        names.push_back(user->getResult(0));
    }
  }
  OpBuilder b(end);
  if (last)
    b.setInsertionPointAfter(last);
  else
    b.setInsertionPointToStart(&block);
  return OffloadOp::create(b, v.getLoc(), v);
}

/// Makes `users`, all in one block, read `moved` through act.fetch. The value
/// is brought back once, before the first of them.
static void fetchBefore(Value moved, ArrayRef<Operation *> users) {
  Operation *first = users.front();
  for (Operation *user : users)
    if (user->isBeforeInBlock(first))
      first = user;
  OpBuilder b(first);
  Value back = FetchOp::create(b, moved.getLoc(), moved);
  for (Operation *user : users)
    user->replaceUsesOfWith(moved, back);
}

SmallVector<Value> numberedValues(Block &block) {
  SmallVector<Value> values(block.getArguments());
  for (Operation &op : block)
    llvm::append_range(values, op.getResults());
  return values;
}

void offloadAcross(Operation *boundary, ArrayRef<Value> values) {
  for (Value v : values) {
    // Users read the value itself, not its copy through act.kept at the
    // boundary.
    SmallVector<Operation *> readers;
    for (Operation *user : llvm::to_vector(v.getUsers()))
      if (isa<KeptOp>(user) && boundary->isBeforeInBlock(user)) {
        user->getResult(0).replaceAllUsesWith(v);
        user->erase();
      }
    for (Operation *user : v.getUsers())
      if (boundary->isBeforeInBlock(user) &&
          !user->hasTrait<OpTrait::IsTerminator>() &&
          !llvm::is_contained(readers, user))
        readers.push_back(user);
    if (readers.empty())
      continue;
    Value moved = offloadAfterUses(v, boundary);
    for (Operation *user : readers)
      user->replaceUsesOfWith(v, moved);
    fetchBefore(moved, readers);
  }
}

// `inBackward` starts with what both functions have: the saved values, the
// index and the shared values. A copy may read these. Anything else that it
// reads has to be copied or saved as well.
LayerRewriter::LayerRewriter(SavedPair &pair, func::FuncOp forward,
                             func::FuncOp backward, bool rewriteCalls)
    : pair(pair), forward(forward), backward(backward),
      rewriteCalls(rewriteCalls) {
  Block &fwd = forward.getBody().front(), &bwd = backward.getBody().front();
  unsigned carried = pair.forward.getCarried().size();
  for (Value v : fwd.getTerminator()->getOperands().drop_front(carried))
    saved.push_back(v);
  unsigned n = saved.size();
  for (unsigned i = 0; i < n; ++i)
    inBackward[saved[i]] = bwd.getArgument(bwd.getNumArguments() - n + i);
  // The index and the shared values are arguments of both functions.
  unsigned shared = pair.forward.getShared().size();
  bool indexed = fwd.getNumArguments() == carried + shared + 1;
  if (indexed)
    inBackward[fwd.getArgument(0)] = bwd.getArgument(0);
  for (unsigned i = 0; i < shared; ++i)
    inBackward[fwd.getArgument(indexed + carried + i)] =
        bwd.getArgument(bwd.getNumArguments() - n - shared + i);
}

SmallVector<Value> LayerRewriter::savedValues() { return saved; }

// The value in the backward function, for a reader at `before`. There are four
// ways to get it, in this order:
//
//   it is there     an argument, or a copy made for an earlier reader
//   it is a leaf    no chosen op makes it: it is saved from now on
//   it runs again   a copy of its op, marked act.recompute
//   it is free      a copy of a view or a parameter, not marked
//
// Readers are served in the order of the function, so a copy is before every
// later reader.
Value LayerRewriter::copyOf(Value value, Operation *before) {
  Operation *def = value.getDefiningOp();
  bool again =
      def && chosen->contains(def) &&
      !(keepStatistics && cast<OpResult>(value).getResultNumber() > 0 &&
        llvm::is_contained(saved, value));
  // If a chosen op's result was saved, it maps to an argument. That argument
  // is about to be dropped, so it must not be used.
  if (Value known = inBackward.lookup(value)) {
    if (!again || !isa<BlockArgument>(known))
      return known;
  }
  OpBuilder b(before);
  if (!again && !(def && isReplayed(def))) {
    // A leaf that is not saved yet: save it.
    saved.push_back(value);
    return inBackward[value] = backward.getBody().front().addArgument(
               value.getType(), value.getLoc());
  }
  Operation *copy = def->clone();
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(copyOf(operand.get(), before));
  b.insert(copy);
  if (again && runs(def))
    copy->setAttr(recomputeAttr, b.getUnitAttr());
  for (auto [from, to] : llvm::zip(def->getResults(), copy->getResults())) {
    // A statistic that stays saved is read from there.
    Value known = inBackward.lookup(from);
    bool stays =
        keepStatistics && cast<OpResult>(from).getResultNumber() > 0 && known;
    if (!stays)
      inBackward[from] = to;
  }
  // Repeat views at each use, so that they do not keep their source alive.
  Value result = copy->getResult(cast<OpResult>(value).getResultNumber());
  if (!again)
    for (Value r : def->getResults())
      inBackward.erase(r);
  return result;
}

void LayerRewriter::recompute(const DenseSet<Operation *> &ops,
                              bool statistics) {
  chosen = &ops;
  keepStatistics = statistics;
  Block &bwd = backward.getBody().front();
  // Saved values to drop, by their argument in the backward function.
  DenseMap<Value, Value> dropped;
  for (Value v : saved) {
    Operation *def = v.getDefiningOp();
    if (def && ops.contains(def) &&
        !(statistics && cast<OpResult>(v).getResultNumber() > 0))
      dropped[inBackward[v]] = v;
  }
  // Copies are inserted on the way; their operands are right already.
  SmallVector<Operation *> original;
  for (Operation &op : bwd)
    original.push_back(&op);
  for (Operation *op : original)
    for (OpOperand &operand : op->getOpOperands())
      if (Value from = dropped.lookup(operand.get()))
        operand.set(copyOf(from, op));

  // Drop unused arguments in both functions and in the calls.
  unsigned first = bwd.getNumArguments() - saved.size();
  SmallVector<Value> keep;
  llvm::BitVector erase(bwd.getNumArguments());
  for (auto [i, v] : llvm::enumerate(saved)) {
    if (bwd.getArgument(first + i).use_empty())
      erase.set(first + i);
    else
      keep.push_back(v);
  }
  bwd.eraseArguments(erase);
  unsigned carried = pair.forward.getCarried().size();
  Operation *ret = forward.getBody().front().getTerminator();
  SmallVector<Value> results(ret->getOperands().take_front(carried));
  llvm::append_range(results, keep);
  ret->setOperands(results);
  saved = keep;
  setType(forward);
  setType(backward);
  if (rewriteCalls)
    rewriteRepeats();
}

void LayerRewriter::offload(const DenseSet<Value> &values) {
  Block &bwd = backward.getBody().front();
  Operation *ret = forward.getBody().front().getTerminator();
  unsigned carried = pair.forward.getCarried().size();
  unsigned first = bwd.getNumArguments() - saved.size();
  for (auto [i, v] : llvm::enumerate(saved)) {
    Value argument = bwd.getArgument(first + i);
    if (!values.contains(v) || argument.use_empty())
      continue;
    ret->setOperand(carried + i, offloadAfterUses(v, ret));
    fetchBefore(argument, llvm::to_vector(argument.getUsers()));
  }
}

void LayerRewriter::rewriteRepeats() {
  unsigned carried = pair.forward.getCarried().size();
  RepeatOp old = pair.forward;
  OpBuilder b(old);
  SmallVector<Type> types(old.getCarriedResults().getTypes());
  for (Value v : saved)
    types.push_back(prepend(cast<RankedTensorType>(v.getType()), old.getCount(),
                            old.getLetter()));
  auto fwd =
      RepeatOp::create(b, old.getLoc(), types, old.getCallee(), old.getLetter(),
                       old.getCount(), old.getFrom(), old.getReverse(),
                       old.getCarried(), old.getShared(), ValueRange());
  fwd->setDiscardableAttrs(old->getDiscardableAttrDictionary());
  for (unsigned i = 0; i < carried; ++i)
    old.getResult(i).replaceAllUsesWith(fwd.getResult(i));
  // The backward repeat is changed in place, as its results keep their types.
  pair.backward.getStackedMutable().assign(fwd.getStacks());
  old.erase();
  pair.forward = fwd;
}

void recomputeAcross(Operation *boundary, const DenseSet<Operation *> &ops,
                     const DenseSet<Operation *> &apart) {
  DenseMap<std::pair<Value, Operation *>, Value> copies; // by value and reader
  DenseMap<Value, Value> kept;
  DenseMap<Operation *, unsigned> readers; // numbered by first use
  // `reader`: the recomputed op that the copy is for, or null for the ops after
  // the boundary.
  std::function<Value(Value, Operation *, Operation *)> copyOf =
      [&](Value v, Operation *before, Operation *reader) -> Value {
    while (auto same = v.getDefiningOp<KeptOp>()) {
      if (!same->isBeforeInBlock(boundary))
        break;
      v = same.getOperand();
    }
    Operation *def = v.getDefiningOp();
    if (def && (ops.contains(def) || isReplayed(def)) &&
        def->isBeforeInBlock(boundary)) {
      bool alone = apart.contains(def);
      Operation *copyFor = alone ? reader : nullptr;
      if (Value known = copies.lookup({v, copyFor}))
        return known;
      Operation *copy = def->clone();
      OpBuilder b(before);
      for (OpOperand &operand : copy->getOpOperands()) {
        Operation *from = operand.get().getDefiningOp();
        Value made = copyOf(operand.get(), before,
                            alone || !ops.contains(def) ? reader : def);
        // Number the reader, or CSE would merge this copy with the one for
        // another reader.
        while (auto same = from ? dyn_cast<KeptOp>(from) : KeptOp())
          from = same.getOperand().getDefiningOp();
        bool shared = !from || (!apart.contains(from) && !isReplayed(from));
        if (alone && shared && isa<RankedTensorType>(made.getType())) {
          unsigned number =
              readers.try_emplace(reader, readers.size()).first->second;
          made = KeptOp::create(b, made.getLoc(), made);
          made.getDefiningOp()->setAttr("act.reader",
                                        b.getI64IntegerAttr(number));
        }
        operand.set(made);
      }
      b.insert(copy);
      if (ops.contains(def)) {
        if (runs(def))
          copy->setAttr(recomputeAttr, b.getUnitAttr());
        for (auto [from, to] : llvm::zip(def->getResults(), copy->getResults()))
          copies[{from, copyFor}] = to;
      }
      return copy->getResult(cast<OpResult>(v).getResultNumber());
    }
    if (!isa<RankedTensorType>(v.getType()) ||
        (def && boundary->isBeforeInBlock(def)))
      return v;
    // A leaf: read through one act.kept after the boundary. Without it, the
    // copy would be the same op on the same values as the original, and CSE
    // would save the original's result again.
    Value &k = kept[v];
    if (!k) {
      OpBuilder b(boundary->getContext());
      b.setInsertionPointAfter(boundary);
      k = KeptOp::create(b, v.getLoc(), v);
    }
    return k;
  };
  // Drop act.kept of recomputed values, so that copies are made at their
  // readers and not where the value was kept.
  SmallVector<Operation *> behind;
  for (Operation *op = boundary->getNextNode(); op;) {
    Operation *next = op->getNextNode();
    Value from = isa<KeptOp>(op) ? op->getOperand(0) : Value();
    while (auto same = from ? from.getDefiningOp<KeptOp>() : KeptOp())
      from = same.getOperand();
    if (Operation *def = from ? from.getDefiningOp() : nullptr;
        def && ops.contains(def)) {
      op->getResult(0).replaceAllUsesWith(from);
      op->erase();
    } else {
      behind.push_back(op);
    }
    op = next;
  }
  for (Operation *op : behind)
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      // Statistics stay kept, but a table's second result is not a statistic.
      // The function returns the values that forward made.
      if (def && ops.contains(def) && !op->hasTrait<OpTrait::IsTerminator>() &&
          (cast<OpResult>(operand.get()).getResultNumber() == 0 ||
           isa<RopeTableOp>(def)))
        operand.set(copyOf(operand.get(), op, /*reader=*/nullptr));
    }
}

} // namespace act
