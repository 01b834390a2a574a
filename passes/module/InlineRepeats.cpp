// SPDX-License-Identifier: Apache-2.0
//
// The pass --inline-repeats: calls of layers become their ops in the caller.
// For memory and kernels, Flatten writes repeats out on a list of launches
// instead; tests compare the two.
#include "dialects/act/AttrNames.h"
#include "dialects/act/LayerName.h"
#include "dialects/act/Types.h"
#include "mlir/IR/IRMapping.h"
#include "passes/module/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace act {
#define GEN_PASS_DEF_INLINEREPEATSPASS
#include "passes/module/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// Writes out repeats that run layers. Values that enter and leave a layer go
/// through `act.kept`, so that no kernel is formed across a layer border where
/// the repeat would have none. Loops over slices of one tensor (the chunks of
/// the fused loss) stay: without them nothing names the slices.
struct InlineRepeats : act::impl::InlineRepeatsPassBase<InlineRepeats> {
  static constexpr uint64_t layerLimit = 1 << 16; // the output is for reading

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    // First split per-layer parameters into one parameter per layer: @up of
    // "layers.{l}.up.weight" into @up.0 of "layers.0.up.weight", and so on.
    for (auto p : llvm::make_early_inc_range(module.getOps<ParameterOp>())) {
      if (!p.getLayers())
        continue;
      if (*p.getLayers() > layerLimit) {
        p.emitError() << "has " << *p.getLayers() << " layers; at most "
                      << layerLimit << " are written out";
        return signalPassFailure();
      }
      OpBuilder b(p);
      for (int64_t l = 0, n = *p.getLayers(); l < n; ++l) {
        auto one = cast<ParameterOp>(b.clone(*p));
        one.setSymName((p.getSymName() + "." + Twine(l)).str());
        one.removeLayersAttr();
        one.setHfName(layerName(p.getHfName(), l));
      }
      layered.insert(p.getSymName());
    }
    llvm::StringSet<> callees;
    auto tooLong = module.walk([&](RepeatOp op) {
      callees.insert(op.getCallee());
      if (op.getCount() <= layerLimit)
        return WalkResult::advance();
      op.emitOpError() << "runs @" << op.getCallee() << " " << op.getCount()
                       << " times; at most " << layerLimit
                       << " are written out";
      return WalkResult::interrupt();
    });
    if (tooLong.wasInterrupted())
      return signalPassFailure();
    for (auto f : module.getOps<func::FuncOp>())
      if (!callees.contains(f.getSymName()))
        inlineIn(f, symbols);
    // Erase functions that are no longer called, until none is left.
    for (bool erased = true; erased;) {
      erased = false;
      for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
        if ((f.isPrivate() || inlined.contains(f.getSymName())) &&
            SymbolTable::symbolKnownUseEmpty(f, module)) {
          f.erase();
          erased = true;
        }
    }
    for (auto p : llvm::make_early_inc_range(module.getOps<ParameterOp>()))
      if (p.getLayers())
        p.erase();
  }

  /// Stacks disappear when a repeat is written out: each slice becomes the
  /// value that its iteration made. That needs every stack to come from a
  /// repeat and to go to one.
  bool inlinable(RepeatOp op) {
    for (Value stack : op.getStacks())
      for (OpOperand &use : stack.getUses()) {
        auto user = dyn_cast<RepeatOp>(use.getOwner());
        if (!user || use.getOperandNumber() <
                         user.getCarried().size() + user.getShared().size())
          return false;
      }
    return llvm::all_of(op.getStacked(), [&](Value v) {
      return slices.count(v) ||
             (v.getDefiningOp() &&
              isa<RepeatOp, ReshapeOp>(v.getDefiningOp()) &&
              (op.getCount() == 1 || isa<RepeatOp>(v.getDefiningOp())));
    });
  }

  static Value kept(OpBuilder &b, Value v) {
    return isa<RankedTensorType>(v.getType())
               ? KeptOp::create(b, v.getLoc(), v).getResult()
               : v;
  }

  void inlineIn(func::FuncOp f, SymbolTable &symbols) {
    SmallVector<RepeatOp> work(f.getBody().getOps<RepeatOp>());
    for (RepeatOp op : work) {
      if (!inlinable(op))
        continue;
      OpBuilder b(op);
      auto callee = symbols.lookup<func::FuncOp>(op.getCallee());
      inlined.insert(op.getCallee());
      bool indexed = callee.getNumArguments() == op.getNumOperands() + 1;
      SmallVector<Value> carry(op.getCarried());
      std::vector<std::vector<Value>> stacks(op.getStacks().size(),
                                             std::vector<Value>(op.getCount()));
      for (int64_t n = 0, count = op.getCount(); n < count; ++n) {
        int64_t slice = op.getReverse() ? count - 1 - n : n,
                l = op.getFrom() + slice;
        IRMapping map;
        unsigned a = indexed;
        for (Value v : carry)
          map.map(callee.getArgument(a++), kept(b, v));
        for (Value v : op.getShared())
          map.map(callee.getArgument(a++), kept(b, v));
        for (Value v : op.getStacked()) {
          Value piece;
          if (auto it = slices.find(v); it != slices.end())
            piece = it->second[slice];
          else // a single slice that was reshaped to [1, ...]
            piece = reshapeTo(
                b, v, dropFront(cast<RankedTensorType>(v.getType()), 1));
          map.map(callee.getArgument(a++), kept(b, piece));
        }
        for (Operation &inner : callee.getBody().front().without_terminator()) {
          Operation *copy;
          // The layer's index is known here, so it goes into the id. The number
          // drawn from stays what it is in the repeat.
          if (auto site = dyn_cast<SiteOp>(inner); site && site.getLayer()) {
            copy = SiteOp::create(
                b, site.getLoc(), b.getI64Type(),
                b.getI64IntegerAttr(site.getId() + 65536 * (l + 1)), Value());
            map.map(site.getResult(), copy->getResult(0));
          } else {
            copy = b.clone(inner, map);
          }
          if (op->hasAttr(recomputeAttr))
            copy->setAttr(recomputeAttr, b.getUnitAttr());
          copy->walk([&](Operation *o) {
            auto name = o->getAttrOfType<FlatSymbolRefAttr>("name");
            if (name && layered.contains(name.getValue()))
              o->setAttr("name", FlatSymbolRefAttr::get(
                                     o->getContext(),
                                     (name.getValue() + "." + Twine(l)).str()));
          });
        }
        Operation *ret = callee.getBody().front().getTerminator();
        for (unsigned i = 0; i < carry.size(); ++i)
          carry[i] = map.lookupOrDefault(ret->getOperand(i));
        for (unsigned i = 0; i < stacks.size(); ++i)
          stacks[i][slice] =
              map.lookupOrDefault(ret->getOperand(carry.size() + i));
      }
      for (unsigned i = 0; i < carry.size(); ++i)
        op.getResult(i).replaceAllUsesWith(kept(b, carry[i]));
      for (auto [v, list] : llvm::zip(op.getStacks(), stacks))
        slices[v] = list;
      done.push_back(op);
    }
    // A backward repeat still uses the stacks of the forward one, so it goes
    // first.
    for (Operation *op : llvm::reverse(done))
      op->erase();
    done.clear();
    slices.clear();
  }

  llvm::StringSet<> layered, inlined;
  DenseMap<Value, std::vector<Value>> slices;
  SmallVector<Operation *> done;
};

} // namespace
