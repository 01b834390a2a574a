// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/BlockEvaluator.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Numbers of a constant that is picked from.
constexpr int64_t maxTable = 1024;

/// Memory has truth values as bytes; registers hold what arithmetic takes.
Type elementOf(Type t) {
  if (auto tensor = dyn_cast<RankedTensorType>(t))
    t = tensor.getElementType();
  return t.isIndex() ? IntegerType::get(t.getContext(), 64) : t;
}

} // namespace

Value act::tile::argumentBehind(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return nullptr;
    tensor = op->getOperand(0);
  }
  return tensor;
}

int BlockEvaluator::addAxis(Value base, int64_t extent) {
  axes.push_back({base, extent});
  return axes.size() - 1;
}

int BlockEvaluator::wholeAxis(int64_t extent, const Place &loops) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].extent == extent && matchPattern(axes[i].base, m_Zero()) &&
        llvm::none_of(loops,
                      [&](const Coordinate &c) { return c.axis == int(i); }))
      return i;
  return addAxis(constant(0), extent);
}

int64_t BlockEvaluator::elementsOf(const Place &loops) const {
  int64_t n = 1;
  for (const Coordinate &c : loops)
    if (c.axis >= 0)
      n *= axes[c.axis].extent;
  return n;
}

size_t BlockEvaluator::levelOf(Value v) const {
  for (size_t n = nest.size(); n > 0; --n)
    if (nest[n - 1]->getRegion(0).isAncestor(v.getParentRegion()))
      return n;
  return 0;
}

size_t BlockEvaluator::levelOf(const Place &place) const {
  size_t level = 0;
  for (const Coordinate &c : place) {
    if (c.scalar)
      level = std::max(level, levelOf(c.scalar));
    if (c.axis >= 0)
      level = std::max(level, levelOf(axes[c.axis].base));
  }
  return level;
}

template <typename Make> auto BlockEvaluator::atLevel(size_t level, Make make) {
  OpBuilder::InsertionGuard guard(b);
  std::vector<scf::ForOp> inner(nest.begin() + level, nest.end());
  if (!inner.empty())
    b.setInsertionPoint(inner.front());
  nest.resize(level);
  auto result = make();
  nest.insert(nest.end(), inner.begin(), inner.end());
  return result;
}

