// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/SingleOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/raise/GatherForm.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

/// Of operands that have all dimensions, or none.
SmallVector<int64_t> broadcastShape(ArrayRef<Value> operands) {
  SmallVector<int64_t> shape;
  for (Value v : operands) {
    ArrayRef<int64_t> own = typeOf(v).getShape();
    shape.resize(std::max(shape.size(), own.size()), 1);
    for (size_t i = 0; i < own.size(); ++i)
      shape[i] = std::max(shape[i], own[i]);
  }
  return shape;
}

/// act.matmul for a product, and act.add if it goes on with a sum. Null if
/// there is nothing to sum over.
Value productOf(linalg::GenericOp op, Maker &make) {
  if (!linalg::isaContractionOpInterface(op) || !op.hasPureTensorSemantics())
    return {};
  Value start = op.getDpsInits()[0];
  const bool goesOn = filledWith(start) != 0.0;
  if (goesOn && !isActType(start.getType()))
    return {};
  auto maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<Read> reads;
  for (unsigned i : {0u, 1u}) {
    auto read = readBy(maps[i], op.getInputs()[i]);
    if (!read)
      return {};
    reads.push_back(lookThrough(*read)); // a weight may be repeated
    for (auto &d : reads.back().dims)
      if (d && sizes[*d] == 1) // no dimension
        d = std::nullopt;
  }
  Type element = typeOf(reads[0].value).getElementType(),
       sum = typeOf(op.getResult(0)).getElementType();
  if (element != typeOf(reads[1].value).getElementType() ||
      !isa<FloatType>(element) ||
      (sum != element &&
       !(sum.isF32() && element.getIntOrFloatBitWidth() == 16)))
    return {};
  auto sizesOf = [&](ArrayRef<unsigned> all) {
    SmallVector<int64_t> some;
    for (unsigned d : all)
      some.push_back(sizes[d]);
    return some;
  };
  SmallVector<unsigned> batch, m, n, k, left = reads[0].present(),
                                        right = reads[1].present();
  for (auto [d, size] : llvm::enumerate(sizes)) {
    const bool isLeft = llvm::is_contained(left, d),
               isRight = llvm::is_contained(right, d);
    if (size == 1)
      continue;
    if (linalg::isReductionIterator(op.getIteratorTypesArray()[d])) {
      if (!isLeft || !isRight)
        return {};
    } else if (isLeft || isRight) {
      (isLeft && isRight ? batch : isLeft ? m : n).push_back(d);
    } else {
      return {};
    }
  }
  for (unsigned d : right) // in the order of the weight
    if (linalg::isReductionIterator(op.getIteratorTypesArray()[d]))
      k.push_back(d);
  // Operands as they are, or with the last two dimensions swapped.
  auto operand = [&](const Read &read, ArrayRef<unsigned> first,
                     ArrayRef<unsigned> second, bool &swapped) {
    SmallVector<unsigned> order(batch), other(batch);
    llvm::append_range(order, first);
    llvm::append_range(order, second);
    llvm::append_range(other, second);
    llvm::append_range(other, first);
    swapped = read.present() == other && order != other;
    Value v = make.inOrder(read, swapped ? other : order);
    SmallVector<int64_t> shape = sizesOf(batch);
    shape.push_back(product(sizesOf(swapped ? second : first)));
    shape.push_back(product(sizesOf(swapped ? first : second)));
    return make.reshaped(v, shape);
  };
  bool lhsSwapped, rhsSwapped;
  Value lhs = operand(reads[0], m, k, lhsSwapped),
        rhs = operand(reads[1], k, n, rhsSwapped);
  SmallVector<int64_t> merged = sizesOf(batch);
  merged.append({product(sizesOf(m)), product(sizesOf(n))});
  SmallVector<unsigned> order(batch);
  llvm::append_range(order, m);
  llvm::append_range(order, n);
  Value v =
      MatmulOp::create(make.b, make.loc, RankedTensorType::get(merged, sum),
                       lhs, rhs, lhsSwapped, rhsSwapped);
  v = make.reshaped(v, sizesOf(order));
  SmallVector<int64_t> permutation;
  for (AffineExpr e : maps[2].getResults()) {
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d)
      return {};
    if (sizes[d.getPosition()] != 1)
      permutation.push_back(llvm::find(order, d.getPosition()) - order.begin());
  }
  auto type = typeOf(op.getResult(0));
  v = make.reshaped(make.transposed(v, permutation), type.getShape());
  if (!goesOn)
    return v;
  return act::AddOp::create(
      make.b, make.loc, type, v,
      make.aligned(lookThrough(wholeRead(start)), type.getRank()));
}

