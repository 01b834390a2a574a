// SPDX-License-Identifier: Apache-2.0
//
// The torch dialect's shapes, reductions, products, norms and windows.
#include "passes/raise/TorchLowering.h"

using namespace mlir;
using namespace act;
using namespace act::torch;

Value Lowering::reshaped() {
  Value x = tensor(0);
  return x && typeOf(x).getNumElements() == type().getNumElements()
             ? reshapedTensor(*b, loc, x, type())
             : Value();
}

Value Lowering::permuted() {
  auto order = integers(1);
  if (!tensor(0) || !order)
    return {};
  for (int64_t &d : *order)
    d += d < 0 ? type().getRank() : 0;
  if (!isPermutationVector(*order) ||
      int64_t(order->size()) != type().getRank() ||
      typeOf(tensor(0)).getRank() != type().getRank())
    return {};
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()), *order)
      ->getResult(0);
}

Value Lowering::swapped() {
  auto first = dimension(1, type().getRank()),
       second = dimension(2, type().getRank());
  if (!tensor(0) || !first || !second ||
      typeOf(tensor(0)).getRank() != type().getRank())
    return {};
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(type().getRank()));
  std::swap(order[*first], order[*second]);
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()), order)
      ->getResult(0);
}

Value Lowering::turned() {
  if (!tensor(0))
    return {};
  if (type().getRank() < 2)
    return tensor(0);
  if (type().getRank() != 2 || typeOf(tensor(0)).getRank() != 2)
    return {};
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()),
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

Value Lowering::repeated() {
  Value x = tensor(0);
  return x ? elementwise(x, [](OpBuilder &, ValueRange v) { return v[0]; })
           : Value();
}

Value Lowering::joined() {
  auto found = count() ? lists.find(op->getOperand(0)) : lists.end();
  auto along = dimension(1, type().getRank());
  if (found == lists.end() || !along)
    return {};
  SmallVector<Value> parts;
  for (Value v : found->second)
    parts.push_back(tensors.lookup(v));
  if (parts.empty() || llvm::is_contained(parts, Value()) ||
      llvm::any_of(parts, [&](Value v) {
        return typeOf(v).getRank() != type().getRank() ||
               typeOf(v).getElementType() != element();
      }))
    return {};
  return tensor::ConcatOp::create(*b, loc, type(), *along, parts);
}

Value Lowering::sliced() {
  Value x = tensor(0);
  auto along = dimension(1, type().getRank());
  auto step = integer(4);
  if (!x || !along || !step || *step < 1 ||
      typeOf(x).getRank() != type().getRank())
    return {};
  const int64_t size = typeOf(x).getDimSize(*along);
  int64_t begin = integer(2).value_or(0);
  if (begin < 0)
    begin += size;
  begin = std::clamp<int64_t>(begin, 0, size);
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (int64_t d = 0; d < type().getRank(); ++d) {
    offsets.push_back(b->getIndexAttr(d == *along ? begin : 0));
    sizes.push_back(b->getIndexAttr(type().getDimSize(d)));
    strides.push_back(b->getIndexAttr(d == *along ? *step : 1));
  }
  return tensor::ExtractSliceOp::create(*b, loc, type(), x, offsets, sizes,
                                        strides);
}

Value Lowering::selected() {
  Value x = tensor(0);
  auto along = x ? dimension(1, typeOf(x).getRank()) : std::nullopt;
  auto at = integer(2);
  if (!along || !at)
    return {};
  SmallVector<int64_t> shape(typeOf(x).getShape());
  if (*at < 0)
    *at += shape[*along];
  if (*at < 0 || *at >= shape[*along])
    return {};
  shape[*along] = 1;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (auto [d, size] : llvm::enumerate(shape)) {
    offsets.push_back(b->getIndexAttr(d == *along ? *at : 0));
    sizes.push_back(b->getIndexAttr(size));
    strides.push_back(b->getIndexAttr(1));
  }
  Value part = tensor::ExtractSliceOp::create(
      *b, loc, RankedTensorType::get(shape, element()), x, offsets, sizes,
      strides);
  return reshapedTensor(*b, loc, part, type());
}

