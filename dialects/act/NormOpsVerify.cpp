// SPDX-License-Identifier: Apache-2.0
//
// What norms and their gradients require of shapes and types.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verifies that
// - the input has a last dimension;
// - `value` has one element per column of the input, and its element type.
static LogicalResult checkColumns(Operation *op, StringRef name,
                                  RankedTensorType value,
                                  RankedTensorType input) {
  if (input.getRank() < 1)
    return op->emitOpError("input has rank 0, expected 1 or more");
  if (failed(checkShape(op, name, value, {dimsOf(input).back()},
                        "for an input of shape " + shapeText(input))))
    return failure();
  return checkElement(op, name, value, input.getElementType(), "as in input");
}

// Verifies that
// - `value`, a statistic, has one element per row of the input, in the type in
//   which the input is computed.
static LogicalResult checkRows(Operation *op, StringRef name,
                               RankedTensorType value, RankedTensorType input) {
  if (failed(checkShape(op, name, value, withoutLast(dimsOf(input)),
                        "for an input of shape " + shapeText(input))))
    return failure();
  return checkElement(op, name, value, computeType(input.getElementType()),
                      "for statistics");
}

static LogicalResult checkEps(Operation *op, APFloat eps) {
  if (!eps.isFinite() || eps.isNegative())
    return op->emitOpError() << "eps is " << eps.convertToDouble()
                             << ", expected a finite number of 0 or more";
  return success();
}

// Verifies that
// - weight has one element per column of the input;
// - the result is like the input;
// - rstd has one element per row;
// - eps is finite and not negative.
LogicalResult RmsNormOp::verify() {
  RankedTensorType input = getInput().getType();
  if (failed(checkColumns(*this, "weight", getWeight().getType(), input)) ||
      failed(
          checkLike(*this, "result", getResult().getType(), "input", input)) ||
      failed(checkEps(*this, getEps())))
    return failure();
  return getRstd() ? checkRows(*this, "rstd", getRstd().getType(), input)
                   : success();
}

// Verifies that
// - grad and result are like the input;
// - weight has one element per column, rstd one per row.
LogicalResult RmsNormGradOp::verify() {
  RankedTensorType input = getInput().getType();
  if (failed(checkColumns(*this, "weight", getWeight().getType(), input)) ||
      failed(checkLike(*this, "grad", getGrad().getType(), "input", input)) ||
      failed(checkLike(*this, "result", getType(), "input", input)))
    return failure();
  return checkRows(*this, "rstd", getRstd().getType(), input);
}

// Verifies that
// - weight and bias have one element per column of the input;
// - the result is like the input;
// - mean and rstd have one element per row;
// - eps is finite and not negative.
LogicalResult LayerNormOp::verify() {
  RankedTensorType input = getInput().getType();
  if (failed(checkColumns(*this, "weight", getWeight().getType(), input)) ||
      failed(checkColumns(*this, "bias", getBias().getType(), input)) ||
      failed(
          checkLike(*this, "result", getResult().getType(), "input", input)) ||
      failed(checkEps(*this, getEps())))
    return failure();
  if (!getRstd())
    return success();
  if (failed(checkRows(*this, "mean", getMean().getType(), input)))
    return failure();
  return checkRows(*this, "rstd", getRstd().getType(), input);
}

// Verifies that
// - grad and result are like the input;
// - weight has one element per column, mean and rstd one per row.
LogicalResult LayerNormGradOp::verify() {
  RankedTensorType input = getInput().getType();
  if (failed(checkColumns(*this, "weight", getWeight().getType(), input)) ||
      failed(checkLike(*this, "grad", getGrad().getType(), "input", input)) ||
      failed(checkLike(*this, "result", getType(), "input", input)) ||
      failed(checkRows(*this, "mean", getMean().getType(), input)))
    return failure();
  return checkRows(*this, "rstd", getRstd().getType(), input);
}

// Verifies that
// - weight and bias have one element per column of the input;
// - the result is like the input;
// - mean and rstd have one element per row;
// - mean and bias are both there, or neither.
LogicalResult NormalizeOp::verify() {
  if (getNumOperands() == 4)
    return emitOpError(
        "has only one of mean and bias, expected both or neither");
  RankedTensorType input = getInput().getType();
  if (failed(checkColumns(*this, "weight", getWeight().getType(), input)) ||
      failed(checkLike(*this, "result", getType(), "input", input)) ||
      (getMean() &&
       (failed(checkRows(*this, "mean", getMean().getType(), input)) ||
        failed(checkColumns(*this, "bias", getBias().getType(), input)))))
    return failure();
  return checkRows(*this, "rstd", getRstd().getType(), input);
}

// Verifies that
// - grad is like the input;
// - mean and rstd have one element per row, the result one per column, in the
//   input's type or that of the sum.
LogicalResult NormWeightGradOp::verify() {
  RankedTensorType input = getInput().getType();
  Type sum = computeType(input.getElementType());
  auto like =
      getType().getElementType() == sum ? withElement(input, sum) : input;
  if (failed(checkColumns(*this, "result", getType(), like)) ||
      failed(checkLike(*this, "grad", getGrad().getType(), "input", input)) ||
      (getMean() &&
       failed(checkRows(*this, "mean", getMean().getType(), input))))
    return failure();
  return checkRows(*this, "rstd", getRstd().getType(), input);
}
