// SPDX-License-Identifier: Apache-2.0
//
// Decides which ops share a kernel, in what order kernels run, and which memory
// results take over, one function body at a time. Groups contain the ops of the
// input, except for the fused loss, which is written out first, and norms that
// are split for prologues. How a target runs a group is decided when the group
// is lowered.
#include "passes/kernels/FormKernels.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/KernelForm.h"
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/kernels/ExpandLoss.h"
#include "passes/kernels/Flatten.h"
#include "passes/kernels/FusePrologues.h"
#include "passes/kernels/InPlace.h"
#include "passes/kernels/Passes.h"
#include "passes/module/Entries.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

namespace act {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/kernels/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// A linalg operation on memory, which has no place among values.
bool writesMemory(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  return destination && !destination.hasPureTensorSemantics();
}
/// An op that no kernel may contain.
bool isOutside(Operation *op) {
  return isSlice(op) ||
         isa<ParamOp, RepeatOp, PhaseOp, KeptOp, SiteOp, GroupOp>(op) ||
         !isa<CostOpInterface>(op) || writesMemory(op);
}

/// The values of the block of `op` that its regions use.
SmallVector<Value> valuesInRegions(Operation *op) {
  SmallVector<Value> values;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (v.getParentBlock() == op->getBlock())
          values.push_back(v);
    });
  return values;
}

/// Is `op` the only reader of its first operand, through reshapes?
bool readsAlone(Operation *op) {
  Value v = op->getOperand(0);
  while (auto reshape = v.getDefiningOp<ReshapeOp>()) {
    if (!v.hasOneUse())
      return false;
    v = reshape.getInput();
  }
  return v.hasOneUse();
}

bool sameShape(Value x, Value y) {
  auto a = dyn_cast<RankedTensorType>(x.getType()),
       b = dyn_cast<RankedTensorType>(y.getType());
  return a && b && a.getShape() == b.getShape();
}

/// A kernel being formed: its ops in order, the root first.
struct Kernel {
  SmallVector<Operation *> ops;
  unsigned position = 0; // where to insert it: the index of one of its ops
  bool alive = true;
  bool ended = false; // an accumulation or a last op has joined
};

/// Forms the kernels of one block. The ops are visited in order, and each joins
/// a kernel that exists or starts one, so a kernel's root is its first op.
/// Nothing is moved before `emit`. Until then a kernel is a list of ops and a
/// position, with the invariant that every value it reads is made before the
/// position and every reader of its results stands behind it.
class KernelFormer {
public:
  KernelFormer(Block &block, bool fusesPrologues)
      : block(block), fusesPrologues(fusesPrologues) {}

  void run() {
    if (fusesPrologues)
      splitNorms(block);
    number();
    for (Operation &op : block)
      if (!isOutside(&op) && !isInlined(&op))
        place(&op);
    if (fusesPrologues)
      for (Kernel &k : kernels)
        dissolve(k);
    materializeViews();
    // From the last to the first: what only a dead kernel reads is dead too.
    for (Kernel &k : llvm::reverse(kernels))
      k.alive = k.alive && !isDead(k);
    for (Kernel &k : kernels)
      if (k.alive)
        order.push_back(&k);
    llvm::stable_sort(
        order, [](Kernel *a, Kernel *b) { return a->position < b->position; });
    emit();
  }

private:
  /// Does every kernel that reads `op` get its own copy? The answer changes
  /// when `dissolve` adds to the prologues.
  bool isInlined(Operation *op) {
    return (isFree(op) && !isSlice(op) && !cutsRows(op)) ||
           prologues.contains(op);
  }

