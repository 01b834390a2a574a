// SPDX-License-Identifier: Apache-2.0
//
// StableHLO's reductions, gathers, convolutions and pads.
#include "mlir/IR/Matchers.h"
#include "passes/raise/StableHloLowering.h"

using namespace mlir;
using namespace act::stablehlo;

template <typename Op>
static Value combined(OpBuilder &b, Location loc, Value x, Value y) {
  return Op::create(b, loc, x, y);
}

Lowering::Combiner Lowering::combiner() {
  if (op->getNumOperands() != 2 || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return nullptr;
  Block &body = op->getRegion(0).front();
  if (!llvm::hasNItems(body, 2) || body.getNumArguments() != 2)
    return nullptr;
  StringRef kind = body.front().getName().getStringRef();
  const bool isFloat = isa<FloatType>(element()),
             isBoolean = element().isInteger(1);
  if (kind == "stablehlo.add")
    return isFloat     ? combined<arith::AddFOp>
           : isBoolean ? combined<arith::OrIOp>
                       : combined<arith::AddIOp>;
  if (kind == "stablehlo.maximum")
    return isFloat     ? combined<arith::MaximumFOp>
           : isBoolean ? combined<arith::OrIOp>
                       : combined<arith::MaxSIOp>;
  if (kind == "stablehlo.minimum")
    return isFloat     ? combined<arith::MinimumFOp>
           : isBoolean ? combined<arith::AndIOp>
                       : combined<arith::MinSIOp>;
  if (kind == "stablehlo.and" && isBoolean)
    return combined<arith::AndIOp>;
  if (kind == "stablehlo.or" && isBoolean)
    return combined<arith::OrIOp>;
  if (kind == "stablehlo.multiply" && isFloat)
    return combined<arith::MulFOp>;
  return nullptr;
}

Value Lowering::scalarOf(Value tensor) {
  if (cast<RankedTensorType>(tensor.getType()).getRank() != 0)
    return {};
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, loc,
                                     constant.getSplatValue<TypedAttr>());
  return tensor::ExtractOp::create(b, loc, tensor, ValueRange());
}

Value Lowering::reduced() {
  auto along = integersOf(op, "dimensions");
  Combiner combine = combiner();
  auto from = op->getNumOperands()
                  ? cast<RankedTensorType>(op->getOperand(0).getType())
                  : RankedTensorType();
  if (!along || !combine || !areDimensions(*along, from.getRank()) ||
      from.getRank() - int64_t(along->size()) != rank() ||
      from.getElementType() != element())
    return {};
  Value start = scalarOf(op->getOperand(1));
  if (!start || start.getType() != element())
    return {};
  Value init = linalg::FillOp::create(b, loc, ValueRange(start),
                                      ValueRange(empty(type())))
                   .getResult(0);
  llvm::sort(*along);
  return linalg::ReduceOp::create(
             b, loc, ValueRange(op->getOperand(0)), ValueRange(init), *along,
             [&](OpBuilder &inner, Location at, ValueRange v) {
               linalg::YieldOp::create(
                   inner, at, ValueRange(combine(inner, at, v[0], v[1])));
             })
      ->getResult(0);
}

Value Lowering::paddedBy(Value v, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                         Value number) {
  auto from = cast<RankedTensorType>(v.getType());
  if (size_t(from.getRank()) != low.size())
    return {};
  SmallVector<int64_t> shape(from.getShape());
  SmallVector<OpFoldResult> below, above;
  bool isPadded = false;
  for (auto [size, l, h] : llvm::zip_equal(shape, low, high)) {
    size += l + h;
    isPadded |= l || h;
    below.push_back(b.getIndexAttr(l));
    above.push_back(b.getIndexAttr(h));
  }
  if (!isPadded)
    return v;
  return tensor::PadOp::create(
      b, loc, RankedTensorType::get(shape, from.getElementType()), v, below,
      above, number);
}

Value Lowering::padded() {
  auto low = integersOf(op, "edge_padding_low"),
       high = integersOf(op, "edge_padding_high"),
       inside = integersOf(op, "interior_padding");
  auto isNegative = [](int64_t n) { return n < 0; };
  if (!low || !high || !inside || low->size() != high->size() ||
      int64_t(low->size()) != rank() || llvm::any_of(*low, isNegative) ||
      llvm::any_of(*high, isNegative) ||
      llvm::any_of(*inside, [](int64_t n) { return n != 0; }) ||
      op->getNumOperands() != 2)
    return {};
  Value number = scalarOf(op->getOperand(1));
  return number && number.getType() == element()
             ? paddedBy(op->getOperand(0), *low, *high, number)
             : Value();
}

