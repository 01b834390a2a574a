// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/BlockEvaluator.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Memory has truth values as bytes; registers hold what arithmetic takes.
Type elementOf(Type t) {
  if (auto tensor = dyn_cast<RankedTensorType>(t))
    t = tensor.getElementType();
  return t.isIndex() ? IntegerType::get(t.getContext(), 64) : t;
}

/// Whether what computes `tensor` only gives an argument another shape.
Value argumentBehind(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return nullptr;
    tensor = op->getOperand(0);
  }
  return tensor;
}

/// A combiner in a reduction's body: what it adds to the running result.
struct Combiner {
  CombineKind kind;
  Value added;
};

std::optional<Combiner> combinerOf(linalg::GenericOp op, unsigned result) {
  Block *body = op.getBody();
  Value yielded = body->getTerminator()->getOperand(result);
  Value running = body->getArgument(op.getNumDpsInputs() + result);
  Operation *last = yielded.getDefiningOp();
  if (!last || last->getNumOperands() != 2)
    return std::nullopt;
  auto kind = llvm::TypeSwitch<Operation *, std::optional<CombineKind>>(last)
                  .Case<arith::AddFOp, arith::AddIOp>(
                      [](auto) { return CombineKind::Add; })
                  .Case<arith::MulFOp, arith::MulIOp>(
                      [](auto) { return CombineKind::Mul; })
                  .Case<arith::MaximumFOp, arith::MaxSIOp>(
                      [](auto) { return CombineKind::Max; })
                  .Case<arith::MinimumFOp, arith::MinSIOp>(
                      [](auto) { return CombineKind::Min; })
                  .Default([](Operation *) { return std::nullopt; });
  if (!kind)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (last->getOperand(i) == running && last->getOperand(1 - i) != running)
      return Combiner{*kind, last->getOperand(1 - i)};
  return std::nullopt;
}

/// The two factors of a sum of products, past their widening to f32.
std::optional<std::pair<Value, Value>> factorsOf(linalg::GenericOp op) {
  auto combiner = combinerOf(op, 0);
  if (!combiner || combiner->kind != CombineKind::Add ||
      op.getNumDpsInputs() != 2)
    return std::nullopt;
  auto mul = combiner->added.getDefiningOp<arith::MulFOp>();
  if (!mul)
    return std::nullopt;
  auto widened = [](Value v) {
    if (auto ext = v.getDefiningOp<arith::ExtFOp>())
      v = ext.getIn();
    return v;
  };
  return std::pair(widened(mul.getLhs()), widened(mul.getRhs()));
}

} // namespace

int BlockEvaluator::addAxis(Value base, int64_t extent) {
  axes.push_back({base, extent});
  return axes.size() - 1;
}

int BlockEvaluator::wholeAxis(int64_t extent, const Place &loops) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].extent == extent && matchPattern(axes[i].base, m_Zero()) &&
        llvm::none_of(loops, [&](const Coordinate &c) { return c.axis == int(i); }))
      return i;
  return addAxis(constant(0), extent);
}

Value BlockEvaluator::viewOf(RankedTensorType type, Value pointer) {
  auto view = ViewType::get(type.getShape(), elementOf(type));
  Value &v = views[{view.getAsOpaquePointer(), pointer.getAsOpaquePointer()}];
  if (!v) {
    OpBuilder entry =
        OpBuilder::atBlockBegin(cast<BlockArgument>(pointer).getOwner());
    v = ViewOp::create(entry, loc, view, pointer,
                       getAsIndexOpFoldResult(b.getContext(), type.getShape()));
  }
  return v;
}

