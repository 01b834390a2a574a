// SPDX-License-Identifier: Apache-2.0
//
// Which pairs of loops are tried, and what must hold of memory between them.
// Whether a pair can be fused is decided in FuseLoopsFactors.cpp and
// FuseLoopsBounds.cpp; FuseLoopsMerge.cpp builds the fused loop.
#include "passes/tile/FuseLoops.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_FUSELOOPSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Equal constants need not be one value.
bool isSameBound(Value x, Value y) {
  auto p = getConstantIntValue(x), q = getConstantIntValue(y);
  return x == y || (p && p == q && x.getType() == y.getType());
}

bool runTogether(scf::ForOp a, scf::ForOp b) {
  return isSameBound(a.getLowerBound(), b.getLowerBound()) &&
         isSameBound(a.getUpperBound(), b.getUpperBound()) &&
         isSameBound(a.getStep(), b.getStep()) &&
         a.getUnsignedCmp() == b.getUnsignedCmp();
}

/// Whether the op only reads memory, and prints nothing.
bool onlyReads(Operation *op) {
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](auto &e) {
           return isa<MemoryEffects::Read>(e.getEffect());
         });
}

/// The argument behind a view, if it does not alias others.
Value ownMemory(Value view) {
  view = memoryOf(view);
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel =
      argument ? dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp())
               : gpu::GPUFuncOp();
  bool own =
      kernel && kernel.getArgAttr(argument.getArgNumber(),
                                  LLVM::LLVMDialect::getNoAliasAttrName());
  return own ? view : Value();
}

/// Whether no iteration of `b` writes memory that the ops from `a` to `b` read:
/// its writes go to non-aliasing arguments.
bool canBeMixed(scf::ForOp a, scf::ForOp b) {
  for (Operation *op = a; op != b; op = op->getNextNode())
    if (!onlyReads(op))
      return false;
  if (onlyReads(b))
    return true;
  llvm::SmallPtrSet<Value, 4> written;
  bool known = true;
  b.walk([&](Operation *op) {
    if (op->getNumRegions() || isMemoryEffectFree(op) || isa<LoadOp>(op))
      return;
    Value memory = isa<AtomicAddOp>(op) ? ownMemory(op->getOperand(1))
                   : isa<WaitTurnOp, PassTurnOp>(op)
                       ? ownMemory(op->getOperand(0))
                       : Value();
    known &= memory != nullptr;
    written.insert(memory);
  });
  auto kernel = b->getParentOfType<gpu::GPUFuncOp>();
  return known && !kernel
                       .walk([&](LoadOp load) {
                         return written.contains(ownMemory(load.getView()))
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
}

/// Whether both read blocks of one tensor. Otherwise fusion only raises
/// register pressure.
bool haveLoadsInCommon(scf::ForOp a, scf::ForOp b) {
  SameValue same(a, b);
  SmallVector<LoadOp> loads;
  a.walk([&](LoadOp load) { loads.push_back(load); });
  return b
      .walk([&](LoadOp other) {
        for (LoadOp load : loads)
          if (load.getExtents() == other.getExtents() &&
              same(load.getView(), other.getView()))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

struct FuseLoops : act::tile::impl::FuseLoopsPassBase<FuseLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      for (Block &block : kernel.getBody())
        fuseIn(block);
    });
  }

  /// Merges computations common to both loops, so that the next pair sees them.
  void clean(Operation *op) {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(op);
    eliminateCommonSubExpressions(rewriter, dominance, op);
  }

  /// Fuses the loops of this block, then those within.
  void fuseIn(Block &block) {
    while (fuseOne(block))
      ;
    for (Operation &op : block)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          fuseIn(inner);
  }

  bool fuseOne(Block &block) {
    SmallVector<scf::ForOp> loops(block.getOps<scf::ForOp>());
    for (auto [i, a] : llvm::enumerate(loops))
      for (scf::ForOp b : ArrayRef(loops).drop_front(i + 1))
        if (runTogether(a, b) && canBeMixed(a, b) && fusePair(a, b)) {
          clean(block.getParentOp());
          return true;
        }
    return false;
  }

  bool fusePair(scf::ForOp a, scf::ForOp b) {
    // The same loop twice: keep one.
    if (a.getNumResults() == b.getNumResults() && a.getNumResults() &&
        SameValue(a, b)(a.getResult(0), b.getResult(0))) {
      b.replaceAllUsesWith(a.getResults());
      b.erase();
      return true;
    }
    if (!haveLoadsInCommon(a, b))
      return false;
    // Hoist ops that depend only on a's results out of b: as rows, they may be
    // factors.
    moveLoopInvariantCode(cast<LoopLikeOpInterface>(*b));
    Dependence dependence(a, b);
    if (!dependence.analyze())
      return false;
    fuse(dependence);
    return true;
  }
};

} // namespace
