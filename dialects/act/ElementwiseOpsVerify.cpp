// SPDX-License-Identifier: Apache-2.0
//
// What elementwise ops require of shapes and types.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// The shape of `a` and `b` broadcast from the right; nothing if they do not
// fit.
static std::optional<Dims> broadcast(Dims a, Dims b) {
  if (a.size() < b.size())
    std::swap(a, b);
  size_t lead = a.size() - b.size();
  for (auto [i, dim] : llvm::enumerate(b)) {
    Dim &out = a[lead + i];
    if (out == Dim(1) || (out == dim && !out.isStatic()))
      out = dim;
    else if (dim != Dim(1) && out != dim)
      return std::nullopt;
  }
  return a;
}

// Verifies that
// - the operands broadcast to the shape of the result.
static LogicalResult verifyBroadcast(Operation *op, ArrayRef<StringRef> names) {
  Dims shape;
  std::string operands;
  for (auto [name, value] : llvm::zip_equal(names, op->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<Dims> both = broadcast(shape, dimsOf(type));
    if (!both)
      return op->emitOpError() << "cannot broadcast " << name << " of shape "
                               << shapeText(type) << " with" << operands;
    shape = *both;
    operands += (operands.empty() ? " " : " and ") + name.str() + " of shape " +
                shapeText(type);
  }
  return checkShape(op, "result",
                    cast<RankedTensorType>(op->getResult(0).getType()), shape,
                    "for" + operands);
}

// Verifies that
// - operand `index` has the element type of the result.
static LogicalResult verifyElement(Operation *op, unsigned index,
                                   StringRef name) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return checkElement(op, name,
                      cast<RankedTensorType>(op->getOperand(index).getType()),
                      result.getElementType(), "as in result");
}

// Verifies that
// - lhs and rhs broadcast to the shape of the result;
// - all three have one element type.
static LogicalResult verifyBinary(Operation *op) {
  if (failed(verifyBroadcast(op, {"lhs", "rhs"})) ||
      failed(verifyElement(op, 0, "lhs")))
    return failure();
  return verifyElement(op, 1, "rhs");
}
LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }

// Verifies that
// - lhs and rhs broadcast to the shape of the result.
LogicalResult AndOp::verify() { return verifyBroadcast(*this, {"lhs", "rhs"}); }

// Verifies that
// - condition, if_true and if_false broadcast to the shape of the result;
// - if_true, if_false and the result have one element type.
LogicalResult SelectOp::verify() {
  if (failed(verifyBroadcast(*this, {"condition", "if_true", "if_false"})) ||
      failed(verifyElement(*this, 1, "if_true")))
    return failure();
  return verifyElement(*this, 2, "if_false");
}

// Verifies that
// - the factor is a finite number.
LogicalResult ScaleOp::verify() {
  if (!getFactor().isFinite())
    return emitOpError("factor is not finite");
  return success();
}

// Verifies that
// - input and result have one shape;
// - a float does not become an integer.
LogicalResult CastOp::verify() {
  if (failed(checkShape(*this, "result", getType(),
                        dimsOf(getInput().getType()), "as in input")))
    return failure();
  Type from = getInput().getType().getElementType();
  Type to = getType().getElementType();
  if (isa<FloatType>(from) && isa<IntegerType>(to))
    return emitOpError() << "has no conversion from " << from << " to " << to;
  return success();
}

// Verifies that
// - 0 <= p < 1.
LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1))
    return emitOpError() << "p is " << p << ", expected 0 <= p < 1";
  return success();
}
