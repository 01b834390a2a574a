// SPDX-License-Identifier: Apache-2.0
//
// Types with named dimensions: building them, and the ops that bring a value to
// a type. A name stays with its dimension wherever that is possible, because
// formulas are made of names.
#include "dialects/act/Types.h"
#include "act/Nf4/Nf4.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace act {

SmallVector<std::string> dimNames(RankedTensorType type) {
  SmallVector<std::string> names;
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (dims && size_t(i) < dims.getDims().size())
      names.push_back(dims.getDim(i).str());
    else
      names.push_back(std::to_string(type.getDimSize(i)));
  }
  return names;
}

static bool hasLetter(StringRef name) {
  return llvm::any_of(name,
                      [](char c) { return llvm::isAlpha(c) || c == '_'; });
}

RankedTensorType namedTensor(ArrayRef<int64_t> shape, Type element,
                             ArrayRef<std::string> names,
                             MLIRContext *context) {
  if (llvm::none_of(names, [](const std::string &n) { return hasLetter(n); }))
    return RankedTensorType::get(shape, element);
  SmallVector<StringAttr> attrs;
  for (const std::string &n : names)
    attrs.push_back(StringAttr::get(context, n));
  return RankedTensorType::get(shape, element, DimsAttr::get(context, attrs));
}

RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

RankedTensorType dropBack(RankedTensorType type, unsigned n, Type element) {
  auto names = dimNames(type);
  return namedTensor(type.getShape().drop_back(n),
                     element ? element : type.getElementType(),
                     ArrayRef(names).drop_back(n), type.getContext());
}

RankedTensorType dropFront(RankedTensorType type, unsigned n) {
  auto names = dimNames(type);
  return namedTensor(type.getShape().drop_front(n), type.getElementType(),
                     ArrayRef(names).drop_front(n), type.getContext());
}

RankedTensorType prepend(RankedTensorType type, int64_t size, StringRef name) {
  SmallVector<int64_t> shape{size};
  llvm::append_range(shape, type.getShape());
  SmallVector<std::string> names{name.empty() ? std::to_string(size)
                                              : name.str()};
  llvm::append_range(names, dimNames(type));
  return namedTensor(shape, type.getElementType(), names, type.getContext());
}

// The product of monomials, canonical: factor first, letters sorted.
static std::string multiplyNames(ArrayRef<std::string> names) {
  int64_t factor = 1;
  SmallVector<StringRef> letters;
  for (StringRef rest : names) {
    while (!rest.empty()) {
      auto [term, tail] = rest.split('*');
      int64_t n;
      if (!term.getAsInteger(10, n))
        factor *= n;
      else
        letters.push_back(term);
      rest = tail;
    }
  }
  llvm::sort(letters);
  std::string text;
  if (factor != 1 || letters.empty())
    text = std::to_string(factor);
  for (StringRef l : letters)
    text += (text.empty() ? "" : "*") + l.str();
  return text;
}

RankedTensorType flattenLeading(RankedTensorType type, unsigned keep) {
  unsigned lead = type.getRank() - keep;
  auto names = dimNames(type);
  int64_t product = 1;
  for (int64_t d : type.getShape().take_front(lead))
    product = ShapedType::isDynamic(d) || ShapedType::isDynamic(product)
                  ? ShapedType::kDynamic
                  : product * d;
  SmallVector<int64_t> shape{product};
  llvm::append_range(shape, type.getShape().drop_front(lead));
  SmallVector<std::string> out{multiplyNames(ArrayRef(names).take_front(lead))};
  out.append(names.begin() + lead, names.end());
  return namedTensor(shape, type.getElementType(), out, type.getContext());
}

Value reshapeTo(OpBuilder &b, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return ReshapeOp::create(b, value.getLoc(), type, value);
}

// Equal shapes may still differ in names or element type, hence the reshape and
// the cast.
Value sumToType(OpBuilder &b, Value grad, RankedTensorType type) {
  auto from = cast<RankedTensorType>(grad.getType());
  if (from.getShape() == type.getShape())
    return castTo(
        b, reshapeTo(b, grad, withElement(type, from.getElementType())), type);
  // Missing leading dimensions become explicit ones.
  auto names = dimNames(type);
  SmallVector<int64_t> shape(from.getRank() - type.getRank(), 1);
  SmallVector<std::string> full(from.getRank() - type.getRank(), "1");
  llvm::append_range(shape, type.getShape());
  full.append(names.begin(), names.end());
  auto padded =
      namedTensor(shape, from.getElementType(), full, type.getContext());
  Value sum = SumToOp::create(b, grad.getLoc(), padded, grad);
  sum = reshapeTo(b, sum, withElement(type, from.getElementType()));
  return castTo(b, sum, type);
}

Value castTo(OpBuilder &b, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return CastOp::create(b, value.getLoc(), type, value);
}

Value softcap(OpBuilder &b, Location loc, Value x, double cap, Value *bend) {
  x = ScaleOp::create(b, loc, x, b.getF64FloatAttr(1 / cap));
  x = TanhOp::create(b, loc, x);
  if (bend)
    *bend = x;
  return ScaleOp::create(b, loc, x, b.getF64FloatAttr(cap));
}

Type computeType(Type element) {
  if (element.isF64())
    return element;
  return Float32Type::get(element.getContext());
}

RankedTensorType bufferType(ParameterOp parameter, ParameterBuffer buffer) {
  auto type = cast<RankedTensorType>(parameter.getType());
  if (buffer == ParameterBuffer::Parameter)
    return type;
  const bool codes = buffer == ParameterBuffer::ExpAvgCodes ||
                     buffer == ParameterBuffer::ExpAvgSqCodes;
  if (codes || buffer == ParameterBuffer::ExpAvgScales ||
      buffer == ParameterBuffer::ExpAvgSqScales) {
    int64_t blocks = elementCount(type) / dynamicBlock;
    Builder b(type.getContext());
    return codes ? RankedTensorType::get({blocks, dynamicBlock}, b.getI8Type())
                 : RankedTensorType::get({blocks}, b.getF32Type());
  }
  if (isOptimizerState(buffer)) {
    auto state = parameter->getAttrOfType<TypeAttr>(stateTypeAttr);
    return withElement(type, state && buffer != ParameterBuffer::Master
                                 ? state.getValue()
                                 : computeType(type.getElementType()));
  }
  auto wide = parameter->getAttrOfType<TypeAttr>(gradientTypeAttr);
  return wide ? withElement(type, wide.getValue()) : type;
}

int64_t elementCount(RankedTensorType type) {
  return type.hasStaticShape() ? type.getNumElements() : 0;
}

int64_t byteSize(RankedTensorType type) {
  int64_t n = elementCount(type);
  if (auto nf4 = dyn_cast<NF4Type>(type.getElementType()))
    return nf4::Layout(n, nf4.getBlock(), nf4.getNested()).bytes;
  unsigned bits = type.getElementTypeBitWidth();
  return n * llvm::divideCeil(bits, 8);
}

} // namespace act
