// SPDX-License-Identifier: Apache-2.0
//
// Clones an operation's body for several neighbouring points at once. Values
// are evaluated on demand, from the yielded ones back to the operands, and once
// each.
#include "passes/groups-to-host/HostVectorizer.h"
#include "passes/groups-to-host/Passes.h"

using namespace mlir;
using act::BodyEvaluator;
using act::Lanes;

namespace {

/// expr(d + 1) - expr(d) when that is a constant.
std::optional<int64_t> stepAlong(AffineExpr expr, unsigned dim,
                                 unsigned numDims) {
  MLIRContext *context = expr.getContext();
  AffineExpr d = getAffineDimExpr(dim, context);
  AffineExpr difference =
      simplifyAffineExpr(expr.replace(d, d + 1) - expr, numDims, 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(difference))
    return constant.getValue();
  return std::nullopt;
}

bool unitStride(Value memref) {
  return cast<MemRefType>(memref.getType()).isLastDimUnitStride();
}

/// The scalar value of an affine expression, with plain arithmetic.
Value expand(OpBuilder &builder, Location loc, AffineExpr expr,
             ArrayRef<Value> ivs) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ivs[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  return affine::makeComposedAffineApply(builder, loc,
                                         AffineMap::get(ivs.size(), 0, expr),
                                         getAsOpFoldResult(ivs));
}

} // namespace

// A subscript that grows by 1 from lane to lane stays a scalar, Counting: the
// access is then one vector. Any other that changes has a value per lane.
SmallVector<Lanes> BodyEvaluator::subscripts(AffineMap map) {
  SmallVector<Lanes> result;
  Location loc = op.getLoc();
  for (AffineExpr expr : map.getResults()) {
    Value base = expand(builder, loc, expr, ivs);
    if (laneDim < 0 || width == 1 || !expr.isFunctionOfDim(laneDim)) {
      result.push_back({Lanes::Uniform, base});
      continue;
    }
    if (stepAlong(expr, laneDim, ivs.size()) == 1) {
      result.push_back({Lanes::Counting, base});
      continue;
    }
    SmallVector<Value> each;
    for (int64_t i = 0; i < width; ++i) {
      SmallVector<Value> shifted(ivs);
      Value offset = arith::ConstantIndexOp::create(builder, loc, i);
      shifted[laneDim] =
          arith::AddIOp::create(builder, loc, ivs[laneDim], offset);
      each.push_back(expand(builder, loc, expr, shifted));
    }
    result.push_back(
        {Lanes::Varying,
         vector::FromElementsOp::create(
             builder, loc, VectorType::get({width}, builder.getIndexType()),
             each)});
  }
  return result;
}

Value BodyEvaluator::lane(Lanes lanes, int64_t index) {
  Location loc = op.getLoc();
  if (lanes.kind == Lanes::Uniform)
    return lanes.value;
  if (lanes.kind == Lanes::Varying)
    return vector::ExtractOp::create(builder, loc, lanes.value, index);
  Value offset =
      lanes.value.getType().isIndex()
          ? arith::ConstantIndexOp::create(builder, loc, index).getResult()
          : arith::ConstantIntOp::create(builder, loc, lanes.value.getType(),
                                         index)
                .getResult();
  return arith::AddIOp::create(builder, loc, lanes.value, offset);
}

Value BodyEvaluator::toVector(Lanes lanes) {
  if (width == 1 || lanes.kind == Lanes::Varying)
    return lanes.value;
  Location loc = op.getLoc();
  Type element = lanes.value.getType();
  auto type = VectorType::get({width}, element);
  Value splat = vector::BroadcastOp::create(builder, loc, type, lanes.value);
  if (lanes.kind == Lanes::Uniform)
    return splat;
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < width; ++i)
    steps.push_back(builder.getIntegerAttr(element, i));
  Value ramp = arith::ConstantOp::create(builder, loc,
                                         DenseElementsAttr::get(type, steps));
  return arith::AddIOp::create(builder, loc, splat, ramp);
}

// One scalar load, one vector load, or a load for each lane.
Lanes BodyEvaluator::load(Value memref, ArrayRef<Lanes> subscripts) {
  Location loc = op.getLoc();
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  SmallVector<Value> bases;
  bool uniform = true, contiguous = unitStride(memref);
  for (auto [i, lanes] : llvm::enumerate(subscripts)) {
    bases.push_back(lanes.value);
    uniform &= lanes.kind == Lanes::Uniform;
    contiguous &= i + 1 == subscripts.size() ? lanes.kind == Lanes::Counting
                                             : lanes.kind == Lanes::Uniform;
  }
  if (uniform)
    return {Lanes::Uniform,
            memref::LoadOp::create(builder, loc, memref, bases)};
  auto type = VectorType::get({width}, element);
  if (contiguous)
    return {Lanes::Varying,
            vector::LoadOp::create(builder, loc, type, memref, bases)};
  SmallVector<Value> each;
  for (int64_t i = 0; i < width; ++i) {
    SmallVector<Value> at;
    for (const Lanes &lanes : subscripts)
      at.push_back(lane(lanes, i));
    each.push_back(memref::LoadOp::create(builder, loc, memref, at));
  }
  return {Lanes::Varying,
          vector::FromElementsOp::create(builder, loc, type, each)};
}

