// SPDX-License-Identifier: Apache-2.0
//
// Inlines a score region with its derivative by forward mode. ScoreRegion.h has
// the idea; a null tangent is zero and makes no ops.
#include "dialects/act/ScoreRegion.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace act {

namespace {
/// The tangent of an op's result, from the op's cloned operands `x`, its result
/// `y` and the operands' tangents `dx` (null: zero).
class Tangent {
public:
  Tangent(Scalars &s, Operation *op, ValueRange x, Value y, ArrayRef<Value> dx)
      : s(s), op(op), x(x), y(y), dx(dx) {}

  Value get() {
    return TypeSwitch<Operation *, Value>(op)
        .Case([&](arith::AddFOp) { return sum(dx[0], dx[1]); })
        .Case([&](arith::SubFOp) { return sum(dx[0], times(s.f(-1), dx[1])); })
        .Case([&](arith::MulFOp) {
          return sum(times(x[1], dx[0]), times(x[0], dx[1]));
        })
        .Case([&](arith::DivFOp) {
          Value top = sum(dx[0], dx[1] ? times(s.neg(y), dx[1]) : Value());
          return s.div(top, x[1]);
        })
        .Case([&](arith::NegFOp) { return s.neg(dx[0]); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>(
            [&](Operation *) { return pick(arith::CmpFPredicate::OGE); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>(
            [&](Operation *) { return pick(arith::CmpFPredicate::OLE); })
        .Case([&](arith::SelectOp) {
          return s.select(x[0], orZero(dx[1]), orZero(dx[2]));
        })
        .Case([&](math::FmaOp) {
          return sum(sum(times(x[1], dx[0]), times(x[0], dx[1])), dx[2]);
        })
        .Case([&](math::ExpOp) { return times(y, dx[0]); })
        .Case([&](math::Exp2Op) { return times(s.mul(s.f(M_LN2), y), dx[0]); })
        .Case([&](math::LogOp) { return s.div(dx[0], x[0]); })
        .Case(
            [&](math::Log2Op) { return s.div(dx[0], s.mul(s.f(M_LN2), x[0])); })
        .Case([&](math::TanhOp) {
          return times(s.sub(s.f(1), s.mul(y, y)), dx[0]);
        })
        .Case([&](math::SqrtOp) { return s.div(times(s.f(0.5), dx[0]), y); })
        .Case([&](math::RsqrtOp) {
          return times(s.mul(s.f(-0.5), s.mul(y, s.mul(y, y))), dx[0]);
        })
        .Case([&](math::ErfOp) {
          Value e = s.exp(s.neg(s.mul(x[0], x[0])));
          return times(s.mul(s.f(2 / std::sqrt(M_PI)), e), dx[0]);
        })
        .Case([&](math::SinOp) {
          return times(math::CosOp::create(s.b, s.loc, x[0]), dx[0]);
        })
        .Case([&](math::CosOp) {
          return times(s.neg(math::SinOp::create(s.b, s.loc, x[0])), dx[0]);
        })
        .Case([&](math::AbsFOp) {
          Value one = math::CopySignOp::create(s.b, s.loc, s.f(1), x[0]);
          return times(one, dx[0]);
        })
        .Default([](Operation *) { return Value(); });
  }

  // The ops of get(), and comparisons, whose derivative is zero.
  static bool has(Operation *op) {
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
               arith::NegFOp, arith::MaximumFOp, arith::MaxNumFOp,
               arith::MinimumFOp, arith::MinNumFOp, arith::SelectOp,
               arith::CmpFOp, math::FmaOp, math::ExpOp, math::Exp2Op,
               math::LogOp, math::Log2Op, math::TanhOp, math::SqrtOp,
               math::RsqrtOp, math::ErfOp, math::SinOp, math::CosOp,
               math::AbsFOp>(op);
  }

private:
  Value sum(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    return s.add(a, b);
  }
  Value times(Value a, Value b) { return b ? s.mul(a, b) : Value(); }
  Value orZero(Value a) { return a ? a : s.f(0); }
  // At a tie the first operand's slope: any choice between the two is a
  // subgradient.
  Value pick(arith::CmpFPredicate first) {
    Value c = arith::CmpFOp::create(s.b, s.loc, first, x[0], x[1]);
    return s.select(c, orZero(dx[0]), orZero(dx[1]));
  }

  Scalars &s;
  Operation *op;
  ValueRange x;
  Value y;
  ArrayRef<Value> dx;
};
} // namespace

LogicalResult checkScoreRegion(Region &region, bool differentiated) {
  Block &block = region.front();
  llvm::DenseSet<Value> depends{block.getArgument(0)};
  for (Operation &op : block.without_terminator()) {
    if (op.getNumRegions() || op.getNumSuccessors() ||
        op.getNumResults() != 1 ||
        op.getResult(0).getType().isIntOrIndexOrFloat() == false)
      return op.emitOpError("in a score region is not a scalar operation");
    bool live = false;
    for (Value operand : op.getOperands()) {
      if (operand.getParentRegion() != &region)
        return op.emitOpError("in a score region uses a value from outside");
      live |= depends.contains(operand);
    }
    if (live && differentiated && !Tangent::has(&op))
      return op.emitOpError(
          "in a score region depends on the score but has no derivative");
    // A comparison is locally constant.
    if (live && !isa<arith::CmpFOp>(op))
      depends.insert(op.getResult(0));
  }
  return success();
}

ScoreAndSlope inlineScoreRegion(Scalars &s, Region &region, ValueRange args,
                                bool differentiated) {
  Block &block = region.front();
  IRMapping values;
  llvm::DenseMap<Value, Value> tangents;
  values.map(block.getArguments(), args);
  if (differentiated)
    tangents[block.getArgument(0)] = s.f(1);
  for (Operation &op : block.without_terminator()) {
    Operation *copy = s.b.clone(op, values);
    SmallVector<Value> dx;
    for (Value operand : op.getOperands())
      dx.push_back(tangents.lookup(operand));
    if (llvm::none_of(dx, [](Value t) { return bool(t); }))
      continue;
    Value tangent =
        Tangent(s, &op, copy->getOperands(), copy->getResult(0), dx).get();
    if (tangent)
      tangents[op.getResult(0)] = tangent;
  }
  Value yielded = block.getTerminator()->getOperand(0);
  return {values.lookup(yielded), tangents.lookup(yielded)};
}

} // namespace act
