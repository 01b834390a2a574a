// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores and additions, one element at a time, each checked against the
// view's bounds.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile-to-host/HostBuilder.h"
#include "passes/tile-to-host/HostContext.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// A tensor in global memory as its parts.
struct View {
  Value pointer;                     // !llvm.ptr
  SmallVector<Value> sizes, strides; // index
  int unchecked = -1; // parameter whose array may be too small, or -1
};

/// The parts of a view. A parameter's size is checked before the launch; a view
/// made from a pointer may claim more than its array has, so its accesses are
/// checked against the array (`unchecked`).
FailureOr<View> viewOf(Value view, Operation *user, HostBuilder &h) {
  View v;
  if (auto turned = view.getDefiningOp<TransposedViewOp>()) {
    auto from = viewOf(turned.getView(), user, h);
    if (failed(from))
      return failure();
    v.pointer = from->pointer;
    v.unchecked = from->unchecked;
    for (int64_t d : turned.getPermutation()) {
      v.sizes.push_back(from->sizes[d]);
      v.strides.push_back(from->strides[d]);
    }
    return v;
  }
  Value root = view;
  SmallVector<OpFoldResult> sizes, strides;
  auto type = cast<ViewType>(view.getType());
  for (int64_t s : type.getShape())
    sizes.push_back(h.b.getIndexAttr(s));
  auto made = view.getDefiningOp<ViewOp>();
  if (made) {
    root = made.getPointer();
    sizes = made.getMixedSizes();
    strides = made.getMixedStrides();
  }
  auto argument = dyn_cast<BlockArgument>(root);
  if (!argument || argument.getOwner() != &h.kernel.getBody().front())
    return user->emitOpError("reaches memory whose pointer is no parameter of "
                             "the kernel, which the host cannot check");
  v.pointer = h.scalar(root);
  if (made)
    v.unchecked = int(argument.getArgNumber());
  auto asValue = [&](OpFoldResult o) -> Value {
    if (auto constant = getConstantIntValue(o))
      return h.index(*constant);
    return h.scalar(cast<Value>(o));
  };
  for (OpFoldResult s : sizes)
    v.sizes.push_back(asValue(s));
  for (OpFoldResult s : strides)
    v.strides.push_back(asValue(s));
  if (strides.empty()) { // each is the product of the later sizes
    v.strides.resize(sizes.size());
    Value product = h.index(1);
    for (size_t d = sizes.size(); d-- > 0;) {
      v.strides[d] = product;
      product = arith::MulIOp::create(h.b, h.loc, product, v.sizes[d]);
    }
  }
  return v;
}

int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

struct Place {
  Value inside, address;
};

