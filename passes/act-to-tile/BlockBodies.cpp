// SPDX-License-Identifier: Apache-2.0
// Evaluates the body of a linalg.generic on blocks.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/act-to-tile/BlockEvaluator.h"

using namespace mlir;
using namespace act::tile;

FailureOr<Coordinate> BlockEvaluator::at(AffineExpr expr, const Place &loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Coordinate{nullptr, constant.getValue(), -1};
  return failure();
}

// The blocks of the first `count` operands at the coordinates that the indexing
// maps give. This is the recursion of evaluate(): operands that are computed
// are computed here.
FailureOr<BlockEvaluator::Operands>
BlockEvaluator::operands(linalg::GenericOp op, const Place &loops,
                         unsigned count) {
  Operands out;
  for (const Coordinate &c : loops)
    if (c.axis >= 0)
      out.axes.push_back(c.axis);
  for (unsigned i = 0; i < count; ++i) {
    OpOperand &operand = op->getOpOperand(i);
    if (!isa<RankedTensorType>(operand.get().getType())) {
      out.blocks.push_back({scalarOf(operand.get()), {}});
      continue;
    }
    Place place;
    for (AffineExpr e : op.getMatchingIndexingMap(&operand).getResults()) {
      auto c = at(e, loops);
      if (failed(c))
        return op.emitOpError()
               << "reads operand " << i
               << " at a sum of loop indices, expected a single loop index";
      place.push_back(*c);
    }
    auto block = evaluate(operand.get(), place);
    if (failed(block))
      return failure();
    out.blocks.push_back(*block);
  }
  return out;
}

FailureOr<BlockEvaluator::Body> BlockEvaluator::bodyOf(linalg::GenericOp op,
                                                       const Place &loops) {
  auto in = operands(op, loops, op.getNumDpsInputs());
  if (failed(in))
    return failure();
  Body body;
  body.axes = in->axes;
  for (auto [argument, block] :
       llvm::zip(op.getBody()->getArguments(), in->blocks))
    body.values[argument] = block;
  return body;
}

/// An op of the body on blocks. Scalars give a scalar, blocks a block along all
/// axes of the operands, and only those: the reciprocal of a row's sum is
/// computed once per row, however wide the row is.
LogicalResult BlockEvaluator::bodyOp(Operation *op,
                                     DenseMap<Value, BlockValue> &values,
                                     const Place &loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    const Coordinate &c = loops[index.getDim()];
    SmallVector<int> along;
    if (c.axis >= 0)
      along.push_back(c.axis);
    Value own = atLevel(levelOf(Place{c}), [&] { return numbers(c); });
    values[index] = {own, along};
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    values[constant] = {
        atLevel(0,
                [&]() -> Value {
                  if (!constant.getType().isIndex())
                    return b.clone(*op)->getResult(0);
                  return arith::ConstantIntOp::create(
                      b, loc, b.getI64Type(),
                      cast<IntegerAttr>(constant.getValue()).getInt());
                }),
        {}};
    return success();
  }
  SmallVector<BlockValue> blocks;
  size_t level = 0;
  for (Value v : op->getOperands()) {
    if (isa<RankedTensorType>(v.getType())) { // source of an extract
      blocks.push_back({});
      continue;
    }
    auto it = values.find(v);
    blocks.push_back(it != values.end() ? it->second
                                        : BlockValue{scalarOf(v), {}});
    level = std::max(level, levelOf(blocks.back().value));
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    auto v = gather(extract, ArrayRef(blocks).drop_front(), loops);
    if (succeeded(v))
      values[extract] = *v;
    return v;
  }
  if (!op->hasTrait<OpTrait::Elementwise>() &&
      !isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return op->emitOpError("cannot be lowered to blocks");
  SmallVector<int> onto;
  for (const Coordinate &c : loops)
    if (c.axis >= 0 && !llvm::is_contained(onto, c.axis) &&
        llvm::any_of(blocks, [&](const BlockValue &v) {
          return llvm::is_contained(v.axes, c.axis);
        }))
      onto.push_back(c.axis);
  for (auto [v, made] :
       llvm::zip(op->getResults(), atLevel(level, [&] { // as early as possible
                   return elementwise(op, blocks, onto);
                 })))
    values[v] = {made, onto};
  return success();
}