/// The lists of `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`.
static SmallVector<SmallVector<StringRef>> dimensionLists(StringRef text) {
  SmallVector<SmallVector<StringRef>> lists;
  while (text.contains('[')) {
    auto [list, rest] = text.split('[').second.split(']');
    SmallVector<StringRef> names;
    list.split(names, ',');
    for (StringRef &name : names)
      name = name.trim();
    lists.push_back(names);
    text = rest;
  }
  return lists;
}

static bool allAre(const std::optional<SmallVector<int64_t>> &numbers,
                   int64_t n) {
  return !numbers || llvm::all_of(*numbers, [&](int64_t i) { return i == n; });
}

/// Numbers of this count, each at least `least`, and not so large that their
/// products overflow.
static bool areSizes(ArrayRef<int64_t> numbers, int64_t count, int64_t least) {
  return int64_t(numbers.size()) == count &&
         llvm::all_of(numbers, [&](int64_t n) {
           return n >= least && n < int64_t(1) << 24;
         });
}

static bool haveRank(ValueRange tensors, int64_t rank) {
  return llvm::all_of(tensors, [&](Value v) {
    return cast<RankedTensorType>(v.getType()).getRank() == rank;
  });
}

static bool isReversed(Attribute reversal) {
  auto list = dyn_cast_or_null<DenseBoolArrayAttr>(reversal);
  return list && llvm::is_contained(list.asArrayRef(), true);
}

Value Lowering::convolved() {
  auto lists = dimensionLists(textOf(attributeOf(op, "dimension_numbers")));
  auto strides = integersOf(op, "window_strides"),
       padding = integersOf(op, "padding"),
       dilation = integersOf(op, "rhs_dilation");
  auto count = [&](StringRef name) {
    auto n = dyn_cast_or_null<IntegerAttr>(attributeOf(op, name));
    return n ? n.getInt() : 1;
  };
  const int64_t spatial = rank() - 2;
  if (lists.size() != 3 || spatial < 1 || op->getNumOperands() != 2 ||
      llvm::any_of(
          lists, [&](auto &l) { return int64_t(l.size()) != rank(); }) ||
      count("feature_group_count") != 1 || count("batch_group_count") != 1 ||
      !allAre(integersOf(op, "lhs_dilation"), 1) ||
      !isa<FloatType>(element()) ||
      isReversed(attributeOf(op, "window_reversal")))
    return {};
  if (!strides)
    strides = SmallVector<int64_t>(spatial, 1);
  if (!dilation)
    dilation = SmallVector<int64_t>(spatial, 1);
  if (!padding)
    padding = SmallVector<int64_t>(2 * spatial, 0);
  if (!areSizes(*padding, 2 * spatial, 0) || !areSizes(*strides, spatial, 1) ||
      !areSizes(*dilation, spatial, 1) || !haveRank(op->getOperands(), rank()))
    return {};
  // The result's dimensions, the summed feature, and the window's.
  unsigned next = rank();
  const unsigned feature = next++;
  SmallVector<utils::IteratorType> kinds(rank(), utils::IteratorType::parallel);
  kinds.resize(rank() + 1 + spatial, utils::IteratorType::reduction);
  llvm::StringMap<AffineExpr> out;
  for (auto [d, name] : llvm::enumerate(lists[2]))
    out[name] = b.getAffineDimExpr(d);
  SmallVector<AffineExpr> left, right, result;
  SmallVector<int64_t> low(rank()), high(rank());
  for (auto [d, name] : llvm::enumerate(lists[0])) {
    int64_t k;
    if (name == "b") {
      left.push_back(out["b"]);
    } else if (name == "f") {
      left.push_back(b.getAffineDimExpr(feature));
    } else if (!name.getAsInteger(10, k) && k >= 0 && k < spatial &&
               out[name]) {
      left.push_back(out[name] * (*strides)[k] +
                     b.getAffineDimExpr(next + k) * (*dilation)[k]);
      low[d] = (*padding)[2 * k];
      high[d] = (*padding)[2 * k + 1];
    } else {
      return {};
    }
  }
  for (StringRef name : lists[1]) {
    int64_t k;
    if (name == "o")
      right.push_back(out["f"]);
    else if (name == "i")
      right.push_back(b.getAffineDimExpr(feature));
    else if (!name.getAsInteger(10, k) && k >= 0 && k < spatial)
      right.push_back(b.getAffineDimExpr(next + k));
    else
      return {};
  }
  for (unsigned d = 0; d < rank(); ++d)
    result.push_back(b.getAffineDimExpr(d));
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs :
       {ArrayRef(left), ArrayRef(right), ArrayRef(result)}) {
    if (llvm::is_contained(exprs, AffineExpr()))
      return {};
    maps.push_back(AffineMap::get(kinds.size(), 0, exprs, op->getContext()));
  }
  Value zero = number(element(), 0);
  for (Value v : op->getOperands())
    if (cast<RankedTensorType>(v.getType()).getElementType() != element())
      return {};
  Value input = paddedBy(op->getOperand(0), low, high, zero);
  Value init = linalg::FillOp::create(b, loc, ValueRange(zero),
                                      ValueRange(empty(type())))
                   .getResult(0);
  return linalg::GenericOp::create(
             b, loc, TypeRange(type()), ValueRange{input, op->getOperand(1)},
             ValueRange(init), maps, kinds,
             [&](OpBuilder &inner, Location at, ValueRange v) {
               Value m = arith::MulFOp::create(inner, at, v[0], v[1]);
               linalg::YieldOp::create(
                   inner, at,
                   ValueRange(arith::AddFOp::create(inner, at, v[2], m)));
             })
      .getResult(0);
}