  /// Whether rows of a part become several rows each, next to those of other
  /// rows: a kernel's blocks of rows would not lie at a constant distance.
  ///
  ///   [2, 160] -> [2, 32], [2, 128] -> [2, 4, 32] -> [8, 32]
  static bool cutsRows(Operation *op) {
    auto split = dyn_cast<SplitOp>(op);
    return split && llvm::any_of(split.getParts(), [](Value part) {
             auto type = cast<RankedTensorType>(part.getType());
             return type.hasStaticShape() && type.getRank() > 1 &&
                    readsInPieces(part, type.getShape().back());
           });
  }
  static bool readsInPieces(Value v, int64_t row) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) {
      auto reshape = dyn_cast<ReshapeOp>(user);
      if (!reshape)
        return false;
      auto type = cast<RankedTensorType>(reshape.getResult().getType());
      if (!type.hasStaticShape())
        return false;
      // A dimension that ends inside a row and begins before it.
      int64_t inner = 1;
      for (int64_t size : llvm::reverse(type.getShape())) {
        if (inner < row && inner * size > row)
          return true;
        inner *= size;
      }
      return readsInPieces(reshape.getResult(), row);
    });
  }

  void number() {
    unsigned n = 0, phase = 0;
    for (Operation &op : block) {
      index[&op] = n++;
      phaseOf[&op] = phase += isa<PhaseOp>(op);
    }
  }

  /// The op that makes `v`, with `throughViews` the one before reshapes. An
  /// elementwise op may not look through them: its loop is the root's.
  Operation *producer(Value v, bool throughViews) {
    Operation *def = v.getDefiningOp();
    while (def && throughViews && isa<ReshapeOp>(def))
      def = def->getOperand(0).getDefiningOp();
    return def;
  }

  /// The position from which `v` can be read. An inlined op runs in its reader,
  /// so only its own operands have to be there.
  unsigned readyAt(Value v) {
    Operation *def = v.getDefiningOp();
    if (!def)
      return 0;
    if (isInlined(def)) {
      unsigned at = 0;
      for (Value o : def->getOperands())
        at = std::max(at, readyAt(o));
      return at;
    }
    auto it = kernelOf.find(def);
    return it == kernelOf.end() ? index[def] : kernels[it->second].position;
  }

  /// The first position at which an op outside `k`, other than `except`, reads
  /// one of its results.
  unsigned firstUse(const Kernel &k, Operation *except) {
    unsigned first = ~0u;
    SmallVector<Value> work;
    for (Operation *op : k.ops)
      llvm::append_range(work, op->getResults());
    while (!work.empty()) {
      Value v = work.pop_back_val();
      for (Operation *user : v.getUsers()) {
        if (user == except || llvm::is_contained(k.ops, user))
          continue;
        if (isInlined(user)) {
          llvm::append_range(work, user->getResults());
          continue;
        }
        auto it = kernelOf.find(user);
        first = std::min(first, it == kernelOf.end()
                                    ? index[user]
                                    : kernels[it->second].position);
      }
    }
    return first;
  }

  static bool sumsRows(const Kernel &k) {
    return llvm::any_of(
        k.ops, [&](Operation *op) { return takesRowSum(k.ops.front(), op); });
  }

  /// Collects the kernels whose roots read `v`, also through reshapes.
  void collectRoots(Value v, SmallVectorImpl<unsigned> &roots) {
    for (Operation *user : v.getUsers()) {
      auto it = kernelOf.find(user);
      if (it != kernelOf.end() && kernels[it->second].ops.front() == user)
        roots.push_back(it->second);
      else if (isa<ReshapeOp>(user))
        collectRoots(user->getResult(0), roots);
    }
  }

  /// Adds `op` to the latest kernel that reads the rows it sums. The sum reads
  /// what that kernel reads, so it is ready at its position.
  bool joinsRows(Operation *op) {
    // What starts an epilogue is no sum. Most ops end here, so the users of
    // their operands are not looked through.
    if (!isa<KernelOpInterface>(op) || takesEpilogue(op))
      return false;
    SmallVector<unsigned> roots;
    for (Value v : op->getOperands())
      collectRoots(beforeReshapes(v), roots);
    llvm::sort(roots, std::greater<>());
    for (unsigned i : roots) {
      Operation *root = kernels[i].ops.front();
      if (!takesRowSum(root, op) || phaseOf[root] != phaseOf[op])
        continue;
      kernels[i].ops.push_back(op);
      kernelOf[op] = i;
      return true;
    }
    return false;
  }

  /// Adds `op` to the kernel that makes one of its operands, if that is
  /// possible:
  ///
  ///   %0 = act.linear %x, %w       the root
  ///   %1 = act.silu %0             joins: an epilogue
  ///   act.accumulate @w, %d        joins the product that makes %d
  bool joins(Operation *op) {
    if (joinsRows(op))
      return true;
    bool accumulate = isa<AccumulateOp>(op);
    auto kernelOp = dyn_cast<KernelOpInterface>(op);
    // An op that may end a kernel, such as a rotary embedding behind a product.
    bool ends = kernelOp && !accumulate && !isElementwise(op) &&
                op->getNumOperands() > 0 && readsAlone(op);
    if (!accumulate && !isElementwise(op) && !ends)
      return false;
    // Prefer the latest producer: the other operands are likely ready by then.
    Kernel *best = nullptr;
    unsigned bestIndex = 0;
    // An end joins the producer of its first operand: a rotary embedding that
    // of its input, not of its tables.
    for (Value v :
         op->getOperands().take_front(ends ? 1 : op->getNumOperands())) {
      Operation *def = producer(v, accumulate || ends);
      auto it = def ? kernelOf.find(def) : kernelOf.end();
      if (it == kernelOf.end())
        continue;
      Kernel &k = kernels[it->second];
      Operation *root = k.ops.front();
      bool ofRows = takesRowSum(root, def);
      if (ends         ? !kernelOp.endsKernelOf(root)
          : accumulate ? !takesAccumulation(ofRows ? def : root)
                       : ofRows || !takesEpilogue(root))
        continue;
      // Recomputation in backward must not be fused back into forward.
      if (phaseOf[root] != phaseOf[op])
        continue;
      // An accumulation ends a kernel as well. Only a norm's gradient goes on
      // after accumulations, as each of its sums has one.
      if (k.ended && !sumsRows(k))
        continue;
      // An epilogue is computed on the elements that the root has just made.
      if (!accumulate && !ends &&
          !sameShape(op->getResult(0), root->getResult(0)))
        continue;
      if (!best || k.position > best->position) {
        best = &k;
        bestIndex = it->second;
      }
    }
    if (!best)
      return false;
    // Keep the producer's position if the other operands are ready by then.
    // Otherwise move to this op's, if nothing reads the results before it.
    unsigned ready = 0;
    for (Value v : op->getOperands()) {
      Operation *def = producer(v, accumulate || ends);
      auto it = def ? kernelOf.find(def) : kernelOf.end();
      if (it != kernelOf.end() && it->second == bestIndex)
        continue;
      ready = std::max(ready, readyAt(v));
      // A second path from the kernel to this op would form a cycle:
      //
      //   %0 = act.matmul ...
      //   %1 = act.softmax %0        a kernel of its own, between the two
      //   %2 = act.mul %0, %1        cannot be in the product's kernel
      if (dependsOn(v, bestIndex))
        return false;
    }
    if (ready >= best->position) {
      // Accumulations into gradients keep the order of the ops: the order in
      // which a gradient is added up must not depend on what is recomputed.
      if (llvm::any_of(best->ops, llvm::IsaPred<ParameterEffectOpInterface>) ||
          firstUse(*best, op) <= index[op])
        return false;
      best->position = index[op];
    }
    best->ops.push_back(op);
    best->ended |= accumulate || ends;
    kernelOf[op] = bestIndex;
    return true;
  }

  /// Does `v` come from kernel `k` through other kernels? A kernel that is
  /// passed on the way counts whole, since it runs whole: `v` depends on the
  /// operands of all its ops.
  bool dependsOn(Value v, unsigned k) {
    SmallVector<Value> work{v};
    DenseSet<Operation *> seen;
    while (!work.empty()) {
      Operation *def = work.pop_back_val().getDefiningOp();
      // Nothing before the root of `k` can depend on it.
      if (!def || !seen.insert(def).second ||
          index[def] < index[kernels[k].ops.front()])
        continue;
      auto it = kernelOf.find(def);
      if (it != kernelOf.end() && it->second == k)
        return true;
      if (it != kernelOf.end()) {
        for (Operation *op : kernels[it->second].ops)
          llvm::append_range(work, op->getOperands());
      } else {
        llvm::append_range(work, def->getOperands());
      }
    }
    return false;
  }

  void place(Operation *op) {
    if (joins(op))
      return;
    kernelOf[op] = kernels.size();
    kernels.push_back({{op}, index[op]});
  }

  /// Makes an elementwise kernel that only products read a prologue of each. It
  /// comes after all joining: an epilogue has its inputs in registers already,
  /// which is cheaper than a prologue.
  void dissolve(Kernel &k) {
    Value result;
    for (Operation *op : k.ops) {
      auto kernelOp = dyn_cast<KernelOpInterface>(op);
      if (!isElementwise(op) && !(kernelOp && kernelOp.isPrologue()))
        return;
      for (Value r : op->getResults())
        if (isReadOutside(r, k)) {
          if (result)
            return;
          result = r;
        }
    }
    if (!result || !isPrologue(k.ops, result))
      return;
    for (Operation *op : k.ops) {
      prologues.insert(op);
      kernelOf.erase(op);
    }
    k.alive = false;
  }

  /// A view that leaves the block, enters a repeat or is cut needs its own
  /// memory, unless it is a reshape, which has its input's bytes in the same
  /// order. So does a constant, such as the zero that a repeat starts its sum
  /// from. The kernel that is made here only copies or fills.
  void materializeViews() {
    for (Operation &op : block) {
      bool free = isa<ReshapeOp>(op);
      if (!isInlined(&op) || free)
        continue;
      bool escapes = false;
      SmallVector<Value> work(op.getResults());
      while (!work.empty()) {
        Value v = work.pop_back_val();
        for (Operation *user : v.getUsers()) {
          escapes |= isa<RepeatOp, KeptOp, PhaseOp, func::CallOp>(user) ||
                     isSlice(user) || user == block.getTerminator();
          if (isa<ReshapeOp>(user))
            work.push_back(user->getResult(0));
        }
      }
      if (!escapes)
        continue;
      kernelOf[&op] = kernels.size();
      kernels.push_back({{&op}, index[&op]});
    }
  }

  /// Does an op outside `k` read `v`, directly or through inlined ops?
  bool isReadOutside(Value v, const Kernel &k) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) {
      Operation *at = block.findAncestorOpInBlock(*user);
      if (llvm::is_contained(k.ops, at))
        return false;
      auto reader = kernelOf.find(at);
      if (reader != kernelOf.end() && !kernels[reader->second].alive)
        return false;
      return !isInlined(at) || kernelOf.contains(at) ||
             llvm::any_of(at->getResults(),
                          [&](Value r) { return isReadOutside(r, k); });
    });
  }

  /// Does `k` neither act on anything nor make a value that is read?
  bool isDead(const Kernel &k) {
    return llvm::all_of(k.ops, [&](Operation *op) {
      return isMemoryEffectFree(op) &&
             llvm::none_of(op->getResults(),
                           [&](Value r) { return isReadOutside(r, k); });
    });
  }

  void emit();
  std::string nameOf(const Kernel &k);

  Block &block;
  bool fusesPrologues;
  DenseSet<Operation *> prologues;
  DenseMap<Operation *, unsigned> index, kernelOf, phaseOf;
  std::deque<Kernel> kernels;
  SmallVector<Kernel *> order;
};

