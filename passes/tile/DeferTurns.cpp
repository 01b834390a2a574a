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
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_DEFERTURNSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

template <typename Op> Op onlyOne(Block &block) {
  auto all = block.getOps<Op>();
  return llvm::hasSingleElement(all) ? *all.begin() : Op();
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
      !first->isBeforeInBlock(wait))
    return;
  auto view = cast<ViewType>(pass.getView().getType());
  SmallVector<unsigned> own; // indices of this iteration
  for (auto [d, index] : llvm::enumerate(pass.getIndices()))
    if (!loop.isDefinedOutsideOfLoop(index)) {
      if (ShapedType::isDynamic(view.getShape()[d]))
        return;
      own.push_back(d);
    }
  if (own.empty() || !loop.isDefinedOutsideOfLoop(pass.getView()))
    return;
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
  SmallVector<Value> last = indicesOf(loop.getRegionIterArgs());
  Operation *begun = nullptr; // the last product before the first wait
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    if (dot->isBeforeInBlock(first))
      begun = dot;
  pass->moveAfter(begun);
  pass.getIndicesMutable().assign(last);
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

} // namespace