Value BlockEvaluator::once(StringRef name, Value x, Value y,
                           function_ref<Value()> make) {
  auto key =
      std::tuple(name.str(), x.getAsOpaquePointer(), y.getAsOpaquePointer());
  Value &known = arithmetic[key];
  if (known &&
      known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  return known = atLevel(std::max(levelOf(x), levelOf(y)), make);
}

template <typename Op> Value BlockEvaluator::scaled(Value v, int64_t factor) {
  Value y = constant(factor);
  return once(Op::getOperationName(), v, y,
              [&] { return Op::create(b, loc, v, y).getResult(); });
}

Value BlockEvaluator::sum(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return once("+", x, y,
              [&] { return arith::AddIOp::create(b, loc, x, y).getResult(); });
}

Value BlockEvaluator::viewOf(RankedTensorType type, Value pointer) {
  auto view = ViewType::get(type.getShape(), elementOf(type));
  Value &v = views[{view.getAsOpaquePointer(), pointer.getAsOpaquePointer()}];
  if (!v) {
    OpBuilder first = OpBuilder::atBlockBegin(entry);
    v = ViewOp::create(first, loc, view, pointer,
                       getAsIndexOpFoldResult(b.getContext(), type.getShape()));
  }
  return v;
}

Value BlockEvaluator::scalarOf(Value v) {
  if (Value known = scalars.lookup(v);
      known &&
      known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  Operation *op = v.getDefiningOp();
  Value made = v; // the kernel's own
  if (op && !op->getParentOfType<gpu::GPUFuncOp>()) {
    IRMapping map;
    for (Value o : op->getOperands())
      map.map(o, scalarOf(o));
    made = b.clone(*op, map)->getResult(cast<OpResult>(v).getResultNumber());
  }
  if (made.getType().isIndex())
    made = arith::IndexCastOp::create(b, loc, b.getI64Type(), made);
  return scalars[v] = made;
}

Value BlockEvaluator::constant(int64_t v) {
  Value &known = constants[v];
  if (!known) {
    OpBuilder first = OpBuilder::atBlockBegin(entry);
    known = arith::ConstantIndexOp::create(first, loc, v);
  }
  return known;
}

Value BlockEvaluator::indexOf(const Coordinate &c) {
  Value v = sum(c.scalar, c.axis >= 0 ? axes[c.axis].base : Value());
  if (!v)
    return constant(c.constant);
  return c.constant ? sum(v, constant(c.constant)) : v;
}

Value BlockEvaluator::numbers(const Coordinate &c) {
  Value first = arith::IndexCastOp::create(b, loc, b.getI64Type(), indexOf(c));
  if (c.axis < 0)
    return first;
  int64_t n = axes[c.axis].extent;
  Value own = IotaOp::create(b, loc, 0, n);
  auto wide = RankedTensorType::get({n}, b.getI64Type());
  own = arith::ExtSIOp::create(b, loc, wide, own);
  return arith::AddIOp::create(b, loc, own,
                               tensor::SplatOp::create(b, loc, wide, first));
}

Value BlockEvaluator::spread(BlockValue block, ArrayRef<int> onto) {
  if (onto.empty())
    return block.value;
  SmallVector<int64_t> shape;
  for (int a : onto)
    shape.push_back(axes[a].extent);
  Type element = elementOf(block.value.getType());
  auto type = RankedTensorType::get(shape, element);
  Value v = block.value;
  if (block.axes.empty())
    return tensor::SplatOp::create(b, loc, type, v);
  if (block.axes == onto)
    return v;
  SmallVector<int> have(block.axes), wanted;
  for (int a : onto)
    if (llvm::is_contained(have, a))
      wanted.push_back(a);
  if (have != wanted) {
    if (have.size() == 2)
      v = TransOp::create(b, loc, v);
    else if (auto load = v.getDefiningOp<LoadOp>())
      v = loadedInOrder(load, have, wanted);
    else
      emitError(loc) << "a computed block of " << have.size()
                     << " dimensions cannot be turned around";
    have = wanted;
  }
  for (auto [d, a] : llvm::enumerate(onto))
    if (!llvm::is_contained(have, a))
      v = ExpandDimsOp::create(b, loc, v, d);
  return v.getType() == type ? v : Value(BroadcastOp::create(b, loc, type, v));
}

/// The block of `load`, of whose dimensions these are the axes, with these
/// ones.
Value BlockEvaluator::loadedInOrder(LoadOp load, ArrayRef<int> have,
                                    ArrayRef<int> wanted) {
  SmallVector<int64_t> order, blockDims;
  for (auto [d, extent] : llvm::enumerate(load.getExtents()))
    (extent < 0 ? order : blockDims).push_back(d);
  for (int a : wanted)
    order.push_back(blockDims[llvm::find(have, a) - have.begin()]);
  SmallVector<Value> indices;
  SmallVector<int64_t> extents;
  for (int64_t d : order) {
    indices.push_back(load.getIndices()[d]);
    extents.push_back(load.getExtents()[d]);
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(load);
  Value view = TransposedViewOp::create(b, loc, load.getView(), order);
  return LoadOp::create(b, loc, view, indices, extents);
}

FailureOr<BlockValue> BlockEvaluator::load(RankedTensorType type, Value pointer,
                                           const Place &place) {
  Value view = viewOf(type, pointer);
  SmallVector<Value> indices;
  SmallVector<int64_t> extents;
  BlockValue out;
  for (const Coordinate &c : place) {
    indices.push_back(indexOf(c));
    extents.push_back(c.axis < 0 ? -1 : axes[c.axis].extent);
    if (c.axis >= 0) {
      if (llvm::is_contained(out.axes, c.axis))
        return emitError(loc) << "a diagonal of a tensor is no block";
      out.axes.push_back(c.axis);
    }
  }
  out.value = LoadOp::create(b, loc, view, indices, extents);
  return out;
}

LogicalResult BlockEvaluator::store(BlockValue block, RankedTensorType type,
                                    Value pointer, const Place &place) {
  Value view = viewOf(type, pointer);
  SmallVector<Value> indices;
  SmallVector<int64_t> extents;
  SmallVector<int> onto;
  for (const Coordinate &c : place) {
    indices.push_back(indexOf(c));
    extents.push_back(c.axis < 0 ? -1 : axes[c.axis].extent);
    if (c.axis >= 0)
      onto.push_back(c.axis);
  }
  StoreOp::create(b, loc, spread(block, onto), view, indices, extents);
  return success();
}

FailureOr<BlockValue> BlockEvaluator::evaluate(Value tensor,
                                               const Place &place) {
  Key key{tensor.getAsOpaquePointer(), {}};
  for (const Coordinate &c : place)
    key.second.push_back(c.key());
  auto it = known.find(key);
  // What was computed in a loop is not to be had outside of it.
  if (it != known.end()) {
    Region *made = it->second.value.getParentRegion();
    if (made->isAncestor(b.getInsertionBlock()->getParent()))
      return it->second;
  }
  auto v = atLevel(levelOf(place), [&] { return compute(tensor, place); });
  if (succeeded(v))
    known[key] = *v;
  return v;
}

FailureOr<BlockValue> BlockEvaluator::compute(Value tensor,
                                              const Place &place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (Value argument = argumentBehind(tensor))
    if (Value pointer = pointers.lookup(argument))
      return load(type, pointer, place); // dense, so it has any shape
  Operation *op = tensor.getDefiningOp();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return this->generic(generic, cast<OpResult>(tensor).getResultNumber(),
                         place);
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op)) {
    return BlockValue{scalarOf(fill.getInputs()[0]), {}};
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return BlockValue{
          arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>()),
          {}};
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        dense && type.getNumElements() <= maxTable)
      return table(dense, place);
  }
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    if (slice.getType().getRank() == slice.getSourceType().getRank() &&
        slice.hasUnitStride() &&
        !llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic)) {
      Place moved(place);
      for (auto [c, offset] : llvm::zip(moved, slice.getStaticOffsets()))
        c.constant += offset;
      return evaluate(slice.getSource(), moved);
    }
  }
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    return inserted(insert, place);
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    Place moved;
    for (auto [c, group] :
         llvm::zip(place, collapse.getReassociationIndices())) {
      auto size = [&](int64_t d) {
        return collapse.getSrcType().getDimSize(d);
      };
      size_t wide =
          llvm::count_if(group, [&](int64_t d) { return size(d) > 1; });
      if (wide > 1 && c.axis >= 0)
        return collapsedBlock(collapse, place);
      // The number of the dimension, in digits; the last is the fastest.
      SmallVector<Coordinate> digits(group.size());
      Value rest = wide > 1 ? indexOf(c) : Value();
      for (int64_t i = group.size(); i-- > 0;) {
        if (size(group[i]) == 1)
          continue;
        if (wide == 1) {
          digits[i] = c;
          continue;
        }
        digits[i].scalar = scaled<arith::RemUIOp>(rest, size(group[i]));
        rest = scaled<arith::DivUIOp>(rest, size(group[i]));
      }
      moved.append(digits);
    }
    return evaluate(collapse.getSrc(), moved);
  }
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    // Part of a row of numbers that is an argument: it begins with whole rows
    // of the shape that it gets.
    auto slice = expand.getSrc().getDefiningOp<tensor::ExtractSliceOp>();
    Value pointer = slice ? pointers.lookup(slice.getSource()) : Value();
    if (pointer && slice.getType().getRank() == 1 && slice.hasUnitStride() &&
        !ShapedType::isDynamic(slice.getStaticOffset(0))) {
      SmallVector<int64_t> shape(type.getShape());
      int64_t row = ShapedType::getNumElements(ArrayRef(shape).drop_front());
      int64_t offset = slice.getStaticOffset(0);
      if (offset % row == 0) {
        Place moved(place);
        moved[0].constant += offset / row;
        shape[0] += offset / row;
        return load(RankedTensorType::get(shape, type.getElementType()),
                    pointer, moved);
      }
    }
    auto moved = collapsed(place, expand.getReassociationIndices(),
                           expand.getResultType().getShape());
    if (failed(moved))
      return op->emitOpError("expands what is computed along two axes");
    return evaluate(expand.getSrc(), *moved);
  }
  return (op ? op->emitOpError() : emitError(loc)) << "has no form on blocks";
}