/// start + i * step, for arange of (end), (start, end) or (start, end, step)
Value Lowering::counted() {
  StringRef name = op->getName().getStringRef();
  const bool hasStart = name.contains(".start"),
             hasStep = name.contains("step");
  auto start = hasStart ? number(0) : 0.0, step = hasStep ? number(2) : 1.0;
  if (!start || !step || type().getRank() != 1)
    return {};
  return elementwise({}, [&](OpBuilder &inner, ValueRange) -> Value {
    Value i = linalg::IndexOp::create(inner, loc, 0);
    Type wide = inner.getI64Type();
    i = arith::IndexCastOp::create(inner, loc, wide, i);
    const bool isFloat = isa<FloatType>(element());
    i = castScalar(inner, loc, i, element());
    auto at = [&](double n) { return scalar(inner, element(), n); };
    if (*step != 1)
      i = isFloat ? arith::MulFOp::create(inner, loc, i, at(*step)).getResult()
                  : arith::MulIOp::create(inner, loc, i, at(*step)).getResult();
    if (*start != 0)
      i = isFloat
              ? arith::AddFOp::create(inner, loc, i, at(*start)).getResult()
              : arith::AddIOp::create(inner, loc, i, at(*start)).getResult();
    return i;
  });
}

Value Lowering::fullOf() {
  auto n = number(1);
  return n ? filled(type(), *n) : Value();
}

Value Lowering::literal() {
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute value = properties ? properties.get("value") : op->getAttr("value");
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || dense.getType().getShape() != type().getShape())
    return {};
  // Its integers are signed, arith's have no sign.
  if (isa<IntegerType>(element()) && !element().isInteger(1)) {
    if (!dense.getElementType().isInteger(element().getIntOrFloatBitWidth()))
      return {};
    dense = dense.bitcast(element());
  }
  return dense.getElementType() == element()
             ? arith::ConstantOp::create(*b, loc, dense).getResult()
             : Value();
}

template <typename F, typename I>
Value Lowering::reducedBy(Value x, ArrayRef<int64_t> dims, double start) {
  auto from = typeOf(x);
  SmallVector<int64_t> along, shape;
  for (int64_t d : dims) {
    along.push_back(d < 0 ? d + from.getRank() : d);
    if (along.back() < 0 || along.back() >= from.getRank())
      return {};
  }
  if (dims.empty())
    along = llvm::to_vector(llvm::seq<int64_t>(from.getRank()));
  llvm::sort(along);
  along.erase(llvm::unique(along), along.end());
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (!llvm::is_contained(along, d))
      shape.push_back(from.getDimSize(d));
  auto narrow = RankedTensorType::get(shape, element());
  if (from.getElementType() != element()) {
    auto own = result;
    result = RankedTensorType::get(from.getShape(), element());
    x = casted(x);
    result = own;
  }
  Value v =
      linalg::ReduceOp::create(
          *b, loc, ValueRange(x), ValueRange(filled(narrow, start)), along,
          [&](OpBuilder &inner, Location at, ValueRange v) {
            Value sum = isa<FloatType>(element())
                            ? F::create(inner, at, v[0], v[1]).getResult()
                            : I::create(inner, at, v[0], v[1]).getResult();
            linalg::YieldOp::create(inner, at, ValueRange(sum));
          })
          ->getResult(0);
  return narrow.getNumElements() == type().getNumElements()
             ? reshapedTensor(*b, loc, v, type())
             : Value();
}

Value Lowering::summed() {
  auto along = isNone(1) ? SmallVector<int64_t>() : integers(1);
  return tensor(0) && along
             ? reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), *along, 0)
             : Value();
}

Value Lowering::summedAll() {
  return tensor(0) ? reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), {}, 0)
                   : Value();
}

Value Lowering::mean() {
  const bool isWhole = op->getName().getStringRef() == "torch.aten.mean";
  auto along = isWhole || isNone(1) ? SmallVector<int64_t>() : integers(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()))
    return {};
  Value sum = reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), *along, 0);
  if (!sum)
    return {};
  const double size = double(typeOf(tensor(0)).getNumElements()) /
                      std::max<int64_t>(type().getNumElements(), 1);
  return elementwise(sum, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value n = scalar(inner, element(), size);
    return arith::DivFOp::create(inner, loc, v[0], n);
  });
}

Value Lowering::greatest() {
  auto along = integers(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()))
    return {};
  return reducedBy<arith::MaximumFOp, arith::MaxSIOp>(tensor(0), *along,
                                                      -INFINITY);
}

/// The first result: indices of the greatest are not read.
Value Lowering::greatestAlong() {
  auto along = integer(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()) ||
      (op->getNumResults() > 1 && !op->getResult(1).use_empty()))
    return {};
  return reducedBy<arith::MaximumFOp, arith::MaxSIOp>(tensor(0), *along,
                                                      -INFINITY);
}