// What timelines and reports call the kernel: its root, and the parameter that
// it adds to or else reads, as in "linear.up" or "matmul.down".
std::string KernelFormer::nameOf(const Kernel &k) {
  Operation *root = k.ops.front();
  std::string name = root->getName().stripDialect().str();
  StringRef symbol;
  for (Operation *op : k.ops)
    if (auto accumulate = dyn_cast<AccumulateOp>(op))
      symbol = accumulate.getName();
  if (symbol.empty())
    for (Value v : root->getOperands())
      if (auto param = v.getDefiningOp<ParamOp>())
        symbol = param.getName();
  if (auto name = root->getAttrOfType<FlatSymbolRefAttr>("name"))
    symbol = name.getValue();
  if (!symbol.empty())
    name += "." + symbol.str();
  return name;
}

/// For each result, the operand whose memory it takes over, or -1. Such an
/// operand has the result's type, is read only at the element being written,
/// and is dead afterwards. A function's argument counts as dead too: whether
/// its memory may be written is known only where the calls are written out. So
/// the choice is a permission, and Flatten decides whether it is used.
SmallVector<int64_t> inPlace(GroupOp group, ArrayRef<Value> operands,
                             Block &block) {
  SmallVector<int64_t> choice(group.getNumResults(), -1);
  DenseSet<unsigned> taken;
  Operation *yield = group.getBody().front().getTerminator();
  for (unsigned r = 0; r < group.getNumResults(); ++r) {
    Operation *def = yield->getOperand(r).getDefiningOp();
    if (!def || !readsElementwise(def))
      continue;
    for (unsigned i = 0; i < operands.size(); ++i) {
      Value v = operands[i];
      if (v.getType() != group.getResult(r).getType() || taken.contains(i) ||
          v.getDefiningOp<ParamOp>())
        continue;
      bool dies = llvm::all_of(v.getUsers(), [&](Operation *u) {
        return u->getBlock() != &block || u == group ||
               u->isBeforeInBlock(group);
      });
      if (dies && mayOverwrite(group, i, def)) {
        choice[r] = i;
        taken.insert(i);
        break;
      }
    }
  }
  return choice;
}