/// A block along a dimension that is several: as a block along each of these,
/// where it has whole ones of all but the first.
FailureOr<BlockValue> BlockEvaluator::collapsedBlock(tensor::CollapseShapeOp op,
                                                     const Place &place) {
  Place moved;
  SmallVector<int> inner, onto; // axes of the source's block, of the result's
  for (auto [c, group] : llvm::zip(place, op.getReassociationIndices())) {
    if (c.axis >= 0)
      onto.push_back(c.axis);
    if (c.axis < 0 || group.size() == 1) {
      if (group.size() > 1)
        return op.emitOpError("collapses numbers beside a block");
      moved.push_back(c);
      if (c.axis >= 0)
        inner.push_back(c.axis);
      continue;
    }
    int64_t rest = 1;
    for (int64_t d : ArrayRef(group).drop_front())
      rest *= op.getSrcType().getDimSize(d);
    const Axis own = axes[c.axis];
    if (own.extent % rest || c.scalar || c.constant)
      return op.emitOpError()
             << "collapses what is computed along an axis; its "
                "blocks have no multiple of "
             << rest;
    Coordinate first;
    Value base = scaled<arith::DivUIOp>(own.base, rest);
    if (own.extent == rest) {
      first.scalar = base;
    } else {
      first.axis = addAxis(base, own.extent / rest);
      inner.push_back(first.axis);
    }
    moved.push_back(first);
    for (int64_t d : ArrayRef(group).drop_front()) {
      moved.push_back({});
      if (op.getSrcType().getDimSize(d) == 1)
        continue;
      moved.back().axis = wholeAxis(op.getSrcType().getDimSize(d), moved);
      inner.push_back(moved.back().axis);
    }
  }
  auto block = evaluate(op.getSrc(), moved);
  if (failed(block))
    return failure();
  Value v = spread(*block, inner);
  SmallVector<int64_t> shape;
  for (int a : onto)
    shape.push_back(axes[a].extent);
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(v.getType()));
  return BlockValue{ReshapeOp::create(b, loc, type, v), onto};
}

