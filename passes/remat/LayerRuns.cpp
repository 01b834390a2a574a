// SPDX-License-Identifier: Apache-2.0
//
// Replaces the two repeats of a pair by runs. The functions for a choice are
// clones in which LayerRewriter has made the change; the repeats' operands and
// results, and the order of runs in backward, are this file's part.
#include "passes/remat/LayerRuns.h"
#include "dialects/act/AttrNames.h"
#include "passes/module/EraseDead.h"

using namespace mlir;
using namespace act;

namespace {

/// A layer's forward function and the backward function that takes its saved
/// values.
struct Functions {
  func::FuncOp forward, backward;
};

/// Writes the runs of one pair. Runs with the same choice share their
/// functions, so the number of functions grows with the choices and not with
/// the runs.
class Writer {
public:
  Writer(SavedPair pair, SymbolTable &symbols)
      : pair(pair), symbols(symbols), fwd(lookup(pair.forward)),
        bwd(lookup(pair.backward)), carried(pair.forward.getCarried().size()) {}

  void write(ArrayRef<LayerRun> runs);

private:
  func::FuncOp lookup(RepeatOp r) {
    return symbols.lookup<func::FuncOp>(r.getCallee());
  }
  Functions functionsFor(const OpSet &recompute);
  void makeSegmentFunctions();
  DenseSet<Operation *> pick(func::FuncOp f, const OpSet &set);
  RepeatOp runSaving(OpBuilder &b, func::FuncOp f, StringRef letter,
                     int64_t count, int64_t from, ValueRange x);
  void backOverSegment(OpBuilder &b, const LayerRun &run, int64_t from,
                       ValueRange start, SmallVector<Value> &dy);