Value BlockEvaluator::scalarOf(Value v) {
  Value &known = scalars[v];
  Operation *op = v.getDefiningOp();
  if (known &&
      known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  if (!op || op->getParentOfType<gpu::GPUFuncOp>()) { // the kernel's own
    known = v;
  } else {
    IRMapping map;
    for (Value o : op->getOperands())
      map.map(o, scalarOf(o));
    known = b.clone(*op, map)->getResult(cast<OpResult>(v).getResultNumber());
  }
  if (known.getType().isIndex())
    known = arith::IndexCastOp::create(b, loc, b.getI64Type(), known);
  return scalars[v] = known;
}

Value BlockEvaluator::constant(int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}

Value BlockEvaluator::indexOf(const Coordinate &c) {
  Value v = c.scalar;
  if (c.axis >= 0)
    v = v ? Value(arith::AddIOp::create(b, loc, v, axes[c.axis].base))
          : axes[c.axis].base;
  if (!v)
    return constant(c.constant);
  return c.constant
             ? Value(arith::AddIOp::create(b, loc, v, constant(c.constant)))
             : v;
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
  if (have.size() == 2 && have != wanted) {
    v = TransOp::create(b, loc, v);
    have = wanted;
  }
  for (auto [d, a] : llvm::enumerate(onto))
    if (!llvm::is_contained(have, a))
      v = ExpandDimsOp::create(b, loc, v, d);
  return v.getType() == type ? v : Value(BroadcastOp::create(b, loc, type, v));
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
  auto v = compute(tensor, place);
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
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return BlockValue{
          arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>()),
          {}};
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
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    // Dimensions of one element come and go.
    Place moved;
    for (auto [c, group] :
         llvm::zip(place, collapse.getReassociationIndices())) {
      bool placed = false;
      for (int64_t d : group) {
        bool unit = collapse.getSrcType().getDimSize(d) == 1;
        if (!unit && placed)
          return op->emitOpError("collapses what is computed; only dimensions "
                                 "of one element may be");
        moved.push_back(unit ? Coordinate() : c);
        placed |= !unit;
      }
    }
    return evaluate(collapse.getSrc(), moved);
  }
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    Place moved;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      Coordinate sum;
      int64_t inner = 1;
      for (int64_t d : llvm::reverse(group)) {
        const Coordinate &c = place[d];
        if (c.axis >= 0 && (inner != 1 || sum.axis >= 0))
          return op->emitOpError("expands what is computed along two axes");
        if (c.axis >= 0)
          sum.axis = c.axis;
        if (c.scalar) {
          Value scaled = inner == 1 ? c.scalar
                                    : Value(arith::MulIOp::create(
                                          b, loc, c.scalar, constant(inner)));
          sum.scalar =
              sum.scalar
                  ? Value(arith::AddIOp::create(b, loc, sum.scalar, scaled))
                  : scaled;
        }
        sum.constant += c.constant * inner;
        inner *= expand.getResultType().getDimSize(d);
      }
      moved.push_back(sum);
    }
    return evaluate(expand.getSrc(), moved);
  }
  return (op ? op->emitOpError() : emitError(loc)) << "has no form on blocks";
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
FailureOr<BlockValue>
BlockEvaluator::bodyOp(Operation *op, DenseMap<Value, BlockValue> &values,
                       const Place &loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    const Coordinate &c = loops[index.getDim()];
    SmallVector<int> along;
    if (c.axis >= 0)
      along.push_back(c.axis);
    return BlockValue{numbers(c), along};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (constant.getType().isIndex())
      return BlockValue{arith::ConstantIntOp::create(
                            b, loc, b.getI64Type(),
                            cast<IntegerAttr>(constant.getValue()).getInt()),
                        {}};
    return BlockValue{b.clone(*op)->getResult(0), {}};
  }
  auto valueOf = [&](Value v) {
    auto it = values.find(v);
    return it != values.end() ? it->second : BlockValue{scalarOf(v), {}};
  };
  SmallVector<int> onto;
  for (const Coordinate &c : loops)
    if (c.axis >= 0)
      for (Value v : op->getOperands())
        if (llvm::is_contained(valueOf(v).axes, c.axis) &&
            !llvm::is_contained(onto, c.axis))
          onto.push_back(c.axis);
  SmallVector<int64_t> shape;
  for (int a : onto)
    shape.push_back(axes[a].extent);
  auto blockOf = [&](Type t) -> Type {
    Type element = elementOf(t);
    return shape.empty() ? element
                         : Type(RankedTensorType::get(shape, element));
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Value argument = argumentBehind(extract.getTensor());
    Value pointer = argument ? pointers.lookup(argument) : Value();
    if (!pointer)
      return op->emitOpError("gathers from what is computed");
    auto type = extract.getTensor().getType();
    Value view = viewOf(type, pointer);
    SmallVector<Value> indices;
    SmallVector<int64_t> extents;
    BlockValue out;
    for (Value i : extract.getIndices()) {
      BlockValue v = valueOf(i);
      Coordinate plain;
      auto own = i.getDefiningOp<linalg::IndexOp>();
      if (own) {
        plain = loops[own.getDim()];
        v.axes.clear();
        if (plain.axis >= 0)
          v.axes.push_back(plain.axis);
      }
      if (v.axes.size() > 1 ||
          (v.axes.size() == 1 && llvm::is_contained(out.axes, v.axes[0])))
        return op->emitOpError(
            "gathers along an axis that another index has too");
      indices.push_back(own ? indexOf(plain) : v.value);
      extents.push_back(v.axes.empty() ? -1 : axes[v.axes[0]].extent);
      out.axes.append(v.axes);
    }
    out.value = LoadOp::create(b, loc, view, indices, extents);
    return out;
  }
  if (!op->hasTrait<OpTrait::Elementwise>() &&
      !isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return op->emitOpError("has no form on blocks");
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(spread(valueOf(v), onto));
  Type result = blockOf(op->getResult(0).getType());
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    // An index is an i64 here.
    unsigned from = elementOf(operands[0].getType()).getIntOrFloatBitWidth(),
             to = elementOf(result).getIntOrFloatBitWidth();
    Value v = operands[0];
    if (from < to)
      v = isa<arith::IndexCastOp>(op)
              ? Value(arith::ExtSIOp::create(b, loc, result, v))
              : Value(arith::ExtUIOp::create(b, loc, result, v));
    else if (from > to)
      v = arith::TruncIOp::create(b, loc, result, v);
    return BlockValue{v, onto};
  }
  OperationState state(op->getLoc(), op->getName(), operands,
                       TypeRange{result});
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return BlockValue{b.create(state)->getResult(0), onto};
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
    if (reduced.size() == 1 && blocks == 2 && factorsOf(op))
      return product(op, loops, reduced[0]);
    return reduce(op, loops, reduced);
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
    auto v = bodyOp(&inner, values, loops);
    if (failed(v))
      return failure();
    values[inner.getResult(0)] = *v;
  }
  Value yielded = op.getBody()->getTerminator()->getOperand(result);
  auto it = values.find(yielded);
  return it != values.end() ? it->second : BlockValue{scalarOf(yielded), {}};
}