/// The address of element `at` of an access; without extents there is only one.
Place placeOf(Operation *op, ValueRange indices, ArrayRef<int64_t> extents,
              const View &view, Type element, ValueRange at, HostBuilder &h) {
  OpBuilder &b = h.b;
  Value inside, offset = h.index(0);
  auto also = [&](Value c) {
    inside = inside ? Value(arith::AndIOp::create(b, h.loc, inside, c)) : c;
  };
  size_t next = 0;
  for (auto [d, given] : llvm::enumerate(indices)) {
    Value position;
    if (HostBuilder::isBlock(given)) {
      position = h.asIndex(h.element(given, at[next++]));
    } else {
      position = h.asIndex(h.scalar(given));
      if (!extents.empty() && extents[d] >= 0)
        position = arith::AddIOp::create(b, h.loc, position, at[next++]);
    }
    also(arith::CmpIOp::create(b, h.loc, arith::CmpIPredicate::sge, position,
                               h.index(0)));
    also(arith::CmpIOp::create(b, h.loc, arith::CmpIPredicate::slt, position,
                               view.sizes[d]));
    offset = arith::AddIOp::create(
        b, h.loc, offset,
        arith::MulIOp::create(b, h.loc, position, view.strides[d]));
  }
  if (!inside)
    inside = arith::ConstantIntOp::create(b, h.loc, b.getI1Type(), 1);
  offset = arith::IndexCastOp::create(
      b, h.loc, b.getI64Type(),
      arith::MulIOp::create(b, h.loc, offset, h.index(bytesOf(element))));
  if (view.unchecked >= 0) {
    // If the array is too small for one element, nothing is inside.
    Value last = arith::SubIOp::create(
        b, h.loc, h.word(hostcontext::bytes + view.unchecked),
        h.i64(bytesOf(element)));
    Value fits = arith::AndIOp::create(
        b, h.loc,
        arith::CmpIOp::create(b, h.loc, arith::CmpIPredicate::sge, offset,
                              h.i64(0)),
        arith::CmpIOp::create(b, h.loc, arith::CmpIPredicate::sle, offset,
                              last));
    Value isOutside = arith::XOrIOp::create(
        b, h.loc, fits,
        arith::ConstantIntOp::create(b, h.loc, b.getI1Type(), 1));
    h.check(arith::AndIOp::create(b, h.loc, inside, isOutside),
            op->getName().getStringRef() +
                " reaches outside of the array of parameter " +
                Twine(view.unchecked));
    also(fits);
  }
  Value address = LLVM::GEPOp::create(b, h.loc, view.pointer.getType(),
                                      b.getI8Type(), view.pointer, offset);
  return {inside, address};
}

Place placeOf(BlockAccessOpInterface op, const View &view, Type element,
              ValueRange at, HostBuilder &h) {
  return placeOf(op, op.getIndices(), op.getExtents(), view, element, at, h);
}

/// In memory an i1 is a byte, 0 or not.
Value loadFrom(Value address, Type element, HostBuilder &h) {
  OpBuilder &b = h.b;
  Type memory =
      element.getIntOrFloatBitWidth() <= 8 ? Type(b.getI8Type()) : element;
  Value v = LLVM::LoadOp::create(b, h.loc, memory, address,
                                 unsigned(bytesOf(element)));
  if (element.isInteger(1))
    return arith::CmpIOp::create(
        b, h.loc, arith::CmpIPredicate::ne, v,
        arith::ConstantIntOp::create(b, h.loc, b.getI8Type(), 0));
  return memory == element
             ? v
             : Value(arith::BitcastOp::create(b, h.loc, element, v));
}

void storeTo(Value v, Value address, HostBuilder &h) {
  OpBuilder &b = h.b;
  Type element = v.getType();
  if (element.isInteger(1))
    v = arith::ExtUIOp::create(b, h.loc, b.getI8Type(), v);
  else if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    v = arith::BitcastOp::create(b, h.loc, b.getI8Type(), v);
  LLVM::StoreOp::create(b, h.loc, v, address, unsigned(bytesOf(element)));
}

Value padding(LoadOp op, Type element, HostBuilder &h) {
  TypedAttr pad = op.getPadAttr();
  if (!pad)
    pad = cast<TypedAttr>(h.b.getZeroAttr(element));
  return arith::ConstantOp::create(h.b, h.loc, pad);
}

/// A branch for each element: outside of the view nothing may be read, not even
/// to be thrown away.
LogicalResult lowerLoad(LoadOp op, HostBuilder &h) {
  auto view = viewOf(op.getView(), op, h);
  if (failed(view))
    return failure();
  Type element = getElementTypeOrSelf(op.getType());
  auto load = [&](ValueRange at) -> Value {
    Place place = placeOf(op, *view, element, at, h);
    auto branch = scf::IfOp::create(h.b, h.loc, element, place.inside, true);
    OpBuilder::InsertionGuard guard(h.b);
    h.b.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(h.b, h.loc, loadFrom(place.address, element, h));
    h.b.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(h.b, h.loc, padding(op, element, h));
    return branch.getResult(0);
  };
  if (!HostBuilder::isBlock(op.getResult())) {
    h.scalars.map(op.getResult(), load({}));
    return success();
  }
  Value memory = h.make(op.getResult());
  h.forEach(op.getBlockShape(),
            [&](ValueRange at) { h.write(load(at), memory, at); });
  return success();
}

