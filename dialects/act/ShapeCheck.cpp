// SPDX-License-Identifier: Apache-2.0
//
// Comparison of dimensions by size and by name (ShapeCheck.h).
#include "dialects/act/ShapeCheck.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace act {

bool Dim::operator==(const Dim &other) const {
  if (isStatic() && other.isStatic())
    return size == other.size;
  return name == other.name;
}

Dims dimsOf(RankedTensorType type) {
  auto names = dimNames(type);
  Dims dims;
  for (auto [size, name] : llvm::zip_equal(type.getShape(), names))
    dims.emplace_back(size, name);
  return dims;
}

std::string shapeText(ArrayRef<Dim> dims) {
  std::string text = "[";
  for (const Dim &dim : dims)
    text += (text.size() > 1 ? ", " : "") + dim.text();
  return text + "]";
}

std::string shapeText(RankedTensorType type) { return shapeText(dimsOf(type)); }

bool sameShape(ArrayRef<Dim> a, ArrayRef<Dim> b) { return llvm::equal(a, b); }

namespace {
struct Product {
  std::optional<int64_t> factor = 1; // nothing above 2^63
  std::vector<StringRef> letters;
};
} // namespace

// `names`: whether a static dimension counts by name or by size.
static Product productOf(ArrayRef<Dim> dims, bool names) {
  Product product;
  auto multiply = [&](int64_t n) {
    if (product.factor)
      product.factor = llvm::checkedMul<int64_t>(*product.factor, n);
  };
  for (const Dim &dim : dims) {
    if (dim.isStatic() && !names) {
      multiply(dim.size);
      continue;
    }
    SmallVector<StringRef> terms;
    StringRef(dim.name).split(terms, '*');
    for (StringRef term : terms) {
      int64_t n;
      if (term.getAsInteger(10, n))
        product.letters.push_back(term);
      else
        multiply(n);
    }
  }
  llvm::sort(product.letters);
  return product;
}

bool sameProduct(ArrayRef<Dim> a, ArrayRef<Dim> b) {
  auto equal = [&](bool names) {
    Product x = productOf(a, names), y = productOf(b, names);
    return x.factor && x.factor == y.factor && x.letters == y.letters;
  };
  auto isStatic = [](const Dim &dim) { return dim.isStatic(); };
  if (llvm::all_of(a, isStatic) && llvm::all_of(b, isStatic))
    return equal(false);
  return equal(true) || equal(false);
}

Dims withoutLast(ArrayRef<Dim> dims) { return Dims(dims.drop_back()); }

Dims withLast(ArrayRef<Dim> dims, Dim last) {
  Dims out(dims.drop_back());
  out.push_back(std::move(last));
  return out;
}

LogicalResult checkShape(Operation *op, StringRef name, RankedTensorType actual,
                         ArrayRef<Dim> expected, const Twine &why) {
  if (sameShape(dimsOf(actual), expected))
    return success();
  return op->emitOpError() << name << " has shape " << shapeText(actual)
                           << ", expected " << shapeText(expected) << " "
                           << why;
}

LogicalResult checkRank(Operation *op, StringRef name, RankedTensorType actual,
                        int64_t expected, const Twine &why) {
  if (actual.getRank() == expected)
    return success();
  return op->emitOpError() << name << " has rank " << actual.getRank()
                           << ", expected " << expected << " " << why;
}

LogicalResult checkElement(Operation *op, StringRef name,
                           RankedTensorType actual, Type expected,
                           const Twine &why) {
  if (actual.getElementType() == expected)
    return success();
  return op->emitOpError() << name << " has elements of type "
                           << actual.getElementType() << ", expected "
                           << expected << " " << why;
}

LogicalResult checkLike(Operation *op, StringRef name, RankedTensorType actual,
                        StringRef likeName, RankedTensorType like) {
  if (failed(checkShape(op, name, actual, dimsOf(like), "as in " + likeName)))
    return failure();
  return checkElement(op, name, actual, like.getElementType(),
                      "as in " + likeName);
}

static bool hasLetter(StringRef name) {
  return llvm::any_of(name,
                      [](char c) { return llvm::isAlpha(c) || c == '_'; });
}

// Verifies that
// - no dimension is 0;
// - a dynamic dimension has a name;
// - the bytes of a static tensor fit in 63 bits.
LogicalResult impl::verifyNamedTensor(Operation *op, const Twine &what,
                                      RankedTensorType type) {
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  std::optional<int64_t> bytes = 8; // at most 8 bytes an element
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (size == 0)
      return op->emitOpError() << what << " " << type << " is empty: dimension "
                               << i << " has size 0";
    if (!ShapedType::isDynamic(size)) {
      if (bytes)
        bytes = llvm::checkedMul<int64_t>(*bytes, size);
    } else if (!dims || !hasLetter(dims.getDim(i))) {
      return op->emitOpError()
             << what << " " << type << " has no name for its dynamic dimension "
             << i;
    }
  }
  if (!bytes)
    return op->emitOpError()
           << what << " " << type << " is larger than 2^63 bytes";
  return success();
}

LogicalResult impl::verifyNamedDimensions(Operation *op) {
  auto verify = [op](StringRef what, TypeRange types) {
    for (auto [i, type] : llvm::enumerate(types))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (failed(impl::verifyNamedTensor(
                op, what + " " + Twine(i) + " of type", tensor)))
          return failure();
    return success();
  };
  if (failed(verify("operand", op->getOperandTypes())))
    return failure();
  return verify("result", op->getResultTypes());
}

// Verifies that
// - the values have the type of the first.
LogicalResult
impl::verifyAgreeing(Operation *op,
                     ArrayRef<std::pair<StringRef, Value>> values) {
  auto [likeName, first] = values.front();
  auto like = cast<RankedTensorType>(first.getType());
  for (auto [name, value] : values.drop_front()) {
    auto type = cast<RankedTensorType>(value.getType());
    std::string snake = llvm::convertToSnakeFromCamelCase(name),
                likeSnake = llvm::convertToSnakeFromCamelCase(likeName);
    if (failed(checkLike(op, snake, type, likeSnake, like)))
      return failure();
    if (type != like) // equal sizes with other names
      return op->emitOpError() << snake << " has type " << type << ", expected "
                               << like << " as in " << likeSnake;
  }
  return success();
}

// Verifies that
// - there is one name per dimension;
// - a dynamic dimension's name has a letter;
// - a name without a letter is the dimension's size;
// - a static size is a multiple of its name's factor.
LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "#act.dims names " << getDims().size()
                       << " dimensions of a tensor of rank " << shape.size();
  for (auto [i, size] : llvm::enumerate(shape)) {
    StringRef name = getDim(i);
    bool letters = hasLetter(name);
    if (ShapedType::isDynamic(size)) {
      if (!letters)
        return emitError() << "dynamic dimension " << i << " is named '" << name
                           << "', expected a name with a letter";
      continue;
    }
    int64_t factor = 1;
    if (name.split('*').first.getAsInteger(10, factor) && !letters)
      return emitError() << "'" << name << "' is too large for a dimension";
    if (letters ? (factor > 1 && size % factor != 0) : size != factor)
      return emitError() << "dimension " << i << " of size " << size
                         << " is named '" << name << "'";
  }
  return success();
}

} // namespace act