FailureOr<BlockValue> BlockEvaluator::reduce(linalg::GenericOp op, Place loops,
                                             ArrayRef<unsigned> dims) {
  auto combiner = combinerOf(op, 0);
  if (!combiner)
    return op.emitOpError("reduces in a way that has no word");
  SmallVector<int> added;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned d : dims) {
    added.push_back(wholeAxis(ranges[d], loops));
    loops[d].axis = added.back();
  }
  int64_t elements = 1;
  for (const Coordinate &c : loops)
    if (c.axis >= 0)
      elements *= axes[c.axis].extent;
  if (elements > 65536)
    return op.emitOpError() << "reduces a block of " << elements
                            << " elements; at most 65536 are taken at once";
  auto in = operands(op, loops, op.getNumDpsInputs());
  if (failed(in))
    return failure();
  DenseMap<Value, BlockValue> values;
  for (auto [argument, block] :
       llvm::zip(op.getBody()->getArguments(), in->blocks))
    values[argument] = block;
  Operation *last =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (&inner == last)
      continue;
    auto v = bodyOp(&inner, values, loops);
    if (failed(v))
      return failure();
    values[inner.getResult(0)] = *v;
  }
  BlockValue all = values.lookup(combiner->added);
  all = {spread(all, in->axes), in->axes};
  for (int a : llvm::reverse(added)) {
    unsigned d = llvm::find(all.axes, a) - all.axes.begin();
    all.value =
        ReduceOp::create(b, loc, combiner->kind, all.value, d).getResult(0);
    all.axes.erase(all.axes.begin() + d);
  }
  // What the result was before.
  Place at;
  for (AffineExpr e :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    at.push_back(loops[cast<AffineDimExpr>(e).getPosition()]);
  auto first = evaluate(op.getDpsInitOperand(0)->get(), at);
  if (failed(first))
    return failure();
  DenseMap<Value, BlockValue> both; // the running result, and what is added
  both[last->getOperand(0)] =
      last->getOperand(0) == combiner->added ? all : *first;
  both[last->getOperand(1)] =
      last->getOperand(1) == combiner->added ? all : *first;
  return bodyOp(last, both, loops);
}

FailureOr<BlockValue> BlockEvaluator::product(linalg::GenericOp op, Place loops,
                                              unsigned dim) {
  auto factors = factorsOf(op);
  int64_t depth = op.getStaticLoopRanges()[dim];
  int64_t step = std::min<int64_t>(64, llvm::alignTo(depth, 16));
  // The factors' axes: which one is along rows.
  SmallVector<int> wanted; // of the result: rows, columns
  for (AffineExpr e :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    if (int a = loops[cast<AffineDimExpr>(e).getPosition()].axis; a >= 0)
      wanted.push_back(a);
  Place initPlace;
  for (AffineExpr e :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    initPlace.push_back(loops[cast<AffineDimExpr>(e).getPosition()]);
  auto first = evaluate(op.getDpsInitOperand(0)->get(), initPlace);
  if (failed(first))
    return failure();
  Value acc = spread(*first, wanted);
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(depth),
                                 constant(step), ValueRange{acc});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    int k = addAxis(loop.getInductionVar(), step);
    loops[dim].axis = k;
    auto in = operands(op, loops, 2);
    if (failed(in))
      return failure();
    BlockValue sides[2];
    for (int i : {0, 1}) {
      auto argument =
          dyn_cast<BlockArgument>(i ? factors->second : factors->first);
      if (!argument || argument.getOwner() != op.getBody())
        return op.emitOpError("multiplies what its body computes");
      BlockValue v = in->blocks[argument.getArgNumber()];
      // Rows first or last, the side says it.
      if (llvm::is_contained(v.axes, wanted[0]))
        sides[0] = {spread(v, {wanted[0], k}), {wanted[0], k}};
      else
        sides[1] = {spread(v, {k, wanted[1]}), {k, wanted[1]}};
    }
    if (!sides[0].value || !sides[1].value)
      return op.emitOpError("multiplies two blocks of the same axis");
    Value next = DotOp::create(b, loc, sides[0].value, sides[1].value,
                               loop.getRegionIterArgs()[0]);
    scf::YieldOp::create(b, loc, next);
  }
  return BlockValue{loop.getResult(0), wanted};
}