Value Lowering::windowReduced() {
  auto sizes = integersOf(op, "window_dimensions"),
       strides = integersOf(op, "window_strides"),
       padding = integersOf(op, "padding"),
       dilation = integersOf(op, "window_dilations");
  Combiner combine = combiner();
  if (!sizes || !combine || !allAre(integersOf(op, "base_dilations"), 1))
    return {};
  if (!strides)
    strides = SmallVector<int64_t>(rank(), 1);
  if (!dilation)
    dilation = SmallVector<int64_t>(rank(), 1);
  if (!padding)
    padding = SmallVector<int64_t>(2 * rank(), 0);
  if (!areSizes(*padding, 2 * rank(), 0) || !areSizes(*strides, rank(), 1) ||
      !areSizes(*dilation, rank(), 1) || !areSizes(*sizes, rank(), 1) ||
      !haveRank(op->getOperand(0), rank()))
    return {};
  SmallVector<int64_t> low, high, window;
  SmallVector<AffineExpr> in, along;
  for (unsigned d = 0; d < rank(); ++d) {
    low.push_back((*padding)[2 * d]);
    high.push_back((*padding)[2 * d + 1]);
    AffineExpr e = b.getAffineDimExpr(d) * (*strides)[d];
    if ((*sizes)[d] != 1) {
      along.push_back(b.getAffineDimExpr(rank() + window.size()));
      e = e + along.back() * (*dilation)[d];
      window.push_back((*sizes)[d]);
    }
    in.push_back(e);
  }
  SmallVector<utils::IteratorType> kinds(rank(), utils::IteratorType::parallel);
  kinds.resize(rank() + window.size(), utils::IteratorType::reduction);
  const unsigned loops = kinds.size();
  Value start = scalarOf(op->getOperand(1));
  if (!start || start.getType() != element() ||
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType() !=
          element())
    return {};
  Value init = linalg::FillOp::create(b, loc, ValueRange(start),
                                      ValueRange(empty(type())))
                   .getResult(0);
  // As in upstream's pooling ops, a tensor says how large windows are.
  Value shape = tensor::EmptyOp::create(b, loc, window, element());
  return linalg::GenericOp::create(
             b, loc, TypeRange(type()),
             ValueRange{paddedBy(op->getOperand(0), low, high, start), shape},
             ValueRange(init),
             ArrayRef<AffineMap>{
                 AffineMap::get(loops, 0, in, op->getContext()),
                 AffineMap::get(loops, 0, along, op->getContext()),
                 AffineMap::getMultiDimIdentityMap(loops, op->getContext())
                     .getMajorSubMap(rank())},
             kinds,
             [&](OpBuilder &inner, Location at, ValueRange v) {
               linalg::YieldOp::create(
                   inner, at, ValueRange(combine(inner, at, v[0], v[2])));
             })
      .getResult(0);
}

