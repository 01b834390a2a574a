// SPDX-License-Identifier: Apache-2.0
//
// Warp groups that start their products at the same time also wait for them at
// the same time, and then all compute while the tensor cores have nothing to
// do. So they take turns: the next group starts when this one has, and finds
// the tensor cores busy while it computes what follows its last products.
//
//     tile.await_group_turn
//     begin s = a(i) b
//     begin o += p c(i - 1)
//     tile.pass_group_turn
//     wait for s; ...
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_TAKETURNSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Whether a group can do it while the others wait for their turns: there may
/// be no barrier of all of them in it.
bool isForGroup(Operation &op) {
  return isa<DotAsyncOp, BeginDotOp, MbarrierWaitOp, SharedViewOp, ToSharedOp,
             FenceSharedOp, arith::ConstantOp>(op) ||
         (isMemoryEffectFree(&op) && !op.getNumRegions() &&
          !touchesBlocks(&op));
}

/// The products that the body starts before it waits for one: two or more are
/// worth a turn. Returns whether there is one.
bool takeTurns(scf::ForOp loop) {
  Block &body = *loop.getBody();
  SmallVector<DotAsyncOp> begun;
  for (Operation &op : body) {
    if (isa<DotResultOp>(op))
      break;
    if (auto dot = dyn_cast<DotAsyncOp>(op))
      begun.push_back(dot);
  }
  if (begun.size() < 2 ||
      !llvm::all_of(llvm::make_range(begun.front()->getIterator(),
                                     begun.back()->getIterator()),
                    isForGroup))
    return false;
  OpBuilder b(begun.front());
  AwaitGroupTurnOp::create(b, begun.front().getLoc());
  b.setInsertionPointAfter(begun.back());
  PassGroupTurnOp::create(b, begun.back().getLoc());
  return true;
}

struct TakeTurns : act::tile::impl::TakeTurnsPassBase<TakeTurns> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) {
      if (!kernel.isKernel() || !getSchedule(kernel).getTurns())
        return;
      bool any = false;
      kernel.walk([&](RolesOp roles) {
        roles.getCompute().walk(
            [&](scf::ForOp loop) { any |= takeTurns(loop); });
      });
      if (any)
        return;
      kernel->setAttr(scheduleName, getSchedule(kernel).withoutTurns());
      if (isByHand(kernel) && hasGroupProducts(kernel))
        kernel.emitWarning("has turns, but no loop that starts two products "
                           "before it waits for one");
    });
  }
};

} // namespace