SmallVector<Value> BlockEvaluator::elementwise(Operation *op,
                                               ArrayRef<BlockValue> blocks,
                                               ArrayRef<int> onto) {
  SmallVector<int64_t> shape;
  for (int a : onto)
    shape.push_back(axes[a].extent);
  SmallVector<Value> operands;
  for (const BlockValue &v : blocks)
    operands.push_back(spread(v, onto));
  SmallVector<Type> types;
  for (Type t : op->getResultTypes())
    types.push_back(
        shape.empty() ? registerElement(t)
                      : Type(RankedTensorType::get(shape, registerElement(t))));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    // An index is an i64 here.
    Value v = operands[0];
    unsigned from = registerElement(v.getType()).getIntOrFloatBitWidth(),
             to = registerElement(types[0]).getIntOrFloatBitWidth();
    if (from < to)
      v = isa<arith::IndexCastOp>(op)
              ? Value(arith::ExtSIOp::create(b, loc, types[0], v))
              : Value(arith::ExtUIOp::create(b, loc, types[0], v));
    else if (from > to)
      v = arith::TruncIOp::create(b, loc, types[0], v);
    return {v};
  }
  OperationState state(op->getLoc(), op->getName(), operands, types);
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return SmallVector<Value>(b.create(state)->getResults());
}

/// Gathers elements of an argument at computed indices. A computed index is a
/// block along one axis. If two share an axis, or one has two, the tensor is
/// read as the flat row that it is in memory.
///
///   %v = tensor.extract %table[%id, %j]     %id computed along I, %j along J
///   a load of rows %id and columns J, a block {I, J}
FailureOr<BlockValue> BlockEvaluator::gather(tensor::ExtractOp op,
                                             ArrayRef<BlockValue> computed,
                                             const Place &loops) {
  Value argument = argumentBehind(op.getTensor());
  Value pointer = argument ? pointers.lookup(argument) : Value();
  DenseElementsAttr values;
  if (matchPattern(op.getTensor(), m_Constant(&values)) &&
      computed.size() == 1 && values.getNumElements() <= maxTable)
    return pick(values, computed[0]);
  if (!pointer)
    return op->emitOpError(
        "gathers from a computed tensor, expected an argument");
  RankedTensorType type = op.getTensor().getType();
  SmallVector<Value> indices;
  SmallVector<int64_t> extents;
  BlockValue out;
  bool apart = true;
  for (auto [i, v] : llvm::zip(op.getIndices(), computed)) {
    if (auto own = i.getDefiningOp<linalg::IndexOp>()) {
      const Coordinate &c = loops[own.getDim()];
      indices.push_back(indexOf(c));
      extents.push_back(c.axis < 0 ? -1 : axes[c.axis].extent);
    } else {
      indices.push_back(v.value);
      extents.push_back(v.axes.empty() ? -1 : axes[v.axes[0]].extent);
    }
    apart &= v.axes.size() <= 1 && llvm::none_of(v.axes, [&](int a) {
               return llvm::is_contained(out.axes, a);
             });
    for (int a : v.axes)
      if (!llvm::is_contained(out.axes, a))
        out.axes.push_back(a);
  }
  if (apart) {
    out.value = LoadOp::create(b, loc, viewOf(type, pointer), indices, extents);
    return out;
  }
  if (out.axes.size() != 1)
    return op->emitOpError("gathers along two axes at once");
  int64_t stride = 1;
  Value at;
  auto i64Of = [&](Value v) -> Value {
    if (v.getType().isIndex())
      v = arith::IndexCastOp::create(b, loc, b.getI64Type(), v);
    return v;
  };
  auto block =
      RankedTensorType::get({axes[out.axes[0]].extent}, b.getI64Type());
  for (size_t d = computed.size(); d-- > 0;) {
    Value v = spread({i64Of(computed[d].value), computed[d].axes}, out.axes);
    if (getElementTypeOrSelf(v.getType()) != b.getI64Type())
      v = arith::ExtSIOp::create(b, loc, block, v);
    if (stride != 1)
      v = arith::MulIOp::create(
          b, loc, v,
          arith::ConstantOp::create(
              b, loc,
              DenseElementsAttr::get(block, b.getI64IntegerAttr(stride))));
    at = at ? Value(arith::AddIOp::create(b, loc, at, v)) : v;
    stride *= type.getDimSize(d);
  }
  auto row = RankedTensorType::get({stride}, type.getElementType());
  int64_t extent = block.getDimSize(0);
  out.value = LoadOp::create(b, loc, viewOf(row, pointer), ValueRange{at},
                             ArrayRef<int64_t>{extent});
  return out;
}

