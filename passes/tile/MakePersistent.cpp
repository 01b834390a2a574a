// SPDX-License-Identifier: Apache-2.0
//
// A persistent kernel starts as many programs as run at once. Each does the work
// of several, in a loop.
//
//     %id = tile.program_id x        scf.for %n = block_id to 100 step grid_dim
//     ...                              %id = tile.program_id x of %n
//                                      ...
//
// What does not depend on the program stays in front of the loop. The copying
// warps are in the next round of it while the others store their results, and
// stores by tensor maps are waited for only when their memory is needed again.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/tile/Passes.h"
#include "passes/tile/Raster.h"

namespace act::tile {
#define GEN_PASS_DEF_MAKEPERSISTENTPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Puts the body's ops, all but the terminator, in a loop over programs.
scf::ForOp loopOver(Block &body, int64_t programs) {
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  Location loc = body.getParentOp()->getLoc();
  Operation *first = &body.front();
  Value from = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
        step = gpu::GridDimOp::create(b, loc, gpu::Dimension::x),
        to = arith::ConstantIndexOp::create(b, loc, programs);
  auto loop = scf::ForOp::create(b, loc, from, to, step);
  Block &inside = *loop.getBody();
  inside.getOperations().splice(inside.begin(), body.getOperations(),
                                first->getIterator(),
                                body.getTerminator()->getIterator());
  return loop;
}

/// Says which program each round is.
void numberPrograms(scf::ForOp loop, gpu::GPUFuncOp kernel) {
  OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
  Value number = rasterNumber(loop.getInductionVar(), kernel, b);
  loop.walk([&](ProgramIdOp op) { op.getNumberMutable().assign(number); });
  kernel->setAttr(scheduleName, getSchedule(kernel).withoutRaster());
}

/// Moves scalars and views that are the same in all rounds out of the loop.
void hoistScalars(scf::ForOp loop) {
  moveLoopInvariantCode(
      &loop.getRegion(),
      [&](Value v, Region *) { return loop.isDefinedOutsideOfLoop(v); },
      [](Operation *op, Region *) {
        return isMemoryEffectFree(op) && !op->getNumRegions() &&
               !touchesBlocks(op);
      },
      [&](Operation *op, Region *) { op->moveBefore(loop); });
}

/// Lets stores by tensor maps run into the next round: their memory is theirs
/// alone, and they are waited for before the first one there, and at the end.
void deferWaits(scf::ForOp loop) {
  SmallVector<WaitStoresOp> waits(loop.getBody()->getOps<WaitStoresOp>());
  Operation *first = nullptr;
  for (WaitStoresOp wait : waits) {
    auto alloc = wait.getShared().getDefiningOp<AllocSharedOp>();
    if (!alloc || alloc->getBlock() != loop.getBody())
      return;
    for (Operation *user : wait.getShared().getUsers()) {
      Operation *own = loop.getBody()->findAncestorOpInBlock(*user);
      if (!first || own->isBeforeInBlock(first))
        first = own;
    }
  }
  for (WaitStoresOp wait : waits) {
    wait.getShared().getDefiningOp()->moveBefore(loop);
    OpBuilder b(first);
    b.clone(*wait);
    wait->moveAfter(loop);
  }
}

struct MakePersistent
    : act::tile::impl::MakePersistentPassBase<MakePersistent> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      ScheduleAttr schedule = getSchedule(kernel);
      if (!kernel.isKernel() || !schedule.getPersistent() ||
          !kernel.getBody().hasOneBlock())
        return;
      ArrayRef<int64_t> grid = getGrid(kernel);
      int64_t programs = 1;
      for (int64_t n : grid)
        programs *= n;
      if (grid.empty()) {
        kernel.emitOpError() << "is persistent, but has no " << gridName
                             << " that says how many programs there are";
        return signalPassFailure();
      }
      auto found = kernel.walk([&](TicketOp op) {
        op.emitOpError("is in a persistent kernel, whose programs are dealt "
                       "out before they start");
        return WalkResult::interrupt();
      });
      if (found.wasInterrupted())
        return signalPassFailure();
      scf::ForOp loop = loopOver(kernel.getBody().front(), programs);
      numberPrograms(loop, kernel);
      hoistScalars(loop);
      deferWaits(loop);
    });
  }
};

} // namespace
