// SPDX-License-Identifier: Apache-2.0
//
// What ops on shared memory require.
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace act::tile;

Value CopyAsyncOp::getAccessed() { return {}; }
Value CopyTensorOp::getAccessed() { return {}; }
Value StoreTensorOp::getAccessed() { return getValue(); }
Value ReduceBulkOp::getAccessed() { return {}; }

// Verifies that
// - memory is not transposed;
// - an offset is 0 or more, and a multiple of 16.
LogicalResult AllocSharedOp::verify() {
  if (getType().isTransposed())
    return emitOpError() << "makes " << getType()
                         << ", expected memory that is not transposed";
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
  if (shared.isTransposed())
    return op->emitOpError()
           << "accesses " << shared
           << " by threads, expected memory that is not transposed";
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

bool act::tile::isWholeBarrier(Operation *op) {
  auto barrier = dyn_cast_or_null<BarrierOp>(op);
  return barrier && barrier.isWhole();
}

// Verifies that
// - a part's barrier is outside of roles;
// - the parts divide the warps.
LogicalResult BarrierOp::verify() {
  if (isWhole())
    return success();
  const int64_t parts = getParts();
  if ((*this)->getParentOfType<RolesOp>())
    return emitOpError("is for a part of the program, expected it outside of "
                       "tile.roles");
  auto kernel = (*this)->getParentOfType<gpu::GPUFuncOp>();
  const int64_t warps = kernel ? getSchedule(kernel).getWarps() : parts;
  if (warps % parts)
    return emitOpError() << "has " << parts
                         << " parts, which do not divide the "
                         << "program's " << warps << " warps";
  return success();
}

LogicalResult LoadSharedOp::verify() {
  return checkSlot(*this, "result", getType(), getShared().getType(),
                   getSlot().size());
}

LogicalResult StoreSharedOp::verify() {
  SharedType shared = getShared().getType();
  if (!getOrder())
    return checkSlot(*this, "value", getValue().getType(), shared,
                     getSlot().size());
  RankedTensorType block = getValue().getType();
  SmallVector<int64_t> sorted(*getOrder());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, block.getRank())))
    return emitOpError() << "has order [" << *getOrder()
                         << "], expected a permutation of the dimensions of "
                         << block;
  if (shared.isTransposed() || shared.getLayout() ||
      shared.getRank() != int64_t(getSlot().size()) + 2 ||
      ShapedType::getNumElements(shared.getShape().take_back(2)) !=
          block.getNumElements())
    return emitOpError() << "stores " << block << " into " << shared << " by "
                         << getSlot().size()
                         << " slot indices, expected rows with as many "
                            "elements, without a swizzle";
  return checkElement(*this, "value", block, shared.getElementType(),
                      "as in shared");
}

/// The shape of a block as it lies in memory.
static SmallVector<int64_t> storedShape(SharedType shared) {
  SmallVector<int64_t> shape(shared.getShape());
  if (shared.isTransposed() && shape.size() >= 2)
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

/// The layout of memory, whichever way a block is looked at.
static SharedLayoutAttr storedLayout(SharedType shared) {
  SharedLayoutAttr layout = shared.getLayout();
  return layout ? SharedLayoutAttr::get(shared.getContext(),
                                        layout.getSwizzle(), layout.getPairs())
                : layout;
}

// Verifies that
// - the operand is not transposed itself;
// - the result is the block that the slot indices leave, perhaps transposed,
// with
//   the operand's elements and layout.
LogicalResult SharedViewOp::verify() {
  SharedType shared = getShared().getType(), result = getType();
  size_t slots = getSlot().size();
  if (shared.isTransposed())
    return emitOpError() << "is of " << shared
                         << ", expected memory that is not transposed";
  if (slots >= shared.getShape().size() ||
      ArrayRef(storedShape(result)) != shared.getShape().drop_front(slots) ||
      result.getElementType() != shared.getElementType() ||
      storedLayout(result) != storedLayout(shared))
    return emitOpError() << "of " << shared << " by " << slots
                         << " slot indices is no " << result;
  return success();
}

// Verifies that
// - shared memory has the block's shape, as it lies, and its elements.
LogicalResult ToSharedOp::verify() {
  SharedType shared = getType();
  RankedTensorType block = getBlock().getType();
  if (shared.isTransposed() || shared.getShape() != block.getShape() ||
      shared.getElementType() != block.getElementType())
    return emitOpError() << "of " << block << " is no " << shared;
  return success();
}
