// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/EmptySteps.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Bits of a number, and elements that are tested at once.
constexpr int64_t mostSteps = 64, fewestSteps = 16, mostElements = 8192;

class Steps {
public:
  explicit Steps(scf::IfOp when)
      : when(when), loop(dyn_cast<scf::ForOp>(when->getParentOp())) {}
  bool find();
  void apply();

private:
  bool addSlice(Value v);
  Value bitsFrom(Value start, OpBuilder &b);
  ValueRange runSteps(Value start, ValueRange sums, OpBuilder &b);

  scf::IfOp when;
  scf::ForOp loop;
  ReduceOp test;
  SetVector<Operation *> slice; // what the test is computed from, in order
  int64_t from = 0, step = 0, steps = 0, together = 0;
};

/// Rows of `step` elements: loads at the loop's index, and what is computed
/// from them element by element.
bool Steps::addSlice(Value v) {
  auto row = dyn_cast<RankedTensorType>(v.getType());
  Operation *op = v.getDefiningOp();
  if (loop.isDefinedOutsideOfLoop(v)) {
    // A block has as many elements as are tested at once.
    if (row && !isa_and_nonnull<arith::ConstantOp, tensor::SplatOp>(op))
      return false;
    if (row)
      slice.insert(op);
    return true;
  }
  if (!op || op->getBlock() != loop.getBody())
    return false;
  if (slice.contains(op))
    return true;
  if (!row) {
    // A number is the same in all iterations, or else it is not known.
    if (!isMemoryEffectFree(op) || op->getNumRegions())
      return false;
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    if (row.getRank() != 1 || row.getDimSize(0) != step || load.getPad() ||
        load.getIndices().back() != loop.getInductionVar() ||
        !llvm::all_of(load.getIndices().drop_back(), [&](Value index) {
          return loop.isDefinedOutsideOfLoop(index);
        }))
      return false;
    slice.insert(op);
    return loop.isDefinedOutsideOfLoop(load.getView());
  } else if (row.getRank() != 1 || row.getDimSize(0) != step ||
             !(OpTrait::hasElementwiseMappableTraits(op) ||
               isa<arith::ConstantOp, tensor::SplatOp>(op))) {
    return false;
  }
  if (!llvm::all_of(op->getOperands(), [&](Value o) { return addSlice(o); }))
    return false;
  slice.insert(op);
  return true;
}

bool Steps::find() {
  test = when.getCondition().getDefiningOp<ReduceOp>();
  if (!loop || !test || test.getKind() != CombineKind::Or ||
      test->getBlock() != loop.getBody())
    return false;
  auto known = [](Value v) { return getConstantIntValue(v); };
  auto lower = known(loop.getLowerBound()), upper = known(loop.getUpperBound()),
       by = known(loop.getStep());
  if (!lower || !upper || !by || (*upper - *lower) % *by)
    return false;
  from = *lower;
  step = *by;
  steps = (*upper - *lower) / step;
  // As many steps at a time as divide all of them.
  for (together = std::min(steps, mostSteps); together >= fewestSteps;
       --together)
    if (steps % together == 0 && together * step <= mostElements)
      break;
  // The loop's results are those of the branch, and it does nothing else.
  Operation *end = loop.getBody()->getTerminator();
  // An iteration without the branch leaves them alone.
  if (together < fewestSteps || when.getElseRegion().empty() ||
      end->getOperands() != ValueRange(when.getResults()) ||
      when.elseYield().getOperands() != ValueRange(loop.getRegionIterArgs()) ||
      !addSlice(test.getOperand(0)))
    return false;
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != when && !isMemoryEffectFree(&op) && !isa<LoadOp>(op))
      return false;
  // Nothing is written while the loop runs.
  return !when.walk([](Operation *op) {
                return isa<StoreOp, AtomicAddOp>(op) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
              })
              .wasInterrupted();
}

