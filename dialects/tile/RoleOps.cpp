// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace act::tile;

// Verifies that
// - it is the last op of a kernel, whose schedule has warps that copy;
// - nothing in front of it has blocks.
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
    auto isBlock = [](Type type) { return isa<RankedTensorType>(type); };
    if (!op.hasTrait<OpTrait::ConstantLike>() &&
        (llvm::any_of(op.getResultTypes(), isBlock) ||
         llvm::any_of(op.getOperandTypes(), isBlock))) {
      InFlightDiagnostic error = emitOpError()
                                 << "follows an op on blocks, which warps that "
                                    "copy have no part of";
      error.attachNote(op.getLoc()) << "the op";
      return error;
    }
  }
  return success();
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