// Writes the groups in the order of their positions and erases the originals.
// Ops are cloned into the groups, so the old block stays readable until the
// end.
void KernelFormer::emit() {
  IRMapping replaced; // results of ops -> results of groups
  std::vector<Operation *> anchors;
  for (Operation &op : block)
    anchors.push_back(&op);
  for (Kernel *k : order) {
    OpBuilder b(anchors[k->position]);
    Location loc = k->ops.front()->getLoc();
    // The kernel's inputs, found through inlined ops.
    llvm::SetVector<Value> inputs;
    std::function<void(Value)> collect = [&](Value v) {
      Operation *def = v.getDefiningOp();
      if (def && llvm::is_contained(k->ops, def))
        return;
      if (def && isInlined(def) && !kernelOf.contains(def)) {
        for (Value o : def->getOperands())
          collect(o);
        return;
      }
      inputs.insert(v);
    };
    for (Operation *op : k->ops) {
      for (Value v : op->getOperands())
        collect(v);
      // Groups are isolated, so what a region uses is an input as well.
      for (Value v : valuesInRegions(op))
        collect(v);
    }
    // The results that others read.
    SmallVector<Value> outputs;
    for (Operation *op : k->ops)
      for (Value r : op->getResults())
        if (isReadOutside(r, *k))
          outputs.push_back(r);
    SmallVector<Value> operands;
    for (Value v : inputs)
      operands.push_back(replaced.lookupOrDefault(v));
    auto group = GroupOp::create(b, loc, ValueRange(outputs).getTypes(),
                                 b.getStringAttr(nameOf(*k)), operands,
                                 ArrayAttr(), DenseI64ArrayAttr());
    Block *body = b.createBlock(&group.getBody());
    IRMapping inside;
    for (Value v : inputs)
      inside.map(v, body->addArgument(v.getType(), v.getLoc()));
    // The value inside the group; clones inlined ops in front of their reader.
    std::function<Value(Value)> fetch = [&](Value v) -> Value {
      if (Value known = inside.lookupOrNull(v))
        return known;
      Operation *def = v.getDefiningOp();
      for (Value o : def->getOperands())
        fetch(o);
      b.clone(*def, inside);
      return inside.lookup(v);
    };
    for (Operation *op : k->ops) {
      for (Value v : op->getOperands())
        fetch(v);
      for (Value v : valuesInRegions(op))
        fetch(v);
      b.clone(*op, inside);
    }
    SmallVector<Value> yields;
    for (Value v : outputs)
      yields.push_back(inside.lookup(v));
    YieldOp::create(b, loc, yields);
    // What the kernels borrow while they run.
    SmallVector<Type> workspace;
    for (Operation &op : *body)
      if (auto kernel = dyn_cast<KernelOpInterface>(op))
        llvm::append_range(workspace, kernel.getWorkspaceTypes());
    group.setWorkspaceAttr(b.getTypeArrayAttr(workspace));
    for (auto [v, r] : llvm::zip(outputs, group.getResults()))
      replaced.map(v, r);
    if (llvm::all_of(k->ops,
                     [](Operation *o) { return o->hasAttr(recomputeAttr); }))
      group->setAttr(recomputeAttr, b.getUnitAttr());
  }
  // The ops left in the block read the groups' results.
  for (Operation &op : block)
    if (isa<GroupOp>(op) || !kernelOf.contains(&op))
      for (OpOperand &operand : op.getOpOperands())
        operand.set(replaced.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(anchors))
    if (kernelOf.contains(op) || (isInlined(op) && op->use_empty())) {
      op->dropAllUses();
      op->erase();
    }
  // Last, since it asks who else reads an operand: by now the readers are
  // groups.
  for (auto group : block.getOps<GroupOp>()) {
    SmallVector<Value> operands(group.getInputs());
    auto choice = inPlace(group, operands, block);
    if (llvm::any_of(choice, [](int64_t c) { return c >= 0; }))
      group.setInplace(choice);
  }
}

