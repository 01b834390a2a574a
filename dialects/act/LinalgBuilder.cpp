// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of the linalg forms: elementwise generics, reductions,
// reshapes. Every body computes in one type, f32 or f64, and rounds once, where
// its value is stored.
#include "dialects/act/LinalgBuilder.h"
#include <limits>

using namespace mlir;

namespace act {

ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }

RankedTensorType plainTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (isa<NF4Type>(tensor.getElementType()))
    return RankedTensorType::get({byteSize(tensor)},
                                 IntegerType::get(type.getContext(), 8));
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

Type commonComputeType(TypeRange types) {
  MLIRContext *context = types.front().getContext();
  for (Type type : types)
    if (getElementTypeOrSelf(type).isF64())
      return Float64Type::get(context);
  return Float32Type::get(context);
}

// Repeated dimensions are removed from the operand, so that its map is a plain
// projection: passes handle those best, and the reshape cancels with the one by
// which a reduction kept its dimension.
LinalgBuilder::Input LinalgBuilder::broadcast(Value tensor,
                                              ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = shapeOf(tensor);
  size_t lead = shape.size() - own.size();
  SmallVector<int64_t> kept, loops;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] == shape[lead + i]) {
      kept.push_back(own[i]);
      loops.push_back(lead + i);
    }
  return at(reshape(tensor, kept), loops);
}

AffineMap LinalgBuilder::projection(ArrayRef<int64_t> loops) {
  // The number of loops is filled in when the generic is made.
  SmallVector<AffineExpr> exprs;
  int64_t count = 0;
  for (int64_t loop : loops) {
    exprs.push_back(b.getAffineDimExpr(loop));
    count = std::max(count, loop + 1);
  }
  return AffineMap::get(count, 0, exprs, b.getContext());
}

static AffineMap withLoops(OpBuilder &b, const LinalgBuilder::Input &input,
                           int64_t loops) {
  if (!input.map) {
    SmallVector<AffineExpr> exprs;
    for (size_t i = 0; i < shapeOf(input.tensor).size(); ++i)
      exprs.push_back(b.getAffineDimExpr(i));
    return AffineMap::get(loops, 0, exprs, b.getContext());
  }
  return AffineMap::get(loops, 0, input.map.getResults(), b.getContext());
}

static bool isPlainFloat(Type type) { return isa<FloatType>(type); }

// The arguments of a body in the computation type.
static SmallVector<Value> widened(Scalars &s, ValueRange args) {
  SmallVector<Value> values;
  for (Value arg : args)
    values.push_back(isPlainFloat(arg.getType())
                         ? convertFloat(s.b, s.loc, arg, s.compute)
                         : arg);
  return values;
}

static Value toElement(Scalars &s, Value value, Type element) {
  return isPlainFloat(element) ? convertFloat(s.b, s.loc, value, element)
                               : value;
}

SmallVector<Value> LinalgBuilder::mapAll(ArrayRef<int64_t> shape,
                                         ArrayRef<Input> inputs,
                                         ArrayRef<Type> elements, Bodies body) {
  SmallVector<Value> tensors, outputs;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  for (const Input &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(withLoops(b, input, shape.size()));
  }
  for (Type element : elements) {
    outputs.push_back(empty(shape, element));
    types.push_back(outputs.back().getType());
    maps.push_back(b.getMultiDimIdentityMap(shape.size()));
  }
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, loc, types, tensors, outputs, maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange args) {
        Scalars s(inner, at, compute);
        SmallVector<Value> values =
            body(s, widened(s, args.take_front(inputs.size())));
        for (auto [value, element] : llvm::zip(values, elements))
          value = toElement(s, value, element);
        linalg::YieldOp::create(inner, at, values);
      });
  return SmallVector<Value>(generic.getResults());
}

Value LinalgBuilder::map(ArrayRef<int64_t> shape, ArrayRef<Input> inputs,
                         Type element, Body body) {
  return mapAll(shape, inputs, {element}, [&](Scalars &s, ValueRange args) {
    return SmallVector<Value>{body(s, args)};
  })[0];
}

Value LinalgBuilder::reduce(ArrayRef<int64_t> ranges, ArrayRef<int64_t> reduced,
                            ArrayRef<Input> inputs, Attribute initial,
                            Body body, Type element) {
  if (!element)
    element = compute;
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(withLoops(b, input, ranges.size()));
  }
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> shape;
  for (int64_t i = 0, e = ranges.size(); i < e; ++i) {
    bool folds = llvm::is_contained(reduced, i);
    iterators.push_back(folds ? utils::IteratorType::reduction
                              : utils::IteratorType::parallel);
    if (!folds) {
      kept.push_back(b.getAffineDimExpr(i));
      shape.push_back(ranges[i]);
    }
  }
  maps.push_back(AffineMap::get(ranges.size(), 0, kept, b.getContext()));
  Value start = filled(shape, initial);
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange{start.getType()}, tensors, ValueRange{start}, maps,
      iterators, [&](OpBuilder &inner, Location at, ValueRange args) {
        Scalars s(inner, at, compute);
        SmallVector<Value> values = widened(s, args.drop_back());
        values.push_back(args.back());
        linalg::YieldOp::create(inner, at, body(s, values));
      });
  return generic.getResult(0);
}

Value LinalgBuilder::sum(ArrayRef<int64_t> ranges, ArrayRef<int64_t> reduced,
                         ArrayRef<Input> inputs, Body body) {
  return reduce(ranges, reduced, inputs, zero(),
                [&](Scalars &s, ValueRange args) {
                  return s.add(args.back(), body(s, args.drop_back()));
                });
}

