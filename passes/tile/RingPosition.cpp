// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/RingPosition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/StagedLoads.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace act::tile;

namespace {

Value number(int64_t v, OpBuilder &b, Location loc) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
}

template <typename Op>
Value with(Value x, int64_t y, OpBuilder &b, Location loc) {
  return Op::create(b, loc, x, number(y, b, loc));
}

Value indexOf(Value slot, OpBuilder &b, Location loc) {
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), slot);
}

/// Whether loops give x and y the same value, as long as `assumed` ones are the
/// same. Counts start at constants, and grow by constants.
bool areEqual(Value x, Value y, std::set<std::pair<void *, void *>> &assumed) {
  if (x == y ||
      !assumed.insert({x.getAsOpaquePointer(), y.getAsOpaquePointer()}).second)
    return true;
  if (auto a = getConstantIntValue(x), b = getConstantIntValue(y); a && b)
    return *a == *b;
  if (auto a = x.getDefiningOp<arith::AddIOp>())
    if (auto b = y.getDefiningOp<arith::AddIOp>())
      return areEqual(a.getLhs(), b.getLhs(), assumed) &&
             areEqual(a.getRhs(), b.getRhs(), assumed);
  auto loopOf = [](Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v))
      return dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return v.getDefiningOp<scf::ForOp>();
  };
  auto numberOf = [](Value v) -> int64_t {
    if (auto argument = dyn_cast<BlockArgument>(v))
      return int64_t(argument.getArgNumber()) - 1; // behind the counter
    return cast<OpResult>(v).getResultNumber();
  };
  scf::ForOp loop = loopOf(x);
  if (!loop || loopOf(y) != loop || numberOf(x) < 0 || numberOf(y) < 0)
    return false;
  Operation *yield = loop.getBody()->getTerminator();
  return areEqual(loop.getInitArgs()[numberOf(x)],
                  loop.getInitArgs()[numberOf(y)], assumed) &&
         areEqual(loop.getRegionIterArg(numberOf(x)),
                  loop.getRegionIterArg(numberOf(y)), assumed) &&
         areEqual(yield->getOperand(numberOf(x)),
                  yield->getOperand(numberOf(y)), assumed);
}

} // namespace

void act::tile::mergeEqualCounts(Region &region) {
  region.walk([](scf::ForOp loop) {
    auto arguments = loop.getRegionIterArgs();
    for (size_t j = 1; j < arguments.size(); ++j)
      for (size_t i = 0; i < j && arguments[j].getType().isInteger(32); ++i) {
        std::set<std::pair<void *, void *>> assumed;
        if (arguments[i].getType() != arguments[j].getType() ||
            !areEqual(arguments[i], arguments[j], assumed))
          continue;
        arguments[j].replaceAllUsesWith(arguments[i]);
        loop.getResult(j).replaceAllUsesWith(loop.getResult(i));
        break;
      }
  });
}

size_t RingPosition::countCarried(int64_t slots) {
  return llvm::isPowerOf2_64(slots) ? 1 : 2;
}

RingPosition RingPosition::first(int64_t slots, OpBuilder &b, Location loc) {
  RingPosition p;
  p.slots = slots;
  p.values.assign(countCarried(slots), number(0, b, loc));
  return p;
}

RingPosition RingPosition::at(ValueRange carried) const {
  RingPosition p;
  p.slots = slots;
  p.values.assign(carried.begin(), carried.end());
  return p;
}

Value RingPosition::slot(OpBuilder &b, Location loc) const {
  return indexOf(isCount() ? with<arith::AndIOp>(values[0], slots - 1, b, loc)
                           : values[0],
                 b, loc);
}

Value RingPosition::parity(OpBuilder &b, Location loc) const {
  if (!isCount())
    return values[1];
  Value round = with<arith::ShRUIOp>(values[0], llvm::Log2_64(slots), b, loc);
  return with<arith::AndIOp>(round, 1, b, loc);
}

Value RingPosition::otherParity(OpBuilder &b, Location loc) const {
  return with<arith::XOrIOp>(parity(b, loc), 1, b, loc);
}

RingPosition RingPosition::next(OpBuilder &b, Location loc) const {
  if (isCount())
    return at(with<arith::AddIOp>(values[0], 1, b, loc));
  Value slot = nextSlot(values[0], slots, b, loc);
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, slot,
                                      number(0, b, loc));
  return at({slot, arith::SelectOp::create(b, loc, wraps, otherParity(b, loc),
                                           values[1])});
}

Value RingPosition::slotBefore(OpBuilder &b, Location loc) const {
  Value before = with<arith::SubIOp>(values[0], 1, b, loc);
  if (isCount())
    return indexOf(with<arith::AndIOp>(before, slots - 1, b, loc), b, loc);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        values[0], number(0, b, loc));
  return indexOf(arith::SelectOp::create(b, loc, isFirst,
                                         number(slots - 1, b, loc), before),
                 b, loc);
}
