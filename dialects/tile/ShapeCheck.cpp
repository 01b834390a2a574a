// SPDX-License-Identifier: Apache-2.0
//
// Shapes and types in messages, and the checks that print them.
#include "dialects/tile/ShapeCheck.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace act::tile {

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape)) {
    text += i ? ", " : "";
    text += ShapedType::isDynamic(size) ? "?" : std::to_string(size);
  }
  return text + "]";
}

ArrayRef<int64_t> shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

Type elementOf(Type type) { return getElementTypeOrSelf(type); }

static std::string shapeOrScalar(ArrayRef<int64_t> shape) {
  return shape.empty() ? "no shape" : "shape " + shapeText(shape);
}

LogicalResult checkShape(Operation *op, StringRef name, Type actual,
                         ArrayRef<int64_t> expected, const Twine &why) {
  if (shapeOf(actual) == expected)
    return success();
  return op->emitOpError() << name << " has " << shapeOrScalar(shapeOf(actual))
                           << ", expected "
                           << (expected.empty() ? "a scalar"
                                                : shapeText(expected))
                           << " " << why;
}

LogicalResult checkElement(Operation *op, StringRef name, Type actual,
                           Type expected, const Twine &why) {
  if (elementOf(actual) == expected)
    return success();
  return op->emitOpError() << name << " has elements of type "
                           << elementOf(actual) << ", expected " << expected
                           << " " << why;
}

LogicalResult checkLike(Operation *op, StringRef name, Type actual,
                        StringRef likeName, Type like) {
  if (failed(checkShape(op, name, actual, shapeOf(like), "as in " + likeName)))
    return failure();
  return checkElement(op, name, actual, elementOf(like), "as in " + likeName);
}

static std::string forInput(RankedTensorType input) {
  return " for an input of shape " + shapeText(input.getShape());
}

std::string axisFault(int64_t axis, int64_t last, RankedTensorType input) {
  if (axis >= 0 && axis <= last)
    return "";
  std::string expected = last < 0 ? "none" : "0 to " + std::to_string(last);
  return "axis is " + std::to_string(axis) + ", expected " + expected +
         forInput(input);
}

std::string transFault(RankedTensorType input) {
  if (input.getRank() >= 2)
    return "";
  return "input has rank " + std::to_string(input.getRank()) +
         ", expected 2 or more to swap the last two axes";
}

std::string splitFault(RankedTensorType input) {
  if (input.getRank() >= 2 && input.getShape().back() == 2)
    return "";
  return "input has shape " + shapeText(input.getShape()) +
         ", expected two dimensions or more, the last of 2";
}

std::string iotaFault(int64_t start, int64_t end) {
  std::string counts = "counts from " + std::to_string(start) + " to " +
                       std::to_string(end) + ", expected ";
  if (start >= end)
    return counts + "an end past the start";
  if (start < INT32_MIN || end > int64_t(INT32_MAX) + 1)
    return counts + "numbers of i32";
  return "";
}

std::string accessFault(ViewType view, TypeRange indices,
                        ArrayRef<int64_t> extents) {
  auto n = [](int64_t number) { return std::to_string(number); };
  int64_t rank = view.getRank();
  if (int64_t(indices.size()) != rank)
    return "has " + n(indices.size()) + " indices for a view of rank " +
           n(rank);
  if (int64_t(extents.size()) != rank)
    return "has " + n(extents.size()) + " extents for a view of rank " +
           n(rank);
  int64_t gathered = -1;
  for (int64_t i = 0; i < rank; ++i) {
    auto tensor = dyn_cast<RankedTensorType>(indices[i]);
    if (tensor && (tensor.getRank() != 1 || !tensor.hasStaticShape()))
      return "index " + n(i) + " has shape " + shapeText(tensor.getShape()) +
             ", expected one dimension of a size that is known";
    if (extents[i] < 1 && extents[i] != -1)
      return "extent " + n(i) + " is " + n(extents[i]) +
             ", expected 1 or more, or -1";
    if (!tensor)
      continue;
    if (gathered >= 0)
      return "indices " + n(gathered) + " and " + n(i) +
             " are tensors, expected one at most";
    gathered = i;
    if (tensor.getDimSize(0) != extents[i])
      return "index " + n(i) + " has shape " + shapeText(tensor.getShape()) +
             ", expected [" + n(extents[i]) + "], the extent there";
  }
  return "";
}

} // namespace act::tile