struct FormKernels : act::impl::FormKernelsPassBase<FormKernels> {
  void runOnOperation() override {
    if (failed(formKernels(getOperation())))
      signalPassFailure();
  }
};

} // namespace

/// An entry's result is written to memory of the caller's, so it needs a kernel
/// of its own. Arguments, parameters, slices and values that are returned twice
/// get one that copies: an expand to their own type, which materializeViews
/// finds. Those that forward returns are copied before backward begins.
static void copyReturned(func::FuncOp entry) {
  Operation *ret = entry.getBody().front().getTerminator();
  DenseSet<Value> returned;
  unsigned gradients = 0;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    gradients += entry.getArgAttr(i, requiresGradAttr) ? 1 : 0;
  if (entry.getName() != gradName)
    gradients = 0;
  Operation *end = ret;
  if (entry->hasAttr(differentiableAttr))
    for (auto phase : entry.getBody().front().getOps<PhaseOp>())
      end = phase;
  for (OpOperand &operand : ret->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    Value root = operand.get();
    while (auto reshape = root.getDefiningOp<ReshapeOp>())
      root = reshape.getInput();
    Operation *def = root.getDefiningOp();
    if (def && !isa<ParamOp>(def) && !isSlice(def) &&
        returned.insert(root).second)
      continue;
    bool gradient =
        operand.getOperandNumber() + gradients >= ret->getNumOperands();
    OpBuilder b(gradient ? ret : end);
    operand.set(ExpandOp::create(b, ret->getLoc(), type, operand.get()));
  }
}

LogicalResult act::formKernels(ModuleOp module) {
  if (kernelsFormed(module))
    return checkGroups(module);
  // The fused loss is the one op that is not one kernel but a loop of them.
  if (failed(expandFusedLoss(module)))
    return failure();
  for (auto f : module.getOps<func::FuncOp>()) {
    if (f.getBody().empty())
      continue;
    if (!f.getBody().hasOneBlock())
      return emitError(
          f.getLoc(),
          "is not one straight block of ops; kernels cannot be formed");
    if (isEntry(f.getName()))
      copyReturned(f);
    KernelFormer(f.getBody().front(), module->hasAttr(fuseProloguesAttr)).run();
  }
  return checkGroups(module);
}