Value Lowering::allAlong() {
  auto along = integer(1);
  return tensor(0) && along && element().isInteger(1)
             ? reducedBy<arith::MinimumFOp, arith::AndIOp>(tensor(0), *along, 1)
             : Value();
}

/// Products of matrices in stacks, which repeat from the right.
Value Lowering::matmul(Value x, Value y) {
  auto left = typeOf(x), right = typeOf(y);
  if (left.getRank() < 2 || right.getRank() < 2 || !isa<FloatType>(element()) ||
      left.getElementType() != element() || right.getElementType() != element())
    return {};
  const unsigned rank = std::max(left.getRank(), right.getRank());
  SmallVector<int64_t> shape(rank);
  auto b_ = *b;
  auto map = [&](RankedTensorType of, unsigned rows, unsigned columns) {
    SmallVector<AffineExpr> exprs;
    const unsigned own = of.getRank();
    for (unsigned i = 0; i + 2 < own; ++i) {
      const unsigned d = rank - own + i;
      exprs.push_back(of.getDimSize(i) == 1 ? b_.getAffineConstantExpr(0)
                                            : b_.getAffineDimExpr(d));
      shape[d] = std::max(shape[d], of.getDimSize(i));
    }
    exprs.push_back(b_.getAffineDimExpr(rows));
    exprs.push_back(b_.getAffineDimExpr(columns));
    return AffineMap::get(rank + 1, 0, exprs, b_.getContext());
  };
  AffineMap first = map(left, rank - 2, rank),
            second = map(right, rank, rank - 1);
  shape[rank - 2] = left.getShape()[left.getRank() - 2];
  shape[rank - 1] = right.getShape().back();
  Type sum =
      element().getIntOrFloatBitWidth() == 16 ? b->getF32Type() : element();
  auto wide = RankedTensorType::get(shape, sum);
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  Value v = linalg::GenericOp::create(
                *b, loc, TypeRange(wide), ValueRange{x, y},
                ValueRange(filled(wide, 0)),
                ArrayRef<AffineMap>{
                    first, second,
                    b->getMultiDimIdentityMap(rank + 1).getMajorSubMap(rank)},
                kinds,
                [&](OpBuilder &inner, Location at, ValueRange v) {
                  Value m = arith::MulFOp::create(
                      inner, at, castScalar(inner, at, v[0], sum),
                      castScalar(inner, at, v[1], sum));
                  linalg::YieldOp::create(
                      inner, at,
                      ValueRange(arith::AddFOp::create(inner, at, v[2], m)));
                })
                .getResult(0);
  if (sum == element())
    return v;
  auto own = result;
  result = RankedTensorType::get(shape, element());
  v = casted(v);
  result = own;
  return v;
}

Value Lowering::product() {
  return tensor(0) && tensor(1) ? matmul(tensor(0), tensor(1)) : Value();
}

/// addmm: input * beta + x y * alpha
Value Lowering::multiplied() {
  if (!tensor(0) || !tensor(1) || !tensor(2) ||
      (count() > 3 && number(3) != 1.0) || (count() > 4 && number(4) != 1.0))
    return {};
  Value v = matmul(tensor(1), tensor(2));
  if (!v)
    return {};
  return elementwise({v, tensor(0)},
                     [&](OpBuilder &inner, ValueRange x) -> Value {
                       return arith::AddFOp::create(inner, loc, x[0], x[1]);
                     });
}

Value Lowering::linear() {
  if (!tensor(0) || !tensor(1) || (!tensor(2) && !isNone(2)) ||
      !isActType(type()))
    return {};
  return LinearOp::create(*b, loc, type(), tensor(0), tensor(1),
                          tensor(2) ? tensor(2) : Value());
}

