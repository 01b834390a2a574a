// SPDX-License-Identifier: Apache-2.0
//
// What ops on shared memory require.
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

Value CopyAsyncOp::getAccessed() { return {}; }

// Verifies that
// - an offset is 0 or more, and a multiple of 16.
LogicalResult AllocSharedOp::verify() {
  if (auto offset = getOffset())
    if (int64_t(*offset) < 0 || *offset % 16)
      return emitOpError() << "offset is " << int64_t(*offset)
                           << ", expected a multiple of 16, 0 or more";
  return success();
}

// Verifies that
// - the number of groups is 0 or more.
LogicalResult WaitCopiesOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "waits for " << int64_t(getPending())
                         << " pending groups, expected 0 or more";
  return success();
}

// Verifies that
// - the block is what the slot indices leave of shared's shape;
// - element types are equal.
static LogicalResult checkSlot(Operation *op, StringRef name, Type type,
                               SharedType shared, size_t slots) {
  if (slots >= shared.getShape().size())
    return op->emitOpError()
           << "has " << slots << " slot indices for shared memory of rank "
           << shared.getRank();
  if (failed(checkShape(op, name, type, shared.getShape().drop_front(slots),
                        "for shared memory of shape " +
                            shapeText(shared.getShape()))))
    return failure();
  return checkElement(op, name, type, shared.getElementType(), "as in shared");
}

LogicalResult LoadSharedOp::verify() {
  return checkSlot(*this, "result", getType(), getShared().getType(),
                   getSlot().size());
}

LogicalResult StoreSharedOp::verify() {
  return checkSlot(*this, "value", getValue().getType(), getShared().getType(),
                   getSlot().size());
}
