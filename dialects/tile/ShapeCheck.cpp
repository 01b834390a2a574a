// SPDX-License-Identifier: Apache-2.0
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

} // namespace act::tile