Value Lowering::softmax() {
  Value x = tensor(0);
  auto along = dimension(1, type().getRank());
  return x && along && typeOf(x) == type() && isActType(type())
             ? act::SoftmaxOp::create(*b, loc, type(), x, int64_t(*along))
                   .getResult()
             : Value();
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Value Lowering::attention() {
  Value q = tensor(0), k = tensor(1), v = tensor(2), mask = tensor(3);
  if (!q || !k || !v || (!mask && !isNone(3)) || number(4) != 0.0 ||
      typeOf(q).getRank() < 3 || !isActType(type()))
    return {};
  const unsigned rank = typeOf(q).getRank();
  const int64_t width = typeOf(q).getShape().back();
  const double scale = number(6).value_or(1 / std::sqrt(double(width)));
  // Heads of keys and values serve several of the queries.
  const int64_t heads = typeOf(q).getDimSize(rank - 3);
  for (Value *operand : {&k, &v}) {
    auto own = typeOf(*operand);
    if (own.getRank() != rank)
      return {};
    const int64_t few = own.getDimSize(rank - 3);
    if (few == heads)
      continue;
    if (number(7) != 1.0 || !few || heads % few)
      return {};
    SmallVector<int64_t> apart(own.getShape()), wide, joined(own.getShape());
    apart.insert(apart.begin() + rank - 2, 1);
    wide = apart;
    wide[rank - 2] = heads / few;
    joined[rank - 3] = heads;
    Maker make{*b, loc};
    *operand = make.reshaped(
        make.expanded(make.reshaped(*operand, apart), wide), joined);
  }
  SmallVector<int64_t> shape(typeOf(q).getShape());
  shape.back() = typeOf(k).getShape()[rank - 2];
  auto scores = RankedTensorType::get(shape, element());
  auto stack = [&](Value x) {
    auto own = typeOf(x).getShape();
    int64_t n = 1;
    for (int64_t size : own.drop_back(2))
      n *= size;
    Maker make{*b, loc};
    return make.reshaped(x, {n, own[rank - 2], own[rank - 1]});
  };
  Value q3 = stack(q), k3 = stack(k), v3 = stack(v);
  auto flat = RankedTensorType::get(
      {typeOf(q3).getDimSize(0), shape[rank - 2], shape[rank - 1]}, element());
  Value s = MatmulOp::create(*b, loc, flat, q3, k3, false, true);
  s = ScaleOp::create(*b, loc, flat, s, b->getF64FloatAttr(scale));
  s = ReshapeOp::create(*b, loc, scores, s);
  auto least = act::ConstantOp::create(
      *b, loc, RankedTensorType::get({}, element()), -INFINITY);
  if (number(5) == 1.0) {
    auto plain = RankedTensorType::get({shape[rank - 2], shape[rank - 1]},
                                       b->getI1Type());
    Value visible = CausalMaskOp::create(
        *b, loc, plain, IntegerAttr(),
        shape[rank - 2] == shape[rank - 1] ? UnitAttr() : b->getUnitAttr());
    s = act::SelectOp::create(*b, loc, scores, visible, s, least);
  }
  if (mask && typeOf(mask).getElementType().isInteger(1))
    s = act::SelectOp::create(*b, loc, scores, mask, s, least);
  else if (mask)
    s = act::AddOp::create(*b, loc, scores, s, mask);
  Value p = act::SoftmaxOp::create(*b, loc, scores, s, int64_t(rank) - 1);
  Value o = MatmulOp::create(
      *b, loc,
      RankedTensorType::get(
          {flat.getDimSize(0), shape[rank - 2], typeOf(v).getShape().back()},
          element()),
      ReshapeOp::create(*b, loc, flat, p), v3, false, false);
  return ReshapeOp::create(*b, loc, type(), o);
}

// (input, normalized_shape, weight, bias, eps, ...), of the last dimension
Value Lowering::layerNorm() {
  auto shape = integers(1);
  auto eps = number(4);
  if (!tensor(0) || !tensor(2) || !tensor(3) || !shape || shape->size() != 1 ||
      !eps || !isActType(type()))
    return {};
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    if (!op->getResult(i).use_empty())
      return {};
  return LayerNormOp::create(*b, loc, type(), Type(), Type(), tensor(0),
                             tensor(2), tensor(3), b->getF64FloatAttr(*eps))
      .getResult();
}

Value Lowering::embedding() {
  Value table = tensor(0), ids = tensor(1);
  if (!table || !ids || typeOf(table).getRank() != 2 ||
      typeOf(ids).getRank() + 1 != type().getRank() ||
      typeOf(ids).getShape() != type().getShape().drop_back() ||
      typeOf(table).getDimSize(1) != type().getShape().back() ||
      !isa<IntegerType>(typeOf(ids).getElementType()))
    return {};
  // Each id is repeated along the row.
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.push_back(1);
  Value wide = reshapedTensor(
      *b, loc, ids, RankedTensorType::get(shape, typeOf(ids).getElementType()));
  return elementwise(wide, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value row = arith::IndexCastOp::create(inner, loc, inner.getIndexType(),
                                           v[0]),
          column = linalg::IndexOp::create(inner, loc, type().getRank() - 1);
    return tensor::ExtractOp::create(inner, loc, table,
                                     ValueRange{row, column});
  });
}