/// The sum stored by an addition. 16-bit numbers are added in f32 and rounded
/// once.
Value added(Value old, Value v, HostBuilder &h) {
  if (isa<FloatType>(v.getType()))
    return arith::AddFOp::create(h.b, h.loc, old, v);
  return arith::AddIOp::create(h.b, h.loc, old, v);
}

/// Programs run one after the other, so an addition is a load and a store.
LogicalResult lowerWrite(BlockAccessOpInterface op, Value value,
                         HostBuilder &h) {
  auto view = viewOf(op.getView(), op, h);
  if (failed(view))
    return failure();
  Type element = getElementTypeOrSelf(value.getType());
  bool adds = isa<AtomicAddOp>(op);
  if (adds && (element.isInteger(1) || (isa<FloatType>(element) &&
                                        element.getIntOrFloatBitWidth() == 8)))
    return op->emitOpError() << "has no addition for " << element;
  auto store = [&](ValueRange at) {
    Place place = placeOf(op, *view, element, at, h);
    auto branch =
        scf::IfOp::create(h.b, h.loc, TypeRange(), place.inside, false);
    OpBuilder::InsertionGuard guard(h.b);
    h.b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value v = h.element(value, at);
    if (adds)
      v = added(loadFrom(place.address, element, h), v, h);
    storeTo(v, place.address, h);
  };
  if (HostBuilder::isBlock(value))
    h.forEach(op.getBlockShape(), store);
  else
    store({});
  return success();
}

} // namespace

// Programs run in order, so a turn that has not come yet never comes: waiting
// is a check. Tickets are numbers in order.
LogicalResult act::tile::lowerTurn(Operation *op, HostBuilder &h) {
  Value v = op->getOperand(0);
  auto view = viewOf(v, op, h);
  if (failed(view))
    return failure();
  auto type = cast<ViewType>(v.getType());
  Type element = type.getElementType();
  Place place = placeOf(op, op->getOperands().slice(1, type.getRank()), {},
                        *view, element, {}, h);
  bool counts = op->getNumResults();
  auto branch =
      scf::IfOp::create(h.b, h.loc, counts ? TypeRange(element) : TypeRange(),
                        place.inside, counts);
  {
    OpBuilder::InsertionGuard guard(h.b);
    h.b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value now = loadFrom(place.address, element, h);
    if (auto wait = dyn_cast<WaitTurnOp>(op)) {
      Value turn = arith::IndexCastOp::create(h.b, h.loc, element,
                                              h.scalar(wait.getTurn()));
      h.check(arith::CmpIOp::create(h.b, h.loc, arith::CmpIPredicate::ne, now,
                                    turn),
              "waits for a turn that no program before has passed");
      return success();
    }
    Value one =
        arith::ConstantOp::create(h.b, h.loc, h.b.getIntegerAttr(element, 1));
    storeTo(added(now, one, h), place.address, h);
    if (counts) {
      scf::YieldOp::create(h.b, h.loc, now);
      h.b.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(h.b, h.loc,
                           ValueRange{arith::ConstantOp::create(
                               h.b, h.loc, h.b.getIntegerAttr(element, 0))});
    }
  }
  if (counts)
    h.scalars.map(op->getResult(0), h.asIndex(branch.getResult(0)));
  return success();
}

LogicalResult act::tile::lowerMemory(Operation *op, HostBuilder &h) {
  if (auto load = dyn_cast<LoadOp>(op))
    return lowerLoad(load, h);
  if (auto store = dyn_cast<StoreOp>(op))
    return lowerWrite(store, store.getValue(), h);
  auto add = cast<AtomicAddOp>(op);
  return lowerWrite(add, add.getValue(), h);
}