/// The number that the op has for numbers that are known; null if they are not.
Value foldedAt(const Elementwise &form, Maker &make) {
  SmallVector<Attribute> operands;
  for (auto [input, v] :
       llvm::zip_equal(form.inputs, form.scalar->getOperands())) {
    auto number = numberIn(input);
    if (!number || !isa<FloatType>(v.getType()))
      return {};
    operands.push_back(make.b.getFloatAttr(v.getType(), *number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(form.scalar->fold(operands, results)) || results.size() != 1)
    return {};
  auto number =
      dyn_cast_if_present<FloatAttr>(dyn_cast<Attribute>(results.front()));
  return number ? make.constant(number.getType(), number.getValueAsDouble())
                : Value();
}

/// The act op for one scalar op; null if there is none.
Value elementwiseAt(linalg::GenericOp op, const Elementwise &form,
                    Maker &make) {
  const unsigned rank = op.getNumLoops();
  auto type = typeOf(op.getResult(0));
  Type element = type.getElementType();
  auto value = [&](const Elementwise::Input &input, Type own) -> Value {
    auto number = numberIn(input);
    if (number && isa<FloatType>(own))
      return make.constant(own, *number);
    return input.read ? make.aligned(lookThrough(*input.read), rank) : Value();
  };
  auto finish = [&](Value v) {
    return v ? make.expanded(v, type.getShape()) : v;
  };
  if (!form.scalar)
    return finish(value(form.inputs[0], element));
  if (Value folded = foldedAt(form, make))
    return finish(folded);
  auto binary = [&](auto tag) -> Value {
    using Op = decltype(tag);
    if (numberIn(form.inputs[0]) && numberIn(form.inputs[1]))
      return {};
    Value a = value(form.inputs[0], element),
          b = value(form.inputs[1], element);
    if (!a || !b)
      return {};
    return Op::create(make.b, make.loc,
                      RankedTensorType::get(broadcastShape({a, b}), element), a,
                      b);
  };
  auto scaled = [&](const Elementwise::Input &input, double factor) -> Value {
    Value v = value(input, element);
    return ScaleOp::create(make.b, make.loc, v.getType(), v,
                           make.b.getF64FloatAttr(factor));
  };
  return finish(
      llvm::TypeSwitch<Operation *, Value>(form.scalar)
          .Case<arith::AddFOp>([&](auto) { return binary(act::AddOp()); })
          .Case<arith::SubFOp>([&](auto) { return binary(act::SubOp()); })
          .Case<arith::DivFOp>([&](auto) { return binary(act::DivOp()); })
          .Case<arith::MulFOp>([&](auto) {
            for (unsigned i : {0u, 1u})
              if (auto factor = numberIn(form.inputs[i]);
                  factor && !numberIn(form.inputs[1 - i]) &&
                  std::isfinite(*factor))
                return scaled(form.inputs[1 - i], *factor);
            return binary(act::MulOp());
          })
          .Case<math::PowFOp, math::FPowIOp>([&](auto) -> Value {
            auto exponent = numberIn(form.inputs[1]);
            if (!exponent || (*exponent != 2 && *exponent != 3))
              return {};
            Value x = value(form.inputs[0], element);
            if (!x)
              return {};
            Value v = x;
            for (int i = 1; i < *exponent; ++i)
              v = act::MulOp::create(make.b, make.loc, x.getType(), v, x);
            return v;
          })
          .Case<arith::NegFOp>([&](auto) {
            return numberIn(form.inputs[0]) ? Value()
                                            : scaled(form.inputs[0], -1);
          })
          .Case<math::TanhOp>([&](auto) -> Value {
            Value v = value(form.inputs[0], element);
            return v ? TanhOp::create(make.b, make.loc, v.getType(), v)
                           .getResult()
                     : v;
          })
          .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) -> Value {
            if (!form.inputs[0].read)
              return {};
            Value v = make.aligned(*form.inputs[0].read, rank);
            return CastOp::create(
                make.b, make.loc,
                RankedTensorType::get(typeOf(v).getShape(), element), v);
          })
          .Case<arith::SelectOp>([&](auto) -> Value {
            if (!isa<FloatType>(element) || !form.inputs[0].read)
              return {};
            Value c = value(form.inputs[0], make.b.getI1Type()),
                  a = value(form.inputs[1], element),
                  b = value(form.inputs[2], element);
            if (!a || !b)
              return {};
            return act::SelectOp::create(
                make.b, make.loc,
                RankedTensorType::get(broadcastShape({c, a, b}), element), c, a,
                b);
          })
          .Case<arith::AndIOp>([&](auto) -> Value {
            if (!element.isInteger(1) || !form.inputs[0].read ||
                !form.inputs[1].read)
              return {};
            for (unsigned i : {0u, 1u}) // and true
              if (numberIn(form.inputs[i]) && numberIn(form.inputs[i]) != 0.0)
                return value(form.inputs[1 - i], element);
            return binary(act::AndOp());
          })
          .Default([](Operation *) { return Value(); }));
}

