// SPDX-License-Identifier: Apache-2.0
// Syntax and verification of types.
#include "dialects/tile/Dialect.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace act::tile;

SmallVector<int64_t> act::tile::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i) {
    strides[i] = ShapedType::kDynamic;
    if (!ShapedType::isDynamic(shape[i + 1]) &&
        !ShapedType::isDynamic(strides[i + 1]))
      strides[i] = llvm::checkedMul(strides[i + 1], shape[i + 1])
                       .value_or(ShapedType::kDynamic);
  }
  return strides;
}

bool act::tile::isElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float32Type, Float16Type, BFloat16Type, Float64Type,
             Float8E4M3FNType, Float8E5M2Type>(type);
}

Type act::tile::blockType(ViewType view, ArrayRef<int64_t> extents) {
  SmallVector<int64_t> shape;
  for (int64_t extent : extents)
    if (extent != -1)
      shape.push_back(extent);
  if (shape.empty())
    return view.getElementType();
  return RankedTensorType::get(shape, view.getElementType());
}

Type act::tile::dropAxis(RankedTensorType type, int64_t axis) {
  // Such a type is built for the verifier to reject.
  if (axis < 0 || axis >= type.getRank())
    return type;
  if (type.getRank() == 1)
    return type.getElementType();
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, type.getElementType());
}

static void printSizes(AsmPrinter &p, ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      p << '?';
    else
      p << size;
    p << 'x';
  }
}

// [256, ?]
static ParseResult parseStrides(AsmParser &p, SmallVector<int64_t> &strides) {
  return p.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        if (succeeded(p.parseOptionalQuestion()))
          return strides.push_back(ShapedType::kDynamic), success();
        return p.parseInteger(strides.emplace_back());
      });
}

Type ViewType::parse(AsmParser &p) {
  SMLoc loc = p.getCurrentLocation();
  SmallVector<int64_t> shape, strides;
  Type element;
  if (p.parseLess() || p.parseDimensionList(shape) || p.parseType(element))
    return {};
  if (succeeded(p.parseOptionalComma()) &&
      (p.parseKeyword("strides") || p.parseEqual() || parseStrides(p, strides)))
    return {};
  if (p.parseGreater())
    return {};
  return p.getChecked<ViewType>(loc, ArrayRef<int64_t>(shape), element,
                                ArrayRef<int64_t>(strides));
}

void ViewType::print(AsmPrinter &p) const {
  p << '<';
  printSizes(p, getShape());
  p << getElementType();
  if (!isRowMajor()) {
    p << ", strides = [";
    llvm::interleaveComma(getStrides(), p, [&](int64_t stride) {
      if (ShapedType::isDynamic(stride))
        p << '?';
      else
        p << stride;
    });
    p << ']';
  }
  p << '>';
}

// Verifies that
// - the element type is one that blocks may have;
// - sizes are 0 or more, and the elements can be counted;
// - strides, where there are any, are one per dimension.
LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> error,
                               ArrayRef<int64_t> shape, Type element,
                               ArrayRef<int64_t> strides) {
  if (!isElementType(element))
    return error() << "a view's elements cannot be of type " << element;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 0)
      return error() << "a view's size is " << size << ", expected 0 or more";
    std::optional<int64_t> product =
        llvm::checkedMul(elements, std::max<int64_t>(size, 1));
    if (!product || *product > int64_t(1) << 59)
      return error() << "a view has more than 2^59 elements";
    elements = *product;
  }
  if (!strides.empty() && strides.size() != shape.size())
    return error() << "a view of rank " << shape.size() << " has "
                   << strides.size() << " strides";
  return success();
}

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> error,
                              Type element) {
  if (!isElementType(element))
    return error() << "a pointer's elements cannot be of type " << element;
  return success();
}

Type SharedType::parse(AsmParser &p) {
  SMLoc loc = p.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type element;
  SharedLayoutAttr layout;
  if (p.parseLess() || p.parseDimensionList(shape, /*allowDynamic=*/false) ||
      p.parseType(element))
    return {};
  if (succeeded(p.parseOptionalComma()) && p.parseAttribute(layout))
    return {};
  if (p.parseGreater())
    return {};
  return p.getChecked<SharedType>(loc, ArrayRef<int64_t>(shape), element,
                                  layout);
}

void SharedType::print(AsmPrinter &p) const {
  p << '<';
  printSizes(p, getShape());
  p << getElementType();
  if (getLayout())
    p << ", " << getLayout();
  p << '>';
}

// An i1 takes a byte.
static int64_t byteWidth(Type element) {
  return std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
}

// Verifies that
// - the element type is one that blocks may have;
// - there is at least one dimension, none is empty, and the size is below 2^31;
// - with a swizzle, there are rows, and their bytes are whole chunks of 16.
LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> error,
                                 ArrayRef<int64_t> shape, Type element,
                                 SharedLayoutAttr layout) {
  if (!isElementType(element))
    return error() << "shared memory cannot have elements of type " << element;
  if (shape.empty())
    return error() << "shared memory has rank 0, expected 1 or more";
  int64_t bytes = byteWidth(element);
  for (int64_t size : shape) {
    if (size < 1)
      return error() << "shared memory has a dimension of size " << size
                     << ", expected 1 or more";
    bytes = llvm::checkedMul(bytes, size).value_or(INT64_MAX);
    if (bytes > INT32_MAX)
      return error() << "shared memory has more than 2^31 bytes";
  }
  if (!layout || layout.getSwizzle() == 0)
    return success();
  if (shape.size() < 2)
    return error() << "swizzled shared memory has rank 1, expected 2 or more";
  int64_t row = shape.back() * byteWidth(element);
  if (row % 16)
    return error() << "swizzled shared memory has rows of " << row
                   << " bytes, expected a multiple of 16";
  return success();
}