// Like load(). A store to one place from several lanes does not occur: outputs
// depend on the lane dimension.
void BodyEvaluator::store(Value memref, ArrayRef<Lanes> subscripts,
                          Value lanes) {
  Location loc = op.getLoc();
  SmallVector<Value> bases;
  bool contiguous = unitStride(memref);
  for (auto [i, subscript] : llvm::enumerate(subscripts)) {
    bases.push_back(subscript.value);
    contiguous &= i + 1 == subscripts.size() ? subscript.kind == Lanes::Counting
                                             : subscript.kind == Lanes::Uniform;
  }
  if (width == 1) {
    memref::StoreOp::create(builder, loc, lanes, memref, bases);
    return;
  }
  if (contiguous) {
    vector::StoreOp::create(builder, loc, lanes, memref, bases);
    return;
  }
  for (int64_t i = 0; i < width; ++i) {
    SmallVector<Value> at;
    for (const Lanes &subscript : subscripts)
      at.push_back(lane(subscript, i));
    Value element = vector::ExtractOp::create(builder, loc, lanes, i);
    memref::StoreOp::create(builder, loc, element, memref, at);
  }
}

Lanes BodyEvaluator::loadOperand(OpOperand *operand) {
  Value source = operand->get();
  if (!isa<MemRefType>(source.getType()))
    return {Lanes::Uniform, source};
  return load(source, subscripts(op.getMatchingIndexingMap(operand)));
}

void BodyEvaluator::storeOperand(OpOperand *operand, Value lanes) {
  store(operand->get(), subscripts(op.getMatchingIndexingMap(operand)), lanes);
}

Lanes BodyEvaluator::get(Value bodyValue) {
  auto found = known.find(bodyValue);
  if (found != known.end())
    return found->second;
  Lanes lanes;
  if (auto arg = dyn_cast<BlockArgument>(bodyValue);
      arg && arg.getOwner() == op.getBody())
    lanes = loadOperand(&op->getOpOperand(arg.getArgNumber()));
  else if (Operation *def = bodyValue.getDefiningOp();
           def && def->getBlock() == op.getBody())
    lanes = evaluate(def, cast<OpResult>(bodyValue).getResultNumber());
  else
    lanes = {Lanes::Uniform, bodyValue}; // defined outside of the operation
  known[bodyValue] = lanes;
  return lanes;
}

Value BodyEvaluator::getVector(Value bodyValue) {
  return toVector(get(bodyValue));
}

// What is the same in all lanes is computed once, as a scalar; an index plus
// something uniform still counts. Everything else is cloned on vectors, which
// elementwise ops allow.
Lanes BodyEvaluator::evaluate(Operation *def, unsigned result) {
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    bool counts = int64_t(index.getDim()) == laneDim && width > 1;
    return {counts ? Lanes::Counting : Lanes::Uniform, ivs[index.getDim()]};
  }
  if (auto load = dyn_cast<memref::LoadOp>(def)) {
    SmallVector<Lanes> at;
    for (Value index : load.getIndices())
      at.push_back(get(index));
    return this->load(load.getMemref(), at);
  }
  SmallVector<Lanes> operands;
  bool uniform = true;
  for (Value operand : def->getOperands()) {
    operands.push_back(get(operand));
    uniform &= operands.back().kind == Lanes::Uniform;
  }
  IRMapping mapping;
  if (uniform) {
    for (auto [old, lanes] : llvm::zip(def->getOperands(), operands))
      mapping.map(old, lanes.value);
    // Values of the body that nested regions use.
    def->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (operand.getParentBlock() == op.getBody() &&
            !mapping.contains(operand))
          mapping.map(operand, get(operand).value);
    });
    Operation *clone = builder.clone(*def, mapping);
    for (auto [old, now] : llvm::zip(def->getResults(), clone->getResults()))
      known[old] = {Lanes::Uniform, now};
    return {Lanes::Uniform, clone->getResult(result)};
  }
  // Adding a uniform value, or a cast, keeps Counting.
  bool counting =
      operands[0].kind == Lanes::Counting
          ? isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp,
                arith::IndexCastUIOp>(def) &&
                (operands.size() == 1 || operands[1].kind == Lanes::Uniform)
          : isa<arith::AddIOp>(def) && operands[0].kind == Lanes::Uniform &&
                operands[1].kind == Lanes::Counting;
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (Lanes lanes : operands)
    values.push_back(counting ? lanes.value : toVector(lanes));
  for (Type type : def->getResultTypes())
    types.push_back(counting ? type : Type(VectorType::get({width}, type)));
  OperationState state(def->getLoc(), def->getName(), values, types,
                       def->getAttrs());
  if (auto constant = dyn_cast<arith::ConstantOp>(def))
    llvm_unreachable("a constant has no operands");
  Operation *clone = builder.create(state);
  return {counting ? Lanes::Counting : Lanes::Varying,
          clone->getResult(result)};
}

SmallVector<Value> act::loopBounds(linalg::LinalgOp op, OpBuilder &builder) {
  SmallVector<Value> bounds;
  for (Range range : op.createLoopRanges(builder, op.getLoc()))
    bounds.push_back(
        getValueOrCreateConstantIndexOp(builder, op.getLoc(), range.size));
  return bounds;
}

/// Exchanges blocks of 1, 2, 4, ... across the diagonal: log2(n) rounds of n
/// shuffles, where single elements would take n * n.
void act::transposeSquare(OpBuilder &builder, Location loc,
                          SmallVectorImpl<Value> &square) {
  int64_t lanes = square.size();
  for (int64_t s = 1; s < lanes; s *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & s)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t l = 0; l < lanes; ++l) {
        low.push_back(l & s ? lanes + l - s : l);
        high.push_back(l & s ? lanes + l : l + s);
      }
      Value x = square[i], y = square[i + s];
      square[i] = vector::ShuffleOp::create(builder, loc, x, y, low);
      square[i + s] = vector::ShuffleOp::create(builder, loc, x, y, high);
    }
}
