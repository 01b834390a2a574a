// SPDX-License-Identifier: Apache-2.0
//
// evaluate() and what it needs: which axes exist, where code is placed, how a
// block is read from and written to memory, and how it gets other axes. The
// bodies of generics are in BlockBodies.cpp, reductions and products in
// BlockSums.cpp, reshapes of computed values in BlockShapes.cpp.
#include "passes/act-to-tile/BlockEvaluator.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace act::tile;

Type act::tile::registerElement(Type t) {
  if (auto tensor = dyn_cast<RankedTensorType>(t))
    t = tensor.getElementType();
  return t.isIndex() ? IntegerType::get(t.getContext(), 64) : t;
}

Value act::tile::argumentBehind(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return nullptr;
    tensor = op->getOperand(0);
  }
  return tensor;
}

SmallVector<int> act::tile::axesOf(const Place &place) {
  SmallVector<int> list;
  auto add = [&](int axis) {
    if (!llvm::is_contained(list, axis))
      list.push_back(axis);
  };
  for (const Coordinate &c : place) {
    if (c.axis >= 0)
      add(c.axis);
    llvm::for_each(c.along, add);
  }
  return list;
}

bool act::tile::isBox(const Place &place) {
  SmallVector<int> seen;
  for (const Coordinate &c : place) {
    if (c.computed || llvm::is_contained(seen, c.axis))
      return false;
    if (c.axis >= 0)
      seen.push_back(c.axis);
  }
  return true;
}

int BlockEvaluator::addAxis(Value base, int64_t extent) {
  axes.push_back({base, extent});
  return axes.size() - 1;
}

// An axis that `loops` use already would make the block a diagonal: rows and
// columns of a matrix of scores may have the same extent.
int BlockEvaluator::wholeAxis(int64_t extent, const Place &loops) {
  SmallVector<int> taken = axesOf(loops);
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].extent == extent && matchPattern(axes[i].base, m_Zero()) &&
        !llvm::is_contained(taken, int(i)))
      return i;
  return addAxis(constant(0), extent);
}

int64_t BlockEvaluator::elementsOf(const Place &loops) const {
  return ShapedType::getNumElements(extentsOf(axesOf(loops)));
}

// The number of open loops that `v` depends on. Code may stand outside all
// loops beyond that.
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
    if (c.computed)
      level = std::max(level, levelOf(c.computed));
  }
  return level;
}

// Every operand of a body needs the same index arithmetic, so results are kept.
// A kept one may be in a loop that is closed by now; then it is made
// again.
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

Value BlockEvaluator::sum(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return once("+", x, y,
              [&] { return arith::AddIOp::create(b, loc, x, y).getResult(); });
}

// Views are at the start of the kernel, as a pointer and a shape do not depend
// on where the block is.
Value BlockEvaluator::viewOf(RankedTensorType type, Value pointer,
                             ArrayRef<int64_t> strides) {
  auto view = ViewType::get(type.getShape(), registerElement(type), strides);
  Value &v = views[{view.getAsOpaquePointer(), pointer.getAsOpaquePointer()}];
  if (!v) {
    OpBuilder first = OpBuilder::atBlockBegin(entry);
    v = ViewOp::create(first, loc, view, pointer,
                       getAsIndexOpFoldResult(b.getContext(), type.getShape()),
                       getAsIndexOpFoldResult(b.getContext(), strides));
  }
  return v;
}

// A scalar of the function, such as the learning rate or arithmetic on it, in
// the kernel: cloned with what it is computed from.
Value BlockEvaluator::scalarOf(Value v) {
  if (Value known = scalars.lookup(v);
      known &&
      known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  Operation *op = v.getDefiningOp();
  Value made = v; // defined in the kernel
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

// The numbers of a dimension that a coordinate stands for: one, or a block.
// They are i64, as linalg.index is in registers.
BlockValue BlockEvaluator::numbers(const Coordinate &c) {
  return atLevel(levelOf(Place{c}), [&]() -> BlockValue {
    auto wide = [&](int64_t n) {
      return RankedTensorType::get({n}, b.getI64Type());
    };
    if (c.computed) {
      if (!c.constant)
        return {c.computed, c.along};
      Value moved =
          arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(c.constant));
      return {arith::AddIOp::create(b, loc, c.computed,
                                    spread({moved, {}}, c.along)),
              c.along};
    }
    Value first =
        arith::IndexCastOp::create(b, loc, b.getI64Type(), indexOf(c));
    if (c.axis < 0)
      return {first, {}};
    int64_t n = axes[c.axis].extent;
    Value own = IotaOp::create(b, loc, 0, n);
    own = arith::ExtSIOp::create(b, loc, wide(n), own);
    return {arith::AddIOp::create(
                b, loc, own, tensor::SplatOp::create(b, loc, wide(n), first)),
            {c.axis}};
  });
}

Coordinate BlockEvaluator::computed(BlockValue numbers) {
  Coordinate c;
  if (numbers.axes.empty())
    c.scalar =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), numbers.value);
  else
    c.computed = numbers.value;
  c.along.assign(numbers.axes);
  return c;
}