/// A bit for each of the steps from `start` on, the first one lowest.
Value Steps::bitsFrom(Value start, OpBuilder &b) {
  Location loc = test.getLoc();
  const int64_t all = together * step;
  IRMapping map;
  for (Operation *op : slice) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      SmallVector<Value> indices(load.getIndices());
      indices.back() = start;
      SmallVector<int64_t> extents(load.getExtents());
      extents.back() = all;
      map.map(
          load.getResult(),
          LoadOp::create(b, loc, load.getView(), indices, extents).getResult());
      continue;
    }
    Operation *wide = b.clone(*op, map);
    for (Value r : wide->getResults())
      if (auto type = dyn_cast<RankedTensorType>(r.getType()))
        r.setType(type.clone(ArrayRef(all)));
    if (auto constant = dyn_cast<arith::ConstantOp>(wide))
      if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(
            elements.resizeSplat(cast<ShapedType>(constant.getType())));
  }
  auto flags = RankedTensorType::get({together, step}, b.getI1Type()),
       words = RankedTensorType::get(ArrayRef(together), b.getI64Type());
  auto dense = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(words, b.getI64IntegerAttr(v)));
  };
  Value near =
      ReshapeOp::create(b, loc, flags, map.lookup(Value(test.getOperand(0))));
  Value any = ReduceOp::create(b, loc, CombineKind::Or, near, 1).getResult(0);
  Value place = IotaOp::create(b, loc, 0, together);
  Value bit = arith::ShLIOp::create(
      b, loc, dense(1), arith::ExtUIOp::create(b, loc, words, place));
  Value mine = arith::SelectOp::create(b, loc, any, bit, dense(0));
  return ReduceOp::create(b, loc, CombineKind::Or, mine, 0).getResult(0);
}

/// The steps from `start` on that have a bit, in order.
ValueRange Steps::runSteps(Value start, ValueRange sums, OpBuilder &b) {
  Location loc = loop.getLoc();
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value bits = bitsFrom(start, b);
  Value count = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           math::CtPopOp::create(b, loc, bits));
  SmallVector<Value> carried{bits};
  llvm::append_range(carried, sums);
  auto mine = scf::ForOp::create(b, loc, index(0), count, index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(mine.getBody());
  Value left = mine.getRegionIterArg(0);
  Value lowest = arith::IndexCastOp::create(
      b, loc, b.getIndexType(),
      math::CountTrailingZerosOp::create(b, loc, left));
  Value at = arith::AddIOp::create(
      b, loc, start, arith::MulIOp::create(b, loc, lowest, index(step)));
  auto number = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
  };
  IRMapping map;
  map.map(loop.getInductionVar(), at);
  map.map(loop.getRegionIterArgs(), mine.getRegionIterArgs().drop_front());
  // The dot stays in a branch, which loads its operands on its own.
  map.map(
      test.getResult(0),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left, number(0)));
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != test)
      b.clone(op, map);
  Value next = arith::AndIOp::create(
      b, loc, left, arith::SubIOp::create(b, loc, left, number(1)));
  SmallVector<Value> results{next};
  for (Value r : when.getResults())
    results.push_back(map.lookup(r));
  scf::YieldOp::create(b, loc, results);
  return mine.getResults().drop_front();
}

void Steps::apply() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  SmallVector<Value> results;
  if (together == steps) {
    llvm::append_range(results, runSteps(index(from), loop.getInitArgs(), b));
  } else {
    auto outer =
        scf::ForOp::create(b, loc, index(from), index(from + steps * step),
                           index(together * step), loop.getInitArgs());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(outer.getBody());
    scf::YieldOp::create(
        b, loc,
        runSteps(outer.getInductionVar(), outer.getRegionIterArgs(), b));
    llvm::append_range(results, outer.getResults());
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

} // namespace

void act::tile::skipEmptySteps(scf::IfOp when) {
  if (Steps steps(when); steps.find())
    steps.apply();
}
