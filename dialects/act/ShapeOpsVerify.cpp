// SPDX-License-Identifier: Apache-2.0
//
// What ops that move elements require of shapes and types.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verifies that
// - the value has the type of the result.
LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError() << "value has type " << getValue().getType()
                         << ", expected " << getType() << " as in result";
  return success();
}

// Verifies that
// - the permutation names every dimension of the input once;
// - the result has the permuted shape and the input's element type.
LogicalResult TransposeOp::verify() {
  RankedTensorType input = getInput().getType();
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<bool> seen(input.getRank(), false);
  bool good = int64_t(permutation.size()) == input.getRank();
  for (int64_t p : permutation) {
    good = good && p >= 0 && p < input.getRank() && !seen[p];
    if (!good)
      break;
    seen[p] = true;
  }
  if (!good)
    return emitOpError() << "[" << permutation
                         << "] is not a permutation of the " << input.getRank()
                         << " dimensions of input";
  Dims dims = dimsOf(input), permuted;
  for (int64_t p : permutation)
    permuted.push_back(dims[p]);
  if (failed(checkShape(*this, "result", getType(), permuted,
                        "for an input of shape " + shapeText(input))))
    return failure();
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - input and result have as many elements; with dynamic dimensions, that the
//   products of their names, or of names and sizes, are equal;
// - input and result have one element type.
LogicalResult ReshapeOp::verify() {
  RankedTensorType input = getInput().getType();
  if (!sameProduct(dimsOf(input), dimsOf(getType())))
    return emitOpError()
           << "result of shape " << shapeText(getType())
           << " has a different number of elements than input of shape "
           << shapeText(input);
  return checkElement(*this, "result", getType(), input.getElementType(),
                      "as in input");
}

// Verifies that
// - `large` and `small` have one rank;
// - every dimension of `large` is a multiple of `small`'s, as far as both sizes
//   are known: a / k, query heads over key heads, has no name;
// - both have one element type, or the result of a sum has the accumulator's.
static LogicalResult verifyMultiple(Operation *op, StringRef largeName,
                                    RankedTensorType large, StringRef smallName,
                                    RankedTensorType small) {
  if (failed(checkRank(
          op, "result", cast<RankedTensorType>(op->getResult(0).getType()),
          cast<RankedTensorType>(op->getOperand(0).getType()).getRank(),
          "as in input")))
    return failure();
  for (auto [i, sizes] :
       llvm::enumerate(llvm::zip_equal(large.getShape(), small.getShape()))) {
    auto [l, s] = sizes;
    if (!ShapedType::isDynamic(l) && !ShapedType::isDynamic(s) && l % s != 0)
      return op->emitOpError()
             << "dimension " << i << " of " << largeName << " of shape "
             << shapeText(large) << " is not a multiple of " << smallName
             << "'s of shape " << shapeText(small);
  }
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<SumToOp>(op) &&
      result.getElementType() == computeType(input.getElementType()))
    return success();
  return checkElement(op, "result", result, input.getElementType(),
                      "as in input");
}

LogicalResult ExpandOp::verify() {
  return verifyMultiple(*this, "result", getType(), "input",
                        getInput().getType());
}

LogicalResult SumToOp::verify() {
  return verifyMultiple(*this, "input", getInput().getType(), "result",
                        getType());
}

// Verifies that
// - there is a part, and the whole has a last dimension;
// - the parts have the whole's shape but for the last dimension, and its
//   element type;
// - their last dimensions add up to the whole's, as far as all are known.
static LogicalResult verifyParts(Operation *op, StringRef wholeName,
                                 RankedTensorType whole, TypeRange parts) {
  if (parts.empty())
    return op->emitOpError("has no parts");
  if (whole.getRank() == 0)
    return op->emitOpError() << wholeName << " has no last dimension";
  Dims expected = dimsOf(whole);
  int64_t sum = 0;
  bool known = true;
  for (auto [i, type] : llvm::enumerate(parts)) {
    auto part = cast<RankedTensorType>(type);
    std::string name = "part " + std::to_string(i);
    if (part.getRank() == whole.getRank())
      expected.back() = dimsOf(part).back();
    std::string why =
        ("for " + wholeName + " of shape " + shapeText(whole)).str();
    if (failed(checkShape(op, name, part, expected, why)) ||
        failed(checkElement(op, name, part, whole.getElementType(),
                            "as in " + wholeName)))
      return failure();
    known = known && !ShapedType::isDynamic(part.getShape().back());
    if (known)
      sum += part.getShape().back();
  }
  int64_t last = whole.getShape().back();
  if (known && !ShapedType::isDynamic(last) && sum != last)
    return op->emitOpError()
           << "parts have " << sum << " columns, expected " << last << " for "
           << wholeName << " of shape " << shapeText(whole);
  return success();
}

LogicalResult SplitOp::verify() {
  return verifyParts(*this, "input", getInput().getType(),
                     getParts().getTypes());
}

LogicalResult ConcatOp::verify() {
  return verifyParts(*this, "result", getType(), getParts().getTypes());
}