// A row of indices for each element of the result without its offset
// dimensions, which are those of the slices. A slice is one element along a
// dimension, or all of it: other slices would begin inside.
Value Lowering::gathered() {
  StringRef text = textOf(attributeOf(op, "dimension_numbers"));
  auto sizes = integersOf(op, "slice_sizes");
  if (!text.starts_with("gather<") || !sizes || op->getNumOperands() != 2)
    return {};
  auto table = cast<RankedTensorType>(op->getOperand(0).getType()),
       starts = cast<RankedTensorType>(op->getOperand(1).getType());
  auto offsets = integersIn(text, "offset_dims"),
       collapsed = integersIn(text, "collapsed_slice_dims"),
       mapped = integersIn(text, "start_index_map"),
       batches = integersIn(text, "operand_batching_dims"),
       startBatches = integersIn(text, "start_indices_batching_dims");
  int64_t vectorDim = 0;
  // A dimension 0 is not printed.
  (void)text.split("index_vector_dim = ")
      .second.take_while(llvm::isDigit)
      .getAsInteger(10, vectorDim);
  if (vectorDim < 0 || !areDimensions(offsets, rank()) ||
      !areDimensions(collapsed, table.getRank()) ||
      !areDimensions(mapped, table.getRank()) ||
      !areDimensions(batches, table.getRank()) ||
      !areDimensions(startBatches, starts.getRank()) ||
      llvm::is_contained(startBatches, vectorDim) ||
      table.getElementType() != element())
    return {};
  const bool hasVector = vectorDim < starts.getRank();
  if (int64_t(sizes->size()) != table.getRank() ||
      !isa<IntegerType>(starts.getElementType()) ||
      batches.size() != startBatches.size() ||
      (hasVector ? starts.getDimSize(vectorDim) : 1) != int64_t(mapped.size()))
    return {};
  SmallVector<unsigned> rows; // the result's dimensions that are not offsets
  for (unsigned d = 0; d < rank(); ++d)
    if (!llvm::is_contained(offsets, int64_t(d)))
      rows.push_back(d);
  if (int64_t(rows.size()) != starts.getRank() - (hasVector ? 1 : 0))
    return {};
  // Of dimension d of the starts, the result's.
  auto rowOf = [&](int64_t d) {
    return rows[d - (hasVector && d > vectorDim ? 1 : 0)];
  };
  // The starts along each mapped dimension, as an operand of its own.
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (auto [k, d] : llvm::enumerate(mapped)) {
    Value own = op->getOperand(1);
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < starts.getRank(); ++i)
      exprs.push_back(hasVector && i == vectorDim
                          ? b.getAffineConstantExpr(0)
                          : b.getAffineDimExpr(rowOf(i)));
    if (mapped.size() > 1) {
      auto concat = own.getDefiningOp<tensor::ConcatOp>();
      if (concat && int64_t(concat.getDim()) == vectorDim &&
          concat.getNumOperands() == mapped.size()) {
        own = concat.getOperand(k);
      } else {
        SmallVector<OpFoldResult> begin, size, step;
        for (int64_t i = 0; i < starts.getRank(); ++i) {
          begin.push_back(b.getIndexAttr(i == vectorDim ? int64_t(k) : 0));
          size.push_back(
              b.getIndexAttr(i == vectorDim ? 1 : starts.getDimSize(i)));
          step.push_back(b.getIndexAttr(1));
        }
        own = tensor::ExtractSliceOp::create(b, loc, own, begin, size, step);
      }
    }
    operands.push_back(own);
    maps.push_back(AffineMap::get(rank(), 0, exprs, op->getContext()));
  }
  // What each dimension of the table is read at.
  struct Index {
    std::optional<unsigned> start, loop;
  };
  SmallVector<Index> at;
  unsigned offset = 0;
  for (int64_t d = 0; d < table.getRank(); ++d) {
    Index index;
    const int64_t size = (*sizes)[d];
    const auto *batch = llvm::find(batches, d);
    const bool isOffset =
        !llvm::is_contained(collapsed, d) && batch == batches.end();
    if (isOffset && offset >= offsets.size())
      return {};
    const unsigned own = isOffset ? offsets[offset++] : 0;
    if (batch != batches.end())
      index.loop = rowOf(startBatches[batch - batches.begin()]);
    else if (size == table.getDimSize(d) && isOffset)
      index.loop = own; // a start is clamped to 0
    else if (size == 1 && llvm::is_contained(mapped, d))
      index.start = llvm::find(mapped, d) - mapped.begin();
    else if (size != 1 || table.getDimSize(d) != 1)
      return {};
    at.push_back(index);
  }
  return map(operands, maps, [&](OpBuilder &inner, ValueRange v) -> Value {
    SmallVector<Value> indices;
    for (const Index &index : at) {
      Value i;
      if (index.start)
        i = arith::IndexCastOp::create(inner, loc, inner.getIndexType(),
                                       v[*index.start]);
      else if (index.loop)
        i = linalg::IndexOp::create(inner, loc, *index.loop);
      else
        i = arith::ConstantIndexOp::create(inner, loc, 0);
      indices.push_back(i);
    }
    return tensor::ExtractOp::create(inner, loc, op->getOperand(0), indices);
  });
}