Coordinate BlockEvaluator::notNegative(const Coordinate &c) {
  if (c.constant >= 0)
    return c;
  return atLevel(levelOf(Place{c}), [&] {
    BlockValue v = numbers(c);
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    return computed(
        {arith::MaxSIOp::create(b, loc, v.value, spread({zero, {}}, v.axes)),
         v.axes});
  });
}

// Plain where it can be: a number, or an axis that is moved. One number or axis
// at a time is known to the evaluator by its value, so the same arithmetic
// gives the same coordinate.
Coordinate BlockEvaluator::combined(Arithmetic op, const Coordinate &x,
                                    const Coordinate &y) {
  auto isNumber = [](const Coordinate &c) { return c.axis < 0 && !c.computed; };
  if (op == Arithmetic::Add && (isNumber(x) || isNumber(y))) {
    Coordinate c = isNumber(x) ? y : x;
    const Coordinate &moved = isNumber(x) ? x : y;
    if (!c.computed || !moved.scalar) {
      c.scalar = sum(c.scalar, moved.scalar);
      c.constant += moved.constant;
      return c;
    }
  }
  if (isNumber(x) && isNumber(y) && !y.scalar && op == Arithmetic::Mul) {
    Coordinate c = x;
    if (c.scalar)
      c.scalar = scaled<arith::MulIOp>(c.scalar, y.constant);
    c.constant *= y.constant;
    return c;
  }
  auto key = std::tuple(op, x.key(), y.key());
  if (auto it = knownCoordinates.find(key); it != knownCoordinates.end()) {
    Value made = it->second.computed ? it->second.computed : it->second.scalar;
    if (made.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
      return it->second;
  }
  size_t level = std::max(levelOf(Place{x}), levelOf(Place{y}));
  return knownCoordinates[key] = atLevel(level, [&] {
           SmallVector<int> onto = axesOf({x, y});
           Value l = spread(numbers(x), onto), r = spread(numbers(y), onto);
           Value v;
           switch (op) {
           case Arithmetic::Add:
             v = arith::AddIOp::create(b, loc, l, r);
             break;
           case Arithmetic::Mul:
             v = arith::MulIOp::create(b, loc, l, r);
             break;
           case Arithmetic::Div:
             v = arith::DivUIOp::create(b, loc, l, r);
             break;
           case Arithmetic::Rem:
             v = arith::RemUIOp::create(b, loc, l, r);
             break;
           }
           return computed({v, onto});
         });
}

// First the axes that the block has are put in order, then the missing ones are
// added by repetition:
//
//   mean  {I}  onto {I, J}      expand_dims to [I, 1], broadcast to [I, J]
Value BlockEvaluator::spread(BlockValue block, ArrayRef<int> onto) {
  if (onto.empty())
    return block.value;
  Type element = registerElement(block.value.getType());
  auto type = RankedTensorType::get(extentsOf(onto), element);
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
    auto load = v.getDefiningOp<LoadOp>();
    v = load && have.size() > 2 ? loadedInOrder(load, have, wanted)
                                : turned(v, have, wanted);
    have = wanted;
  }
  for (auto [d, a] : llvm::enumerate(onto))
    if (!llvm::is_contained(have, a))
      v = ExpandDimsOp::create(b, loc, v, d);
  return v.getType() == type ? v : Value(BroadcastOp::create(b, loc, type, v));
}

SmallVector<int64_t> BlockEvaluator::extentsOf(ArrayRef<int> some) const {
  return llvm::map_to_vector(some, [&](int a) { return axes[a].extent; });
}

Value BlockEvaluator::reshaped(Value v, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(v.getType()));
  return type == v.getType() ? v : Value(ReshapeOp::create(b, loc, type, v));
}

/// Transposes `v` from the axes `have` to the axes `wanted`. TransOp swaps the
/// last two dimensions, so adjacent axes are taken together as one dimension
/// and swapped with the ones before, as often as it takes.
Value BlockEvaluator::turned(Value v, SmallVector<int> have,
                             ArrayRef<int> wanted) {
  auto count = [&](ArrayRef<int> some) {
    return ShapedType::getNumElements(extentsOf(some));
  };
  for (size_t d = 0; d < wanted.size(); ++d) {
    auto *first = have.begin() + d, *at = llvm::find(have, wanted[d]);
    if (at == first)
      continue;
    // Swap the segment from here on with the one before it.
    ArrayRef<int> lead(have.begin(), first), between(first, at),
        rest(at, have.end());
    SmallVector<int64_t> shape{count(between), count(rest)};
    if (!lead.empty())
      shape.insert(shape.begin(), count(lead));
    v = TransOp::create(b, loc, reshaped(v, shape));
    std::rotate(first, at, have.end());
  }
  return reshaped(v, extentsOf(wanted));
}

