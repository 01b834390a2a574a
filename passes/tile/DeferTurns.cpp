// SPDX-License-Identifier: Apache-2.0
//
// A turn is passed when all threads' additions can be seen, which takes as long
// as a product. So it is passed in the next iteration, where products run
// meanwhile:
//
//     scf.for %i {                        %l = scf.for %i (%last = outside) {
//       tile.dot_async                      tile.dot_async
//       tile.dot_result              ->     tile.pass_turn %turns[%last]
//       tile.wait_turn %turns[%i]           tile.dot_result
//       tile.atomic_add                     tile.wait_turn %turns[%i]
//       tile.pass_turn %turns[%i]           tile.atomic_add
//     }                                     scf.yield %i }
//                                         tile.pass_turn %turns[%l]
//
// The first iteration passes a turn outside of the view, which is none.
//
// Where products are not asynchronous, a turn is waited for and passed beside
// barriers that are there for staged loads and for blocks that go through
// shared memory. Its own two barriers are not needed then:
//
//     scf.for %i {                        %l = scf.for %i (%last = outside) {
//       tile.barrier                        tile.barrier
//                                           tile.pass_turn %turns[%last]
//       tile.dot                            tile.dot
//                                           tile.wait_turn %turns[%i]
//       tile.dot                     ->     tile.dot
//       tile.barrier                        tile.barrier
//       tile.dot                            tile.dot
//       tile.wait_turn %turns[%i]
//       tile.atomic_add                     tile.atomic_add
//       tile.pass_turn %turns[%i]
//     }                                     scf.yield %i }
//                                         tile.pass_turn %turns[%l]
//
// One thread waits, and reads memory for it, which takes long: while the other
// warps multiply. A turn is waited for earlier then, so only where it comes
// early, too: where programs start at different places (tile-shift-turns), or
// do, as those of a causal mask, by what they see.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_DEFERTURNSPASS
#define GEN_PASS_DEF_TURNSATBARRIERSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

template <typename Op> Op onlyOne(Block &block) {
  auto all = block.getOps<Op>();
  return llvm::hasSingleElement(all) ? *all.begin() : Op();
}

/// Lets each iteration pass the turn of the one before, and the turn of the
/// last one be passed behind the loop. The caller moves the op to its place in
/// the iteration. False if the turn's place does not depend on the iteration.
bool passInNext(scf::ForOp &loop, PassTurnOp pass) {
  auto view = cast<ViewType>(pass.getView().getType());
  SmallVector<unsigned> own; // indices of this iteration
  for (auto [d, index] : llvm::enumerate(pass.getIndices()))
    if (!loop.isDefinedOutsideOfLoop(index)) {
      if (ShapedType::isDynamic(view.getShape()[d]))
        return false;
      own.push_back(d);
    }
  if (own.empty() || !loop.isDefinedOutsideOfLoop(pass.getView()))
    return false;
  IRRewriter b(loop);
  Location loc = pass.getLoc();
  SmallVector<Value> outside, now;
  for (unsigned d : own) {
    outside.push_back(
        arith::ConstantIndexOp::create(b, loc, view.getShape()[d]));
    now.push_back(pass.getIndices()[d]);
  }
  auto replaced = loop.replaceWithAdditionalYields(
      b, outside, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return now; });
  loop = cast<scf::ForOp>(replaced->getOperation());
  auto indicesOf = [&](ValueRange last) {
    SmallVector<Value> indices(pass.getIndices());
    for (auto [d, v] : llvm::zip(own, last.take_back(own.size())))
      indices[d] = v;
    return indices;
  };
  b.setInsertionPointAfter(loop);
  PassTurnOp::create(b, loc, pass.getView(), indicesOf(loop.getResults()));
  pass.getIndicesMutable().assign(indicesOf(loop.getRegionIterArgs()));
  return true;
}

void defer(scf::ForOp loop) {
  Block &body = *loop.getBody();
  auto pass = onlyOne<PassTurnOp>(body);
  auto wait = onlyOne<WaitTurnOp>(body);
  auto results = body.getOps<DotResultOp>();
  if (!pass || !wait || results.empty() || !wait->isBeforeInBlock(pass))
    return;
  DotResultOp first = *results.begin();
  // What runs meanwhile; and the turn is passed before the next one is awaited.
  if (!first.getPending().getDefiningOp<DotAsyncOp>() ||
      first.getPending().getParentBlock() != &body ||
      !first->isBeforeInBlock(wait) || !passInNext(loop, pass))
    return;
  Operation *begun = nullptr; // the last product before the first wait
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    if (dot->isBeforeInBlock(first))
      begun = dot;
  pass->moveAfter(begun);
}

/// Moves the op up before another one of its block, with all that computes its
/// operands. False, with nothing moved, if memory computes them.
bool moveUp(Operation *op, Operation *before) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> open = {op};
  while (!open.empty()) {
    Operation *next = open.pop_back_val();
    for (Value v : next->getOperands()) {
      Operation *own = v.getDefiningOp();
      if (!own || own->getBlock() != op->getBlock() ||
          own->isBeforeInBlock(before) || !needed.insert(own))
        continue;
      if (!isPure(own) || own->getNumRegions())
        return false;
      open.push_back(own);
    }
  }
  auto ordered = needed.takeVector();
  llvm::sort(ordered,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *own : ordered)
    own->moveBefore(before);
  op->moveBefore(before);
  return true;
}

/// Whether the turn comes long before the program asks for it.
bool comesEarly(scf::ForOp loop) {
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  return kernel->hasAttr(atOnceName) ||
         !getConstantIntValue(loop.getLowerBound()) ||
         !getConstantIntValue(loop.getUpperBound());
}

void shareBarriers(scf::ForOp loop) {
  Block &body = *loop.getBody();
  auto pass = onlyOne<PassTurnOp>(body);
  auto wait = onlyOne<WaitTurnOp>(body);
  auto barriers = llvm::filter_to_vector(
      body.getOps<BarrierOp>(), [](BarrierOp op) { return op.isWhole(); });
  if (!pass || !wait || barriers.empty() || !wait->isBeforeInBlock(pass) ||
      !barriers.front()->isBeforeInBlock(wait))
    return;
  // The turn before is passed first, or the program could wait for itself.
  const bool passesLater = passInNext(loop, pass);
  if (passesLater)
    pass->moveAfter(barriers.front());
  Operation *last = nullptr;
  for (BarrierOp barrier : barriers)
    if (barrier->isBeforeInBlock(wait))
      last = barrier;
  if (!comesEarly(loop) || (passesLater && last == barriers.front()))
    return;
  // The thread that waits reads memory, while the other warps multiply.
  Operation *place = last;
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (barriers.front()->isBeforeInBlock(dot) && dot->isBeforeInBlock(last)) {
      place = dot->getNextNode();
      break;
    }
  moveUp(wait, place);
}

struct DeferTurns : act::tile::impl::DeferTurnsPassBase<DeferTurns> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (!getSchedule(kernel).getStoreWarps()) // it passes them, and waits
        kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    });
    llvm::for_each(loops, defer);
  }
};

struct TurnsAtBarriers
    : act::tile::impl::TurnsAtBarriersPassBase<TurnsAtBarriers> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (!loop->getParentOfType<RolesOp>())
        loops.push_back(loop);
    });
    llvm::for_each(loops, shareBarriers);
  }
};

} // namespace
