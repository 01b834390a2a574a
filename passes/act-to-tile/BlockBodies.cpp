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
    return Coordinate{nullptr, constant.getValue(), -1, nullptr, {}};
  auto both = cast<AffineBinaryOpExpr>(expr);
  auto lhs = at(both.getLHS(), loops), rhs = at(both.getRHS(), loops);
  if (failed(lhs) || failed(rhs))
    return failure();
  if (expr.getKind() == AffineExprKind::Add)
    return combined(Arithmetic::Add, *lhs, *rhs);
  if (expr.getKind() == AffineExprKind::Mul)
    return combined(Arithmetic::Mul, *lhs, *rhs);
  return failure();
}

// The blocks of the first `count` operands at the coordinates that the indexing
// maps give. This is the recursion of evaluate(): operands that are computed
// are computed here.
FailureOr<BlockEvaluator::Operands>
BlockEvaluator::operands(linalg::GenericOp op, const Place &loops,
                         unsigned count) {
  Operands out;
  out.axes = axesOf(loops);
  for (unsigned i = 0; i < count; ++i) {
    OpOperand &operand = op->getOpOperand(i);
    // Of a pooling's window only the shape is read.
    if (op.getMatchingBlockArgument(&operand).use_empty()) {
      out.blocks.push_back({});
      continue;
    }
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
               << " at a quotient or remainder of loop indices";
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
    values[index] = numbers(loops[index.getDim()]);
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
  SmallVector<int> onto = axesOf(loops);
  llvm::erase_if(onto, [&](int axis) {
    return llvm::none_of(blocks, [&](const BlockValue &v) {
      return llvm::is_contained(v.axes, axis);
    });
  });
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

/// Gathers elements at indices that the body computes. From rows of an argument
/// it is one load of rows:
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
  // Rows and columns of an argument, each along an axis of its own.
  BlockValue out;
  bool isOfRows = pointer != nullptr;
  for (const BlockValue &v : computed)
    for (int axis : v.axes) {
      isOfRows &= v.axes.size() == 1 && !llvm::is_contained(out.axes, axis);
      if (!llvm::is_contained(out.axes, axis))
        out.axes.push_back(axis);
    }
  SmallVector<Value> indices;
  SmallVector<int64_t> extents;
  Place place;
  for (auto [i, v] : llvm::zip(op.getIndices(), computed)) {
    auto own = i.getDefiningOp<linalg::IndexOp>();
    const bool isPlain = own && !loops[own.getDim()].computed;
    extents.push_back(v.axes.empty() ? -1 : axes[v.axes[0]].extent);
    if (isOfRows) {
      indices.push_back(isPlain ? indexOf(loops[own.getDim()]) : v.value);
      continue;
    }
    if (isPlain) {
      place.push_back(loops[own.getDim()]);
      continue;
    }
    Value number = v.value;
    Type element = getElementTypeOrSelf(number.getType()),
         wide = b.getI64Type();
    if (element.isIndex())
      number = arith::IndexCastOp::create(b, loc, wide, number);
    else if (element != wide)
      number = arith::ExtSIOp::create(
          b, loc,
          v.axes.empty() ? wide
                         : cast<ShapedType>(number.getType()).clone(wide),
          number);
    place.push_back(this->computed({number, v.axes}));
  }
  if (!isOfRows)
    return evaluate(op.getTensor(), place);
  out.value = LoadOp::create(b, loc, viewOf(op.getTensor().getType(), pointer),
                             indices, extents);
  return out;
}

/// A lookup table in a constant, by comparisons.
BlockValue BlockEvaluator::table(DenseElementsAttr values, const Place &place) {
  SmallVector<int> along = axesOf(place);
  auto number = [&](TypedAttr n) {
    return spread({arith::ConstantOp::create(b, loc, n), {}}, along);
  };
  // The element's linear index in memory order.
  Value at = number(b.getI64IntegerAttr(0));
  int64_t stride = 1;
  for (size_t d = place.size(); d-- > 0;) {
    Value v = spread(numbers(place[d]), along);
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

/// Whether a sum of products has a block of rows of one factor and columns of
/// the other: a product for tensor cores. The pixels of a convolution may be
/// along both axes, in the same factor; it is then a sum like any other.
static bool isProduct(linalg::GenericOp op, const Place &loops) {
  if (!factorsOf(op) || axesOf(loops).size() != 2)
    return false;
  int sides[2] = {-1, -1};
  for (auto [d, c] : llvm::enumerate(loops)) {
    if (c.axis < 0 && !c.computed)
      continue;
    bool of[2];
    for (int i : {0, 1})
      of[i] = op.getIndexingMapsArray()[i].isFunctionOfDim(d);
    if (c.computed || of[0] == of[1] || sides[of[1]] >= 0)
      return false;
    sides[of[1]] = c.axis;
  }
  return sides[0] >= 0 && sides[1] >= 0 && sides[0] != sides[1];
}

// The loops that the result's place does not determine are reduced.
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
    return isProduct(op, loops) ? product(op, loops, reduced)
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