/// The block of `load`, transposed from the axes `have` to `wanted`: loaded in
/// the other order through a transposed view, so nothing moves between threads.
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
                                           const Place &place,
                                           ArrayRef<int64_t> strides) {
  if (!isBox(place))
    return gathered(type, pointer, place);
  Access from = accessOf(type, pointer, place, strides);
  Value v = LoadOp::create(b, loc, from.view, from.indices, from.extents);
  return BlockValue{from.axes.empty() ? v : reshaped(v, extentsOf(from.axes)),
                    from.axes};
}

// The elements' places in memory, which is dense, as one number each. Elements
// outside get a number that no element has, and so the load's padding.
BlockValue BlockEvaluator::gathered(RankedTensorType type, Value pointer,
                                    const Place &place) {
  assert(!tiled.count(pointer) && "tiles are read as boxes only");
  SmallVector<int> onto = axesOf(place);
  auto number = [&](int64_t n) {
    Value v = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(n));
    return spread({v, {}}, onto);
  };
  Value at, inside;
  int64_t stride = 1;
  for (size_t d = place.size(); d-- > 0;) {
    const int64_t size = type.getDimSize(d);
    Value v = spread(numbers(place[d]), onto);
    // One unsigned comparison: below 0 is a large number.
    if (place[d].computed || place[d].axis >= 0 || place[d].constant) {
      Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, v,
                                       number(size));
      inside = inside ? Value(arith::AndIOp::create(b, loc, inside, is)) : is;
    }
    if (stride != 1)
      v = arith::MulIOp::create(b, loc, v, number(stride));
    at = at ? Value(arith::AddIOp::create(b, loc, at, v)) : v;
    stride *= size;
  }
  if (inside)
    at = arith::SelectOp::create(b, loc, inside, at, number(-1));
  SmallVector<int64_t> shape = extentsOf(onto);
  const int64_t count = ShapedType::getNumElements(shape);
  auto row = RankedTensorType::get({stride}, type.getElementType());
  Value v = LoadOp::create(b, loc, viewOf(row, pointer),
                           ValueRange{reshaped(at, {count})},
                           ArrayRef<int64_t>{count});
  return {reshaped(v, shape), onto};
}

// A block's place as a view and one index per dimension. An extent of -1 marks
// a dimension in which the block has a single number.
BlockEvaluator::Access BlockEvaluator::accessOf(RankedTensorType type,
                                                Value pointer,
                                                const Place &place,
                                                ArrayRef<int64_t> strides) {
  if (auto it = tiled.find(pointer); it != tiled.end())
    return tilesOf(type, pointer, place, it->second);
  Access a{viewOf(type, pointer, strides), {}, {}, {}};
  for (const Coordinate &c : place) {
    a.indices.push_back(indexOf(c));
    a.extents.push_back(c.axis < 0 ? -1 : axes[c.axis].extent);
    if (c.axis >= 0)
      a.axes.push_back(c.axis);
  }
  return a;
}

SmallVector<int64_t> BlockEvaluator::Access::shape() const {
  return llvm::to_vector(
      llvm::make_filter_range(extents, [](int64_t n) { return n >= 0; }));
}