Value LinalgBuilder::maximum(ArrayRef<int64_t> ranges,
                             ArrayRef<int64_t> reduced, Input input) {
  return reduce(
      ranges, reduced, {input}, negInf(),
      [](Scalars &s, ValueRange args) { return s.max(args[1], args[0]); });
}

Value LinalgBuilder::rounded(Value tensor, Type element) {
  if (elementOf(tensor) == element)
    return tensor;
  return map(shapeOf(tensor), {whole(tensor)}, element,
             [](Scalars &, ValueRange args) { return args[0]; });
}

// Not map(): the elements may be of a type that is not computed in, and a copy
// must keep their bits.
Value LinalgBuilder::copy(ArrayRef<int64_t> shape, Input input) {
  Value init = empty(shape, elementOf(input.tensor));
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange{init.getType()}, ValueRange{input.tensor},
      ValueRange{init},
      ArrayRef<AffineMap>{withLoops(b, input, shape.size()),
                          b.getMultiDimIdentityMap(shape.size())},
      SmallVector<utils::IteratorType>(shape.size(),
                                       utils::IteratorType::parallel),
      [](OpBuilder &inner, Location at, ValueRange args) {
        linalg::YieldOp::create(inner, at, args[0]);
      });
  return generic.getResult(0);
}

// The finest grouping of `from` and `to` into runs of equal products. [6, 4]
// and [2, 3, 4] are (6 | 2 3) and (4 | 4).
static SmallVector<std::pair<ReassociationIndices, ReassociationIndices>>
commonGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<std::pair<ReassociationIndices, ReassociationIndices>> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReassociationIndices left{int64_t(i)}, right{int64_t(j)};
    int64_t p = from[i++], q = to[j++];
    while (p != q) {
      if (p < q) {
        left.push_back(i);
        p *= from[i++];
      } else {
        right.push_back(j);
        q *= to[j++];
      }
    }
    groups.push_back({left, right});
  }
  for (; i < from.size() && !groups.empty(); ++i) // trailing ones
    groups.back().first.push_back(i);
  for (; j < to.size() && !groups.empty(); ++j)
    groups.back().second.push_back(j);
  return groups;
}

// A collapse and an expansion, by the finest groups: a pass can then move each
// of them past other ops and fold what cancels.
Value LinalgBuilder::reshape(Value tensor, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = shapeOf(tensor);
  if (from == shape)
    return tensor;
  Type element = elementOf(tensor);
  SmallVector<ReassociationIndices> collapse, expand;
  SmallVector<int64_t> middle;
  if (!from.empty() && !shape.empty()) {
    if (llvm::is_contained(from, 0)) { // no elements: one group suffices
      collapse = {llvm::to_vector<2>(llvm::seq<int64_t>(0, from.size()))};
      expand = {llvm::to_vector<2>(llvm::seq<int64_t>(0, shape.size()))};
      middle = {0};
    } else {
      for (auto &[left, right] : commonGroups(from, shape)) {
        collapse.push_back(left);
        expand.push_back(right);
        int64_t size = 1;
        for (int64_t i : left)
          size *= from[i];
        middle.push_back(size);
      }
    }
  }
  if (from.size() != middle.size())
    tensor = tensor::CollapseShapeOp::create(
        b, loc, RankedTensorType::get(middle, element), tensor, collapse);
  if (shape.size() != middle.size())
    tensor = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, element), tensor, expand);
  return tensor;
}

Value LinalgBuilder::slice(Value tensor, int64_t dim, int64_t offset,
                           int64_t size) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)), sizes,
      strides(shape.size(), b.getIndexAttr(1));
  for (int64_t extent : shape)
    sizes.push_back(b.getIndexAttr(extent));
  offsets[dim] = b.getIndexAttr(offset);
  sizes[dim] = b.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes,
                                        strides);
}

Value LinalgBuilder::empty(ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(b, loc, shape, element);
}

Value LinalgBuilder::filled(ArrayRef<int64_t> shape, Attribute value) {
  auto typed = cast<TypedAttr>(value);
  Value scalar = arith::ConstantOp::create(b, loc, typed);
  Value init = empty(shape, typed.getType());
  return linalg::FillOp::create(b, loc, scalar, init).getResult(0);
}

Value LinalgBuilder::zeros(ArrayRef<int64_t> shape, Type element) {
  return filled(shape, b.getZeroAttr(element));
}

FloatAttr LinalgBuilder::negInf() {
  return b.getFloatAttr(compute, -std::numeric_limits<double>::infinity());
}

LogicalResult lowerElementwise(Operation *op, OpBuilder &b, ValueRange operands,
                               SmallVectorImpl<Value> &results) {
  SmallVector<Type> types, elements;
  llvm::append_range(types, operands.getTypes());
  for (Type type : op->getResultTypes()) {
    types.push_back(type);
    elements.push_back(plainTensor(type).getElementType());
  }
  LinalgBuilder l(b, op->getLoc(), TypeRange(types));
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  SmallVector<LinalgBuilder::Input> inputs;
  for (Value operand : operands)
    inputs.push_back(l.broadcast(operand, shape));
  llvm::append_range(
      results,
      l.mapAll(shape, inputs, elements, [&](Scalars &s, ValueRange args) {
        SmallVector<Value> values;
        cast<ElementwiseOpInterface>(op).emitScalar(s.b, s.loc, args, values);
        return values;
      }));
  return success();
}

} // namespace act