/// `size` elements from `offset` along the last dimension.
Value lastPart(Value v, int64_t offset, int64_t size, Maker &make) {
  auto from = typeOf(v);
  const int64_t rest = from.getShape().back() - offset - size;
  if (size == from.getShape().back())
    return v;
  SmallVector<Type> types;
  for (int64_t n : {offset, size, rest}) {
    SmallVector<int64_t> shape(from.getShape());
    shape.back() = n;
    if (n)
      types.push_back(make.shaped(from, shape));
  }
  auto parts = SplitOp::create(make.b, make.loc, TypeRange(types), v);
  return parts->getResult(offset ? 1 : 0);
}

/// A concatenation along dimension d, as one along the last of a view.
Value joined(ValueRange parts, unsigned d, RankedTensorType type, Maker &make) {
  SmallVector<Value> views;
  auto outer = type.getShape().take_front(d);
  const int64_t inner = product(type.getShape().drop_front(d + 1));
  auto shapeOf = [&](int64_t size) {
    SmallVector<int64_t> shape(outer);
    shape.push_back(size * inner);
    return shape;
  };
  for (Value v : parts)
    views.push_back(make.reshaped(v, shapeOf(typeOf(v).getDimSize(d))));
  Value v = views.size() == 1
                ? views[0]
                : act::ConcatOp::create(
                      make.b, make.loc,
                      make.shaped(type, shapeOf(type.getDimSize(d))), views)
                      .getResult();
  return make.reshaped(v, type.getShape());
}

/// A part along dimension d: along the last one of a view in which it and those
/// behind it are one.
Value partAlong(Value v, unsigned d, int64_t offset, int64_t size,
                int64_t stride, Maker &make) {
  SmallVector<int64_t> shape(typeOf(v).getShape());
  const int64_t inner = product(ArrayRef(shape).drop_front(d + 1));
  SmallVector<int64_t> outer(ArrayRef(shape).take_front(d));
  auto view = [&](Value value, std::initializer_list<int64_t> last) {
    SmallVector<int64_t> to(outer);
    to.append(last);
    return make.reshaped(value, to);
  };
  // One element of each group of `stride` is taken. If the last group would end
  // outside, the groups begin earlier.
  const int64_t begin = std::min(offset, shape[d] - size * stride);
  if (stride > 1 && begin < 0) { // too few for whole groups: the last alone
    Value parts[] = {
        partAlong(v, d, offset, size - 1, size == 2 ? 1 : stride, make),
        partAlong(v, d, offset + (size - 1) * stride, 1, 1, make)};
    shape[d] = size;
    return joined(parts, d, make.shaped(typeOf(v), shape), make);
  }
  const int64_t first = stride > 1 ? begin : offset;
  v = lastPart(view(v, {shape[d] * inner}), first * inner,
               size * stride * inner, make);
  if (stride > 1)
    v = lastPart(view(v, {size, stride * inner}), (offset - first) * inner,
                 inner, make);
  shape[d] = size;
  return make.reshaped(v, shape);
}