Value Lowering::gathered() {
  Value table = tensor(0), ids = tensor(2);
  auto along = dimension(1, type().getRank());
  if (!table || !ids || !along || typeOf(table).getRank() != type().getRank() ||
      typeOf(ids).getRank() != type().getRank() ||
      !isa<IntegerType>(typeOf(ids).getElementType()))
    return {};
  return elementwise(ids, [&](OpBuilder &inner, ValueRange v) -> Value {
    SmallVector<Value> at;
    for (int64_t d = 0; d < type().getRank(); ++d)
      at.push_back(d == *along
                       ? arith::IndexCastOp::create(inner, loc,
                                                    inner.getIndexType(), v[0])
                             .getResult()
                       : linalg::IndexOp::create(inner, loc, d).getResult());
    return tensor::ExtractOp::create(inner, loc, table, at);
  });
}

// (input, pad, value): low and high of the last dimension first
Value Lowering::surrounded() {
  Value x = tensor(0);
  auto by = integers(1);
  auto n = isNone(2) ? std::optional(0.0) : number(2);
  const int64_t rank = type().getRank();
  if (!x || !by || !n || by->size() % 2 || int64_t(by->size()) > 2 * rank ||
      llvm::any_of(*by, [](int64_t size) { return size < 0; }))
    return {};
  SmallVector<OpFoldResult> low(rank, b->getIndexAttr(0)), high(low);
  for (unsigned i = 0; 2 * i < by->size(); ++i) {
    low[rank - 1 - i] = b->getIndexAttr((*by)[2 * i]);
    high[rank - 1 - i] = b->getIndexAttr((*by)[2 * i + 1]);
  }
  return tensor::PadOp::create(*b, loc, type(), x, low, high,
                               scalar(element(), *n));
}

/// Zeros, or another number, around the last two dimensions.
static Value padded(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> by,
                    Value number) {
  if (llvm::all_of(by, [](int64_t n) { return n == 0; }))
    return x;
  SmallVector<int64_t> shape(typeOf(x).getShape());
  SmallVector<OpFoldResult> around(2, b.getIndexAttr(0));
  for (unsigned i : {0u, 1u}) {
    shape[2 + i] += 2 * by[i];
    around.push_back(b.getIndexAttr(by[i]));
  }
  return tensor::PadOp::create(
      b, loc, RankedTensorType::get(shape, typeOf(x).getElementType()), x,
      around, around, number);
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups)
Value Lowering::convolved() {
  auto stride = integers(3), padding = integers(4), dilation = integers(5);
  if (!tensor(0) || !tensor(1) || (!tensor(2) && !isNone(2)) || !stride ||
      !padding || !dilation || type().getRank() != 4 || stride->size() != 2 ||
      padding->size() != 2 || dilation->size() != 2 || number(6) != 0.0 ||
      number(8) != 1.0 || !isa<FloatType>(element()))
    return {};
  Value input = padded(*b, loc, tensor(0), *padding, scalar(element(), 0));
  Value v = linalg::Conv2DNchwFchwOp::create(
                *b, loc, TypeRange(type()), ValueRange{input, tensor(1)},
                ValueRange(filled(type(), 0)), b->getI64TensorAttr(*stride),
                b->getI64TensorAttr(*dilation))
                .getResult(0);
  if (!tensor(2))
    return v;
  Maker make{*b, loc};
  Value bias = make.reshaped(tensor(2), {type().getDimSize(1), 1, 1});
  return elementwise({v, bias}, [&](OpBuilder &inner, ValueRange x) -> Value {
    return arith::AddFOp::create(inner, loc, x[0], x[1]);
  });
}

// (input, kernel_size, stride, padding, dilation, ceil_mode)
Value Lowering::pooled() {
  auto size = integers(1), stride = integers(2), padding = integers(3),
       dilation = integers(4);
  if (!tensor(0) || !size || !stride || !padding || !dilation ||
      type().getRank() != 4 || size->size() != 2 || padding->size() != 2 ||
      dilation->size() != 2 || number(5) != 0.0 || !isa<FloatType>(element()))
    return {};
  if (stride->empty())
    stride = size;
  Value input =
      padded(*b, loc, tensor(0), *padding, scalar(element(), -INFINITY));
  Value window = empty(RankedTensorType::get(*size, element()));
  return linalg::PoolingNchwMaxOp::create(
             *b, loc, TypeRange(type()), ValueRange{input, window},
             ValueRange(filled(type(), -INFINITY)),
             b->getI64TensorAttr(*stride), b->getI64TensorAttr(*dilation))
      .getResult(0);
}