/// A lookup table in a constant, by comparisons.
BlockValue BlockEvaluator::table(DenseElementsAttr values, const Place &place) {
  SmallVector<int> along;
  for (const Coordinate &c : place)
    if (c.axis >= 0)
      along.push_back(c.axis);
  auto number = [&](TypedAttr n) {
    return spread({arith::ConstantOp::create(b, loc, n), {}}, along);
  };
  // The element's linear index in memory order.
  Value at = number(b.getI64IntegerAttr(0));
  int64_t stride = 1;
  for (size_t d = place.size(); d-- > 0;) {
    SmallVector<int> own;
    if (place[d].axis >= 0)
      own.push_back(place[d].axis);
    Value v = spread({numbers(place[d]), own}, along);
    v = arith::MulIOp::create(b, loc, v, number(b.getI64IntegerAttr(stride)));
    at = arith::AddIOp::create(b, loc, at, v);
    stride *= values.getType().getShape()[d];
  }
  return pick(values, {at, along});
}

// As a chain of selects, because registers cannot be indexed.
BlockValue BlockEvaluator::pick(DenseElementsAttr values, BlockValue at) {
  auto number = [&](TypedAttr n) {
    return spread({arith::ConstantOp::create(b, loc, n), {}}, at.axes);
  };
  Value picked;
  for (auto [i, value] : llvm::enumerate(values.getValues<TypedAttr>())) {
    if (!picked) {
      picked = number(value);
      continue;
    }
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at.value,
                              number(b.getI64IntegerAttr(i)));
    picked = arith::SelectOp::create(b, loc, here, number(value), picked);
  }
  return {picked, at.axes};
}

// The loops that the result's place does not determine are reduced. Two blocked
// dimensions of a sum of products make a product for tensor cores; with one, it
// is a reduction like any other.
FailureOr<BlockValue> BlockEvaluator::generic(linalg::GenericOp op,
                                              unsigned result,
                                              const Place &place) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  Place loops(op.getNumLoops());
  std::vector<bool> covered(loops.size());
  for (auto [e, c] : llvm::zip(map.getResults(), place)) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (!dim)
      return op.emitOpError("writes its result at a sum of loop indices, "
                            "expected a single loop index");
    loops[dim.getPosition()] = c;
    covered[dim.getPosition()] = true;
  }
  SmallVector<unsigned> reduced;
  for (unsigned d = 0; d < loops.size(); ++d)
    if (!covered[d])
      reduced.push_back(d);
  if (!reduced.empty()) {
    if (op.getNumResults() != 1)
      return op.emitOpError("reduces several results at once");
    int blocks =
        llvm::count_if(loops, [](const Coordinate &c) { return c.axis >= 0; });
    return blocks == 2 && factorsOf(op) ? product(op, loops, reduced)
                                        : reduce(op, loops, reduced);
  }
  unsigned inputs = op.getNumDpsInputs();
  auto body = bodyOf(op, loops);
  if (failed(body))
    return failure();
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    BlockArgument running = op.getBody()->getArgument(inputs + i);
    if (running.use_empty())
      continue;
    auto v =
        evaluate(op.getDpsInitOperand(i)->get(), placeOfInit(op, i, loops));
    if (failed(v))
      return failure();
    body->values[running] = *v;
  }
  for (Operation &inner : op.getBody()->without_terminator())
    if (failed(bodyOp(&inner, body->values, loops)))
      return failure();
  return body->of(op.getBody()->getTerminator()->getOperand(result), *this);
}
