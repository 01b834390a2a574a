// SPDX-License-Identifier: Apache-2.0
//
// What ops that change shapes of blocks require.
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

static std::string forInput(RankedTensorType input) {
  return "for an input of shape " + shapeText(input.getShape());
}

// Verifies that
// - the numbers fit in i32, and there is at least one;
// - the result has one element per number.
LogicalResult IotaOp::verify() {
  int64_t start = getStart(), end = getEnd();
  std::string fault = iotaFault(start, end);
  if (!fault.empty())
    return emitOpError(fault);
  return checkShape(*this, "result", getType(), {end - start},
                    "for numbers from " + Twine(start) + " to " + Twine(end));
}

// Verifies that
// - the input has two dimensions to swap;
// - the result is the input with these swapped.
LogicalResult TransOp::verify() {
  auto input = getInput().getType();
  std::string fault = transFault(input);
  if (!fault.empty())
    return emitOpError(fault);
  SmallVector<int64_t> shape(input.getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  if (failed(checkShape(*this, "result", getType(), shape, forInput(input))))
    return failure();
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - the result has as many elements as the input, and their type.
LogicalResult ReshapeOp::verify() {
  auto input = getInput().getType();
  if (input.getNumElements() != getType().getNumElements())
    return emitOpError()
           << "result of shape " << shapeText(getType().getShape())
           << " has a different number of elements than input of shape "
           << shapeText(input.getShape());
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - the axis is a position in the result;
// - the result has a dimension of size 1 there, and is else like the input.
LogicalResult ExpandDimsOp::verify() {
  auto input = getInput().getType();
  int64_t axis = getAxis();
  std::string fault = axisFault(axis, input.getRank(), input);
  if (!fault.empty())
    return emitOpError(fault);
  SmallVector<int64_t> shape(input.getShape());
  shape.insert(shape.begin() + axis, 1);
  if (failed(checkShape(*this, "result", getType(), shape, forInput(input))))
    return failure();
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - input and result have one rank and one element type;
// - dimensions differ only where the input's is 1.
LogicalResult BroadcastOp::verify() {
  auto input = getInput().getType();
  if (input.getRank() != getType().getRank())
    return emitOpError() << "result has rank " << getType().getRank()
                         << ", expected " << input.getRank() << " "
                         << forInput(input);
  for (auto [from, to] : llvm::zip(input.getShape(), getType().getShape()))
    if (from != to && from != 1)
      return emitOpError() << "cannot repeat an input of shape "
                           << shapeText(input.getShape())
                           << " to a result of shape "
                           << shapeText(getType().getShape());
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - the result is the operands' shape and a dimension of 2.
LogicalResult JoinOp::verify() {
  auto lhs = getLhs().getType();
  SmallVector<int64_t> shape(lhs.getShape());
  shape.push_back(2);
  if (failed(checkShape(*this, "result", getType(), shape,
                        "for operands of shape " + shapeText(lhs.getShape()))))
    return failure();
  return checkElement(*this, "result", getType(), lhs.getElementType(),
                      "as in lhs");
}

// Verifies that
// - the input's last dimension is 2, and not its only one;
// - the results are of one type, the input's without it.
LogicalResult SplitOp::verify() {
  auto input = getInput().getType();
  std::string fault = splitFault(input);
  if (!fault.empty())
    return emitOpError(fault);
  if (failed(checkShape(*this, "lhs", getLhs().getType(),
                        input.getShape().drop_back(), forInput(input))) ||
      failed(checkElement(*this, "lhs", getLhs().getType(),
                          input.getElementType(), "as in input")))
    return failure();
  if (getLhs().getType() != getRhs().getType())
    return emitOpError() << "rhs is " << getRhs().getType() << ", expected "
                         << getLhs().getType() << " as lhs";
  return success();
}

// Verifies that
// - input and result differ in nothing but the encoding.
LogicalResult ConvertLayoutOp::verify() {
  return checkLike(*this, "result", getType(), "input", getInput().getType());
}
