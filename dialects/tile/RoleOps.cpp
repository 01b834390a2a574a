// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace act::tile;

/// Whether warps that copy may do the op, too: it has no blocks, and is not
/// what one warp's threads do for all.
static bool isForAllWarps(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (!isa<StoreOp, AtomicAddOp, CopyAsyncOp>(op) && !touchesBlocks(op));
}

// Verifies that
// - it is the last op of a kernel, whose schedule has warps that copy;
// - what is in front of it can be done by all warps: nothing there has blocks
// or
//   writes to memory;
// - shared memory is not made by warps that copy, while others compute in it.
LogicalResult RolesOp::verify() {
  auto kernel = dyn_cast<gpu::GPUFuncOp>((*this)->getParentOp());
  if (!kernel || !isa_and_nonnull<gpu::ReturnOp>((*this)->getNextNode()))
    return emitOpError("is not the last op of a kernel");
  if (!getSchedule(kernel).getCopyWarps())
    return emitOpError()
           << "is in a kernel whose schedule has no warps that copy";
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == *this)
      break;
    WalkResult walked =
        op.walk([&](Operation *inner) -> WalkResult {
          if (isForAllWarps(inner))
            return WalkResult::advance();
          InFlightDiagnostic error =
              emitOpError()
              << "follows an op on blocks or a write to memory, which "
                 "warps that copy have no part of";
          error.attachNote(inner->getLoc()) << "the op";
          return error;
        });
    if (walked.wasInterrupted())
      return failure();
  }
  WalkResult walked = getCopy().walk([](Operation *op) -> WalkResult {
    if (isa<AllocSharedOp, MbarrierInitOp>(op))
      return op->emitOpError("is among what warps do that copy, expected it in "
                             "front of the tile.roles");
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

// Verifies that
// - mbarriers are numbers of 64 bits in a row.
static LogicalResult verifyMbarriers(Operation *op, SharedType shared) {
  if (shared.getRank() == 1 && shared.getElementType().isInteger(64) &&
      !shared.getLayout())
    return success();
  return op->emitOpError() << "has mbarriers of type " << shared
                           << ", expected !tile.shared<Nxi64>";
}

// Verifies that
// - mbarriers are numbers of 64 bits in a row;
// - the arrivals are as many as an mbarrier counts (PTX ISA, mbarrier).
LogicalResult MbarrierInitOp::verify() {
  int64_t arrivals = getArrivals();
  if (arrivals < 1 || arrivals >= 1 << 20)
    return emitOpError() << "waits for " << arrivals
                         << " arrivals, expected 1 to " << (1 << 20) - 1;
  return verifyMbarriers(*this, getShared().getType());
}

LogicalResult MbarrierArriveOp::verify() {
  return verifyMbarriers(*this, getShared().getType());
}
LogicalResult MbarrierArriveCopiesOp::verify() {
  return verifyMbarriers(*this, getShared().getType());
}
LogicalResult MbarrierWaitOp::verify() {
  return verifyMbarriers(*this, getShared().getType());
}