// An access to tiled memory (bindTiles) in terms of a view whose dimensions are
// tiles and places in them. Within a tile of 64 numbers, row r and column c are
// at 4 r + c / 2 + 32 (c % 2). In fours, a tile has 16 rows of 8 columns, and
// row r + 8 h and column c are at 16 r + 4 (c / 2) + 2 h + c % 2.
BlockEvaluator::Access BlockEvaluator::tilesOf(RankedTensorType type,
                                               Value pointer,
                                               const Place &place,
                                               Tiles tiles) {
  unsigned last = type.getRank() - 1, rows = 0;
  while (ShapedType::getNumElements(type.getShape().drop_front(rows + 1)) !=
         tiles.numbers)
    ++rows;
  const bool inFours = tiles.inFours && type.getDimSize(rows) % 16 == 0;
  const int64_t tileRows = inFours ? 16 : 8, tileSize = 8 * tileRows;
  // From the innermost: within a tile, the tiles of a row of tiles, dimensions
  // between rows and columns, rows of tiles, dimensions before.
  SmallVector<int64_t> sizes, strides;
  int64_t step = tileSize * (type.getDimSize(last) / 8);
  SmallVector<int64_t> outer(last + 1);
  for (unsigned d = last; d-- > 0;) {
    outer[d] = step;
    step *= d == rows ? type.getDimSize(d) / tileRows : type.getDimSize(d);
  }
  Access a;
  auto add = [&](int64_t size, int64_t stride, Value index, int64_t extent) {
    sizes.push_back(size);
    strides.push_back(stride);
    a.indices.push_back(index);
    a.extents.push_back(extent);
  };
  Value none = constant(0);
  for (auto [d, c] : llvm::enumerate(place)) {
    int64_t size = type.getDimSize(d), extent = -1;
    Value index = indexOf(c);
    if (c.axis >= 0) {
      extent = axes[c.axis].extent;
      a.axes.push_back(c.axis);
    }
    if (d != rows && d != last) {
      add(size, outer[d], index, extent);
      continue;
    }
    if (d == last) { // whole tiles only
      assert(extent % 8 == 0 && "columns of a part of a tile");
      add(size / 8, tileSize, scaled<arith::DivUIOp>(index, 8), extent / 8);
      add(4, inFours ? 4 : 1, none, 4);
      add(2, inFours ? 1 : 32, none, 2);
      continue;
    }
    // Whole tiles, or 1, 2, 4 or 8 rows of one.
    const bool isWhole = extent % tileRows == 0;
    assert((isWhole || (extent > 0 && 8 % extent == 0)) && "parts of tiles");
    add(size / tileRows, outer[d], scaled<arith::DivUIOp>(index, tileRows),
        isWhole ? extent / tileRows : -1);
    Value inTile = isWhole ? none : scaled<arith::RemUIOp>(index, tileRows);
    if (inFours)
      add(2, 2, isWhole ? none : scaled<arith::DivUIOp>(inTile, 8),
          isWhole ? 2 : -1);
    add(8, inFours ? 16 : 4,
        isWhole || extent == 8 ? none : scaled<arith::RemUIOp>(inTile, 8),
        isWhole ? 8 : extent);
  }
  a.view = viewOf(RankedTensorType::get(sizes, type.getElementType()), pointer,
                  strides);
  return a;
}

LogicalResult BlockEvaluator::store(BlockValue block, RankedTensorType type,
                                    Value pointer, const Place &place) {
  Access to = accessOf(type, pointer, place);
  StoreOp::create(b, loc, spread(block, to.axes), to.view, to.indices,
                  to.extents);
  return success();
}

FailureOr<BlockValue> BlockEvaluator::evaluate(Value tensor,
                                               const Place &place) {
  Key key{tensor.getAsOpaquePointer(), {}};
  for (const Coordinate &c : place)
    key.second.push_back(c.key());
  // Fused ops share operands, so they evaluate the same block several times.
  auto it = known.find(key);
  // A value computed inside a loop is not available outside it.
  if (it != known.end()) {
    Region *made = it->second.value.getParentRegion();
    if (made->isAncestor(b.getInsertionBlock()->getParent()))
      return it->second;
  }
  // Outside every loop that the place does not depend on. This is what makes a
  // softmax's maximum a loop of its own before the loop that uses it.
  auto v = atLevel(levelOf(place), [&] { return compute(tensor, place); });
  if (succeeded(v))
    known[key] = *v;
  return v;
}

// How each kind of op gives a block. Reshapes of arguments are reads of dense
// memory under another shape and have been dealt with by then; reshapes of
// computed values have to fit the block.
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
  // A slice is the source a few numbers further on.
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
      if (wide > 1 && (c.axis >= 0 || c.computed))
        return collapsedBlock(collapse, place);
      // Split the dimension's index into digits; the last is fastest.
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
    if (place.empty()) // one number, and no group says in which dimensions
      moved.resize(collapse.getSrcType().getRank());
    return evaluate(collapse.getSrc(), moved);
  }
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    // A slice of a flat argument, reshaped to rows. The slice may start in the
    // middle of a row.
    auto slice = expand.getSrc().getDefiningOp<tensor::ExtractSliceOp>();
    Value pointer = slice ? pointers.lookup(slice.getSource()) : Value();
    if (pointer && isBox(place) && slice.getType().getRank() == 1 &&
        slice.hasUnitStride() &&
        !ShapedType::isDynamic(slice.getStaticOffset(0))) {
      SmallVector<int64_t> shape(type.getShape());
      SmallVector<int64_t> strides = computeStrides(shape);
      int64_t offset = slice.getStaticOffset(0), row = strides.front();
      bool aligned = offset % row == 0;
      size_t moves = aligned ? 0 : shape.size() - 1;
      offset /= aligned ? row : 1;
      Place moved(place);
      moved[moves].constant += offset;
      shape[moves] += offset;
      return load(RankedTensorType::get(shape, type.getElementType()), pointer,
                  moved, aligned ? ArrayRef<int64_t>() : strides);
    }
    return expandedBlock(expand, place);
  }
  return (op ? op->emitOpError() : emitError(loc))
         << "cannot be lowered to blocks";
}