/// The slice where the place is in it, else what it was inserted into.
FailureOr<BlockValue> BlockEvaluator::inserted(tensor::InsertSliceOp op,
                                               const Place &place) {
  if (op.getSourceType().getRank() != op.getDestType().getRank() ||
      !op.hasUnitStride() ||
      llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
    return op->emitOpError("has no form on blocks");
  Place moved(place);
  BlockValue inside;
  auto also = [&](Value condition, const SmallVector<int> &along) {
    if (!inside.value) {
      inside = {condition, along};
      return;
    }
    SmallVector<int> onto(inside.axes);
    for (int a : along)
      if (!llvm::is_contained(onto, a))
        onto.push_back(a);
    inside = {arith::AndIOp::create(b, loc, spread(inside, onto),
                                    spread({condition, along}, onto)),
              onto};
  };
  for (size_t d = 0; d < place.size(); ++d) {
    int64_t from = op.getStaticOffsets()[d],
            to = from + op.getSourceType().getDimSize(d);
    moved[d].constant -= from;
    SmallVector<int> along;
    if (place[d].axis >= 0)
      along.push_back(place[d].axis);
    Value at = numbers(place[d]);
    auto compare = [&](arith::CmpIPredicate p, int64_t bound) {
      Value v = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bound));
      also(arith::CmpIOp::create(b, loc, p, at, spread({v, {}}, along)), along);
    };
    if (from > 0)
      compare(arith::CmpIPredicate::sge, from);
    if (to < op.getDestType().getDimSize(d))
      compare(arith::CmpIPredicate::slt, to);
  }
  auto source = evaluate(op.getSource(), moved);
  if (failed(source) || !inside.value)
    return source;
  // Nothing is inserted into at first.
  if (op.getDest().getDefiningOp<tensor::EmptyOp>())
    return source;
  auto dest = evaluate(op.getDest(), place);
  if (failed(dest))
    return failure();
  SmallVector<int> onto;
  for (const Coordinate &c : place)
    if (c.axis >= 0)
      onto.push_back(c.axis);
  // A condition of all is a number.
  Value which = inside.axes.empty() ? inside.value : spread(inside, onto);
  return BlockValue{arith::SelectOp::create(b, loc, which,
                                            spread(*source, onto),
                                            spread(*dest, onto)),
                    onto};
}

