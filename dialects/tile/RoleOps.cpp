// SPDX-License-Identifier: Apache-2.0
//
// What warp specialisation requires: where tile.roles may stand, what copying
// warps may execute, and what mbarriers are.
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace act::tile;

/// Whether copying warps may execute the op too: it has no blocks and writes no
/// memory.
static bool isForAllWarps(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (!isa<StoreOp, AtomicAddOp, CopyAsyncOp, CopyTensorOp, StoreTensorOp,
               ReduceBulkOp>(op) &&
          !touchesBlocks(op));
}

// Verifies that
// - two groups or more compute, in a role of their own.
static LogicalResult verifyGroupTurn(Operation *op) {
  auto roles = op->getParentOfType<RolesOp>();
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  if (!kernel)
    return success();
  ScheduleAttr schedule = getSchedule(kernel);
  if (roles && roles.getCompute().isAncestor(op->getParentRegion()) &&
      schedule.getInGroups() && schedule.getWarps() > ScheduleAttr::groupWarps)
    return success();
  return op->emitOpError() << "is for the computing role of two groups of "
                              "warps or more";
}

/// The nearest op of the block, going by `next`, that gives, takes or blocks a
/// turn; null if there is none.
static Operation *nearestOfTurn(Operation *op,
                                Operation *(Operation::*next)()) {
  auto endsTurn = llvm::IsaPred<AwaitGroupTurnOp, PassGroupTurnOp, BarrierOp>;
  while ((op = (op->*next)())) {
    WalkResult walked = op->walk([&](Operation *inner) -> WalkResult {
      return endsTurn(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return op;
  }
  return nullptr;
}

// Verifies that
// - the turn is passed in the same block, with no barrier of all groups before
//   that: the others wait for their turns and do not get there.
LogicalResult AwaitGroupTurnOp::verify() {
  if (failed(verifyGroupTurn(*this)))
    return failure();
  Operation *next = nearestOfTurn(*this, &Operation::getNextNode);
  if (isa_and_nonnull<PassGroupTurnOp>(next))
    return success();
  InFlightDiagnostic error =
      emitOpError() << "has no tile.pass_group_turn after it in its block, "
                       "without another turn or a barrier before that: the "
                       "other groups would wait for ever";
  if (next)
    error.attachNote(next->getLoc()) << "this op comes first";
  return error;
}

// Verifies that
// - the group has the turn that it passes.
LogicalResult PassGroupTurnOp::verify() {
  if (failed(verifyGroupTurn(*this)))
    return failure();
  if (isa_and_nonnull<AwaitGroupTurnOp>(
          nearestOfTurn(*this, &Operation::getPrevNode)))
    return success();
  return emitOpError() << "passes a turn that no tile.await_group_turn before "
                          "it in its block has waited for";
}

/// Whether the op reaches other programs of the cluster.
static bool reachesOthers(Operation *op) {
  if (auto copy = dyn_cast<CopyTensorOp>(op))
    return copy.getMulticast();
  auto arrive = dyn_cast<MbarrierArriveOp>(op);
  return arrive && arrive.getCluster();
}

// Verifies that
// - programs of a cluster that reach each other have begun, with their
// mbarriers
//   initialised, and have not ended.
static LogicalResult verifyCluster(RolesOp roles, bool isClosed) {
  bool isOpen = false;
  for (Operation &op : *roles->getBlock()) {
    if (&op == roles)
      break;
    if (isa<ClusterBarrierOp>(op))
      isOpen = true;
    else if (isa<MbarrierInitOp>(op))
      isOpen = false;
  }
  if (isOpen && isClosed)
    return success();
  WalkResult walked = roles.walk([&](Operation *op) -> WalkResult {
    if (!reachesOthers(op))
      return WalkResult::advance();
    return op->emitOpError()
           << "reaches other programs of the cluster, expected a "
              "tile.cluster_barrier "
           << (isOpen ? "after the tile.roles"
                      : "before the tile.roles, after the mbarriers' "
                        "initialisation");
  });
  return failure(walked.wasInterrupted());
}

// Verifies that
// - it is the last op of a kernel whose schedule has copying warps, but for a
//   barrier of the cluster;
// - all warps can execute the ops before it: they have no blocks and do not
//   write to memory;
// - a role that stores has a warp for it in the schedule;
// - only its thread adds to memory by the copy engine, and it does nothing that
//   takes several;
// - other roles than that which computes do not allocate shared memory.
LogicalResult RolesOp::verify() {
  auto kernel = dyn_cast<gpu::GPUFuncOp>((*this)->getParentOp());
  Operation *next = (*this)->getNextNode();
  const bool isClosed = isa_and_nonnull<ClusterBarrierOp>(next);
  if (isClosed)
    next = next->getNextNode();
  if (!kernel || !isa_and_nonnull<gpu::ReturnOp>(next))
    return emitOpError("is not the last op of a kernel");
  if (failed(verifyCluster(*this, isClosed)))
    return failure();
  if (!getSchedule(kernel).getCopyWarps())
    return emitOpError()
           << "is in a kernel whose schedule has no copying warps";
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == *this)
      break;
    WalkResult walked = op.walk([&](Operation *inner) -> WalkResult {
      if (isForAllWarps(inner))
        return WalkResult::advance();
      InFlightDiagnostic error =
          emitOpError() << "follows an op on blocks or a write to memory, "
                           "which copying warps do not execute";
      error.attachNote(inner->getLoc()) << "the op";
      return error;
    });
    if (walked.wasInterrupted())
      return failure();
  }
  if (!getStore().empty() && !getSchedule(kernel).getStoreWarps())
    return emitOpError() << "has a region that stores, in a kernel whose "
                            "schedule has no warp for it";
  for (Region *region : {&getCopy(), &getStore()}) {
    const bool copies = region == &getCopy();
    WalkResult walked = region->walk([&](Operation *op) -> WalkResult {
      if (isa<AllocSharedOp, MbarrierInitOp>(op))
        return op->emitOpError("is in the region of the ")
               << (copies ? "copying warps" : "storing warp")
               << ", expected it before the tile.roles";
      if (!copies &&
          (touchesBlocks(op) ||
           isa<BarrierOp, CopyAsyncOp, MbarrierArriveCopiesOp, TicketOp>(op)))
        return op->emitOpError("is in the region that stores, whose one "
                               "thread cannot do it");
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

// Verifies that
// - mbarriers are a row of 64-bit integers.
static LogicalResult verifyMbarriers(Operation *op, SharedType shared) {
  if (shared.getRank() == 1 && shared.getElementType().isInteger(64) &&
      !shared.getLayout())
    return success();
  return op->emitOpError() << "has mbarriers of type " << shared
                           << ", expected !tile.shared<Nxi64>";
}

// Verifies that
// - mbarriers are a row of 64-bit integers;
// - they are initialised before. A wait would never end, or end at once.
static LogicalResult verifyUse(Operation *op,
                               TypedValue<SharedType> mbarriers) {
  if (failed(verifyMbarriers(op, mbarriers.getType())))
    return failure();
  if (!mbarriers.getDefiningOp<AllocSharedOp>() ||
      llvm::any_of(mbarriers.getUsers(), [&](Operation *user) {
        Operation *own = user->getBlock()->findAncestorOpInBlock(*op);
        return isa<MbarrierInitOp>(user) && own && user->isBeforeInBlock(own);
      }))
    return success();
  return op->emitOpError() << "is of mbarriers that no tile.mbarrier_init "
                              "before it initialises";
}

// Verifies that
// - mbarriers are a row of 64-bit integers;
// - an mbarrier can count the arrivals (PTX ISA, mbarrier).
LogicalResult MbarrierInitOp::verify() {
  int64_t arrivals = getArrivals();
  if (arrivals < 1 || arrivals >= 1 << 20)
    return emitOpError() << "waits for " << arrivals
                         << " arrivals, expected 1 to " << (1 << 20) - 1;
  return verifyMbarriers(*this, getShared().getType());
}

// Verifies that
// - other programs are those of a cluster.
static LogicalResult verifyOthers(Operation *op, bool hasOthers) {
  if (!hasOthers || clusterOf(op) > 1)
    return success();
  return op->emitOpError(
      "is for a cluster in a kernel whose schedule has none");
}

/// Whether the warps of all programs can make up a round.
static LogicalResult verifyArrivals(MbarrierArriveOp op) {
  const int64_t cluster = clusterOf(op);
  for (Operation *user : op.getShared().getUsers())
    if (auto init = dyn_cast<MbarrierInitOp>(user);
        init && init.getArrivals() % cluster)
      return op.emitOpError()
             << "is for a cluster of " << cluster
             << ", but the mbarriers wait for " << init.getArrivals()
             << " arrivals, expected a multiple";
  return success();
}

// Verifies that
// - mbarriers are a row of 64-bit integers;
// - other programs are those of a cluster, which share a round's arrivals.
LogicalResult MbarrierArriveOp::verify() {
  return failure(failed(verifyOthers(*this, getCluster())) ||
                 (getCluster() && failed(verifyArrivals(*this))) ||
                 failed(verifyUse(*this, getShared())));
}
LogicalResult MbarrierArriveCopiesOp::verify() {
  return verifyUse(*this, getShared());
}
LogicalResult MbarrierWaitOp::verify() {
  return failure(failed(verifyOthers(*this, getCluster())) ||
                 failed(verifyUse(*this, getShared())));
}

// Verifies that
// - all threads execute it: it is in a kernel's body;
// - the kernel's schedule has clusters.
LogicalResult ClusterBarrierOp::verify() {
  if (!isa_and_nonnull<gpu::GPUFuncOp>((*this)->getParentOp()))
    return emitOpError("is not in the body of a kernel, where all threads of a "
                       "cluster execute it");
  return verifyOthers(*this, true);
}

// Verifies that
// - mbarriers are a row of 64-bit integers, and initialised before;
// - an mbarrier can count the bytes (PTX ISA, mbarrier: tx-count).
LogicalResult MbarrierExpectOp::verify() {
  int64_t bytes = getBytes();
  if (bytes < 0 || bytes >= 1 << 20)
    return emitOpError() << "expects " << bytes << " bytes, expected 0 to "
                         << (1 << 20) - 1;
  return verifyUse(*this, getShared());
}