  SavedPair pair;
  SymbolTable &symbols;
  func::FuncOp fwd, bwd;
  unsigned carried;
  std::vector<std::pair<OpSet, Functions>> variants;
  func::FuncOp plain, own;         // of segments
  SmallVector<unsigned> ownInputs; // carried values that `own` takes as stacks
};

DenseSet<Operation *> Writer::pick(func::FuncOp f, const OpSet &set) {
  DenseSet<Operation *> ops;
  for (auto [i, op] : llvm::enumerate(f.getBody().front().without_terminator()))
    if (i < set.size() && set.test(i))
      ops.insert(&op);
  return ops;
}

// The pair of functions for a choice. The empty choice has the original ones;
// others are clones, as other runs still call the originals.
Functions Writer::functionsFor(const OpSet &recompute) {
  for (auto &known : variants)
    if (known.first == recompute)
      return known.second;
  Functions made{fwd, bwd};
  if (recompute.any()) {
    std::string suffix = "." + std::to_string(variants.size() + 1);
    made = {fwd.clone(), bwd.clone()};
    made.forward.setName(fwd.getName().str() + suffix);
    made.backward.setName(bwd.getName().str() + suffix);
    symbols.insert(made.forward, std::next(fwd->getIterator()));
    symbols.insert(made.backward, std::next(bwd->getIterator()));
    // The rewriter must not touch the repeats: they call the originals, and
    // this writer replaces them.
    SavedPair same = pair;
    LayerRewriter rewriter(same, made.forward, made.backward,
                           /*rewriteCalls=*/false);
    auto moved = valuesOf(made.forward.getBody().front(),
                          recompute); // before it changes
    rewriter.recompute(pick(made.forward, recompute), /*keepStatistics=*/false);
    rewriter.offload(DenseSet<Value>(moved.begin(), moved.end()));
    eraseDead(made.forward.getBody().front());
  }
  variants.push_back({recompute, made});
  return variants.back().second;
}

// Makes @layer.fwd.plain, which saves nothing, and @layer.bwd.recompute, which
// takes the layer's input in place of its saved values and runs the whole layer
// again. The forward function that matches the latter is not needed: nothing
// runs it, since the input of a layer is the output of the one before.
void Writer::makeSegmentFunctions() {
  if (plain)
    return;
  plain = fwd.clone();
  plain.setName(fwd.getName().str() + ".plain");
  symbols.insert(plain, std::next(fwd->getIterator()));
  Operation *ret = plain.getBody().front().getTerminator();
  ret->setOperands(ret->getOperands().take_front(carried));
  eraseDead(plain.getBody().front());
  plain.setType(FunctionType::get(plain.getContext(), plain.getArgumentTypes(),
                                  ret->getOperandTypes()));
  own = bwd.clone();
  own.setName(bwd.getName().str() + ".recompute");
  symbols.insert(own, std::next(bwd->getIterator()));
  func::FuncOp ownFwd = fwd.clone();
  symbols.insert(ownFwd, std::next(fwd->getIterator()));
  SavedPair ownPair = pair;
  LayerRewriter rewriter(ownPair, ownFwd, own, /*rewriteCalls=*/false);
  rewriter.recompute(pick(ownFwd, allOps(ownFwd.getBody().front())),
                     /*keepStatistics=*/false);
  // Only carried arguments are left to save, in any order.
  unsigned indexed =
      ownFwd.getNumArguments() - carried - pair.forward.getShared().size();
  for (Value v : rewriter.savedValues())
    ownInputs.push_back(cast<BlockArgument>(v).getArgNumber() - indexed);
  symbols.erase(ownFwd);
}

/// Emits a forward repeat that returns the saved values for backward.
RepeatOp Writer::runSaving(OpBuilder &b, func::FuncOp f, StringRef letter,
                           int64_t count, int64_t from, ValueRange x) {
  SmallVector<Type> types(x.getTypes());
  for (Type t : f.getFunctionType().getResults().drop_front(carried))
    types.push_back(
        prepend(cast<RankedTensorType>(t), count,
                letter.empty() ? std::to_string(count) : letter.str()));
  RepeatOp old = pair.forward;
  return RepeatOp::create(b, old.getLoc(), types, f.getName(), letter, count,
                          from, old.getReverse(), x, old.getShared(),
                          ValueRange());
}

// Runs the segment again and saves values, except for its last layer, whose
// backward function recomputes for itself so that the layer's last product does
// not run again needlessly. Then runs the segment backward.
void Writer::backOverSegment(OpBuilder &b, const LayerRun &run, int64_t from,
                             ValueRange start, SmallVector<Value> &dy) {
  Location loc = pair.forward.getLoc();
  int64_t k = run.layers;
  SmallVector<Value> x(start), stacks;
  // The segment's input is what it keeps. act.kept marks that this is a forward
  // value which recomputation reads.
  for (Value &v : x)
    v = KeptOp::create(b, loc, v);
  SmallVector<Value> lastInput = x;
  Functions inner = functionsFor(run.recompute);
  if (k > 1) {
    auto again = runSaving(b, inner.forward, "", k - 1, from, x);
    again->setAttr(recomputeAttr, b.getUnitAttr());
    lastInput.assign(again.getCarriedResults().begin(),
                     again.getCarriedResults().end());
    stacks.assign(again.getStacks().begin(), again.getStacks().end());
  }
  // A repeat takes saved values as stacks. This one runs once, so a stack is
  // the value with a leading 1.
  SmallVector<Value> slices;
  for (unsigned a : ownInputs) {
    Value v = lastInput[a];
    auto type = prepend(cast<RankedTensorType>(v.getType()), 1, "1");
    slices.push_back(reshapeTo(b, v, type));
  }
  ValueRange shared = pair.backward.getShared();
  auto last = RepeatOp::create(b, loc, ValueRange(dy).getTypes(), own.getName(),
                               "", 1, from + k - 1, true, dy, shared, slices);
  dy.assign(last.getResults().begin(), last.getResults().end());
  if (k == 1)
    return;
  auto rest = RepeatOp::create(b, loc, ValueRange(dy).getTypes(),
                               inner.backward.getName(), "", k - 1, from, true,
                               dy, shared, stacks);
  dy.assign(rest.getResults().begin(), rest.getResults().end());
}

// Emits all forward runs, then all backward runs in the opposite order. Each
// forward run starts from the carried values of the one before (`starts`),
// which backward needs again for segments.
void Writer::write(ArrayRef<LayerRun> runs) {
  RepeatOp forward = pair.forward, backward = pair.backward;
  bool reverse = forward.getReverse();
  OpBuilder b(forward);
  Location loc = forward.getLoc();
  // The letter of the count, L, names all layers. For only some of them it
  // would be wrong in formulas.
  std::string letter =
      runs.size() == 1 && runs[0].layers == int64_t(forward.getCount())
          ? forward.getLetter().str()
          : "";
  int64_t all = 0, done = 0;
  for (const LayerRun &run : runs)
    all += run.layers;
  SmallVector<SmallVector<Value>> starts, stacks;
  SmallVector<int64_t> from;
  SmallVector<Value> x(forward.getCarried());
  for (const LayerRun &run : runs) {
    starts.push_back(x);
    stacks.emplace_back();
    // A repeat in reverse begins with its last layers.
    from.push_back(int64_t(forward.getFrom()) +
                   (reverse ? all - done - run.layers : done));
    done += run.layers;
    RepeatOp made;
    if (run.segment) {
      makeSegmentFunctions();
      made = RepeatOp::create(b, loc, ValueRange(x).getTypes(), plain.getName(),
                              letter, run.layers, from.back(), false, x,
                              forward.getShared(), ValueRange());
    } else {
      made = runSaving(b, functionsFor(run.recompute).forward, letter,
                       run.layers, from.back(), x);
      llvm::append_range(stacks.back(), made.getStacks());
    }
    x.assign(made.getCarriedResults().begin(), made.getCarriedResults().end());
  }
  for (unsigned i = 0; i < carried; ++i)
    forward.getResult(i).replaceAllUsesWith(x[i]);

  b.setInsertionPoint(backward);
  SmallVector<Value> dy(backward.getCarried());
  for (size_t i = runs.size(); i-- > 0;) {
    if (runs[i].segment) {
      backOverSegment(b, runs[i], from[i], starts[i], dy);
      continue;
    }
    auto made = RepeatOp::create(
        b, loc, ValueRange(dy).getTypes(),
        functionsFor(runs[i].recompute).backward.getName(), letter,
        runs[i].layers, from[i], !reverse, dy, backward.getShared(), stacks[i]);
    dy.assign(made.getResults().begin(), made.getResults().end());
  }
  backward.replaceAllUsesWith(dy);
  backward.erase();
  forward.erase();
  // Erase the original functions if they are no longer called.
  for (func::FuncOp f : {fwd, bwd})
    if (SymbolTable::symbolKnownUseEmpty(f, symbols.getOp()))
      symbols.erase(f);
}

} // namespace

SmallVector<Value> act::valuesOf(Block &body, const OpSet &set) {
  SmallVector<Value> out;
  unsigned ops = allOps(body).size();
  for (auto [i, v] : llvm::enumerate(numberedValues(body)))
    if (ops + i < set.size() && set.test(ops + i))
      out.push_back(v);
  return out;
}

unsigned act::apartBegin(Block &body) {
  return allOps(body).size() + numberedValues(body).size();
}

OpSet act::allOps(Block &body) {
  return OpSet(std::distance(body.begin(), body.without_terminator().end()),
               true);
}

LogicalResult act::writeRuns(SavedPair pair, ArrayRef<LayerRun> runs,
                             SymbolTable &symbols) {
  if (pair.forward.getReverse() &&
      llvm::any_of(runs, [](const LayerRun &r) { return r.segment; }))
    return emitError(
        pair.forward.getLoc(),
        "runs its layers in reverse and cannot be cut into segments");
  Writer(pair, symbols).write(runs);
  return success();
}