FailureOr<Place>
BlockEvaluator::collapsed(const Place &place,
                          ArrayRef<ReassociationIndices> groups,
                          ArrayRef<int64_t> shape) {
  Place moved;
  for (const ReassociationIndices &group : groups) {
    Coordinate whole;
    int64_t inner = 1;
    for (int64_t d : llvm::reverse(group)) {
      const Coordinate &c = place[d];
      if (c.axis >= 0 && (inner != 1 || whole.axis >= 0))
        return failure();
      if (c.axis >= 0)
        whole.axis = c.axis;
      if (c.scalar)
        whole.scalar =
            sum(whole.scalar,
                inner == 1 ? c.scalar : scaled<arith::MulIOp>(c.scalar, inner));
      whole.constant += c.constant * inner;
      inner *= shape[d];
    }
    moved.push_back(whole);
  }
  return moved;
}

FailureOr<Coordinate> BlockEvaluator::at(AffineExpr expr, const Place &loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Coordinate{nullptr, constant.getValue(), -1};
  return failure();
}

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
               << " at a sum of loops; expected one loop's number";
      place.push_back(*c);
    }
    auto block = evaluate(operand.get(), place);
    if (failed(block))
      return failure();
    out.blocks.push_back(*block);
  }
  return out;
}

/// An op of the body on blocks: of scalars a scalar, of others a block along
/// all axes of its operands.
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
    if (isa<RankedTensorType>(v.getType())) { // what is extracted from
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
    return op->emitOpError("has no form on blocks");
  SmallVector<int> onto;
  for (const Coordinate &c : loops)
    if (c.axis >= 0 && !llvm::is_contained(onto, c.axis) &&
        llvm::any_of(blocks, [&](const BlockValue &v) {
          return llvm::is_contained(v.axes, c.axis);
        }))
      onto.push_back(c.axis);
  for (auto [v, made] :
       llvm::zip(op->getResults(), atLevel(level, [&] { // as early as can be
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
    types.push_back(shape.empty()
                        ? elementOf(t)
                        : Type(RankedTensorType::get(shape, elementOf(t))));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    // An index is an i64 here.
    Value v = operands[0];
    unsigned from = elementOf(v.getType()).getIntOrFloatBitWidth(),
             to = elementOf(types[0]).getIntOrFloatBitWidth();
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

/// Elements of an argument at computed indices. An index that is computed is a
/// block along one axis; where two have the same axis, or one has two, the
/// tensor is read as the row of numbers that it is in memory.
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
    return op->emitOpError("gathers from what is computed");
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

/// A few numbers that the program knows, picked by comparing.
BlockValue BlockEvaluator::table(DenseElementsAttr values, const Place &place) {
  SmallVector<int> along;
  for (const Coordinate &c : place)
    if (c.axis >= 0)
      along.push_back(c.axis);
  auto number = [&](TypedAttr n) {
    return spread({arith::ConstantOp::create(b, loc, n), {}}, along);
  };
  // The element's number in the order of memory.
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

FailureOr<BlockValue> BlockEvaluator::generic(linalg::GenericOp op,
                                              unsigned result,
                                              const Place &place) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  Place loops(op.getNumLoops());
  std::vector<bool> covered(loops.size());
  for (auto [e, c] : llvm::zip(map.getResults(), place)) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (!dim)
      return op.emitOpError(
          "writes its result at a sum of loops; expected one loop's number");
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
  auto in = operands(op, loops, inputs);
  if (failed(in))
    return failure();
  DenseMap<Value, BlockValue> values;
  for (auto [argument, block] :
       llvm::zip(op.getBody()->getArguments(), in->blocks))
    values[argument] = block;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    BlockArgument running = op.getBody()->getArgument(inputs + i);
    if (running.use_empty())
      continue;
    Place at;
    for (AffineExpr e :
         op.getMatchingIndexingMap(op.getDpsInitOperand(i)).getResults())
      at.push_back(loops[cast<AffineDimExpr>(e).getPosition()]);
    auto v = evaluate(op.getDpsInitOperand(i)->get(), at);
    if (failed(v))
      return failure();
    values[running] = *v;
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (failed(bodyOp(&inner, values, loops)))
      return failure();
  }
  Value yielded = op.getBody()->getTerminator()->getOperand(result);
  auto it = values.find(yielded);
  return it != values.end() ? it->second : BlockValue{scalarOf(yielded), {}};
}