/// A part of a tensor, dimension by dimension.
Value partOf(tensor::ExtractSliceOp slice, Maker &make) {
  auto from = slice.getSourceType();
  if (llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(slice.getStaticStrides(), [](int64_t n) { return n < 1; }))
    return {};
  Value v = slice.getSource();
  for (auto [d, offset, size, stride] :
       llvm::enumerate(slice.getStaticOffsets(), slice.getStaticSizes(),
                       slice.getStaticStrides()))
    if (size != from.getDimSize(d)) {
      if (size < 1)
        return {};
      v = partAlong(v, d, offset, size, size == 1 ? 1 : stride, make);
    }
  return make.reshaped(v, slice.getType().getShape());
}

/// A pad with one number: concatenations with it.
Value padded(tensor::PadOp pad, Maker &make) {
  auto number = dyn_cast_or_null<TypedAttr>([&]() -> Attribute {
    Attribute constant;
    Value v = pad.getConstantPaddingValue();
    return v && matchPattern(v, m_Constant(&constant)) ? constant : Attribute();
  }());
  auto value = numberOf(number);
  if (!value)
    return {};
  Value v = pad.getSource();
  auto single = RankedTensorType::get({}, typeOf(v).getElementType());
  SmallVector<OpFoldResult> below = pad.getMixedLowPad(),
                            above = pad.getMixedHighPad();
  for (unsigned d = 0; d < below.size(); ++d) {
    const int64_t low = getConstantIntValue(below[d]).value_or(-1),
                  high = getConstantIntValue(above[d]).value_or(-1);
    if (low < 0 || high < 0) // not known, or a crop
      return {};
    SmallVector<Value> parts;
    SmallVector<int64_t> shape(typeOf(v).getShape());
    const int64_t size = shape[d];
    auto fill = [&](int64_t n) {
      shape[d] = n;
      if (n)
        parts.push_back(make.expanded(
            act::ConstantOp::create(make.b, make.loc, single,
                                    DenseElementsAttr::get(single, number)),
            shape));
    };
    fill(low);
    parts.push_back(v);
    fill(high);
    shape[d] = size + low + high;
    v = joined(parts, d, make.shaped(typeOf(v), shape), make);
  }
  return v;
}

} // namespace

Value act::actValueFor(Operation *op, Maker &make) {
  if (op->getNumResults() != 1 || !isActType(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperands(), [](Value v) {
        return !isa<TensorType>(v.getType()) || isActType(v.getType());
      }))
    return {};
  auto type = typeOf(op->getResult(0));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return act::ConstantOp::create(make.b, make.loc, type,
                                   cast<ElementsAttr>(constant.getValue()));
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return make.reshaped(op->getOperand(0), type.getShape());
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return joined(concat.getInputs(), concat.getDim(), type, make);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return padded(pad, make);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return partOf(slice, make);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return {};
  if (Value v = productOf(generic, make))
    return v;
  if (auto gather = gatherOf(op))
    return embeddingFor(generic, *gather, make);
  if (auto form = elementwiseOf(op))
    return elementwiseAt(generic, *form, make);
  if (auto sum = reductionOf(op); sum && sum->kind == ReductionForm::Sum &&
                                  isa<FloatType>(type.getElementType())) {
    SmallVector<int64_t> shape(typeOf(sum->input).getShape());
    for (unsigned d : sum->along)
      shape[d] = 1;
    Value v =
        SumToOp::create(make.b, make.loc, make.shaped(type, shape), sum->input);
    return make.reshaped(v, type.getShape());
  }
  return {};
}
