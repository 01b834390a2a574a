// SPDX-License-Identifier: Apache-2.0
//
// Builds the fused loop:
//
//     for j, with m and l carried:
//       a's body                     m' from m
//       m0 = m' == -inf ? 0 : m'     unless m' is surely finite
//       b's body without dependence
//       l' = l * exp(m - m') + exp(x - m0)
//     l = l0 + factors that leave * l
//
// A sum starts from 0 in the loop: b's initial value l0 has none of the
// factors, so it is added at the end.
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/FuseLoops.h"

using namespace mlir;
using namespace act::tile;

namespace {

class Merge {
public:
  Merge(Dependence &d) : d(d), a(d.a), b(d.b), builder(d.a), loc(b.getLoc()) {}
  scf::ForOp run();

private:
  using Memory = DenseMap<Value, Value>;
  Value splat(Type type, double number);
  Value spread(Value row, Along along, Type type);
  Value converted(Value v, Type element);
  Value row(Value v, Memory &results, bool inSum);
  Value exponent(Value v);
  Value term(Value v);
  Value correction(const Factor &f, Type type);
  void guard(Value row);
  void writeBody(scf::ForOp loop);
  Value finish(unsigned k, scf::ForOp loop);
  Operation *copy(Operation *op, ValueRange operands);
  Value sumOf(Operation *op, Value left, Value right);

  Dependence &d;
  scf::ForOp a, b;
  OpBuilder builder;
  Location loc;
  IRMapping map;        // b's own values
  Memory before, after; // a's results before and after this iteration
  DenseMap<Value, Value> terms;
  DenseSet<unsigned> guarded; // results of a
};

Value Merge::splat(Type type, double number) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr value = builder.getFloatAttr(element, number);
  if (auto block = dyn_cast<RankedTensorType>(type))
    value = DenseElementsAttr::get(block, value);
  return arith::ConstantOp::create(builder, loc, value);
}

/// A row's elements repeated over a block.
Value Merge::spread(Value row, Along along, Type type) {
  auto block = dyn_cast<RankedTensorType>(type);
  if (!block || row.getType() == type)
    return row;
  auto have = dyn_cast<RankedTensorType>(row.getType());
  if (!have)
    return tensor::SplatOp::create(builder, loc, block, row);
  if (llvm::is_contained(along, -1)) {
    SmallVector<int64_t> shape;
    for (auto [d, size] : llvm::zip(along, have.getShape()))
      if (d >= 0)
        shape.push_back(size);
    llvm::erase(along, -1);
    Type element = have.getElementType();
    if (shape.empty()) {
      // A single number; a block of one element equals its sum.
      for (int64_t r = have.getRank(); r > 0; --r)
        row = ReduceOp::create(builder, loc, CombineKind::Add, row, r - 1)
                  .getResult(0);
      return spread(row, {}, type);
    }
    row = ReshapeOp::create(builder, loc, RankedTensorType::get(shape, element),
                            row);
  }
  for (int64_t dim = 0; dim < block.getRank(); ++dim)
    if (!llvm::is_contained(along, dim))
      row = ExpandDimsOp::create(builder, loc, row, dim);
  return row.getType() == type
             ? row
             : Value(BroadcastOp::create(builder, loc, type, row));
}

Value Merge::converted(Value v, Type element) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == element)
    return v;
  Type to = element;
  if (auto block = dyn_cast<RankedTensorType>(v.getType()))
    to = block.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, to, v);
  return arith::TruncFOp::create(builder, loc, to, v);
}

Operation *Merge::copy(Operation *op, ValueRange operands) {
  Operation *c = builder.clone(*op);
  c->setOperands(operands);
  return c;
}

/// A sum or difference that may have lost an operand.
Value Merge::sumOf(Operation *op, Value left, Value right) {
  if (left && right)
    return copy(op, {left, right})->getResult(0);
  if (right && isa<arith::SubFOp>(op))
    return arith::NegFOp::create(builder, loc, right);
  return left ? left : right;
}

/// Recomputes values between the loops for other results of a. `inSum`: v is a
/// term of an exponent, whose logarithms leave as factors; null if all of it
/// leaves.
Value Merge::row(Value v, Memory &results, bool inSum) {
  if (!d.depends(v))
    return v;
  if (!inSum || v.getDefiningOp() == a)
    if (Value known = results.lookup(v))
      return known;
  if (Value behind = d.guarded(v))
    return row(behind, results, inSum);
  Operation *op = v.getDefiningOp();
  if (inSum && isa<math::LogOp, math::Log2Op>(op))
    return nullptr;
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return sumOf(op, row(op->getOperand(0), results, inSum),
                 row(op->getOperand(1), results, inSum));
  inSum &= isa<arith::NegFOp, arith::MulFOp, arith::DivFOp, ExpandDimsOp,
               BroadcastOp, tensor::SplatOp>(op);
  SmallVector<Value> operands;
  for (Value o : op->getOperands()) {
    operands.push_back(row(o, results, inSum));
    if (!operands.back())
      return nullptr;
  }
  Value made = copy(op, operands)->getResult(0);
  if (!inSum)
    results[v] = made;
  return made;
}

/// A part of an exponent without logarithms of rows.
Value Merge::exponent(Value v) {
  if (!d.depends(v))
    return map.lookupOrDefault(v);
  if (d.isRow(v))
    return row(v, after, /*inSum=*/true);
  Operation *op = v.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return sumOf(op, exponent(op->getOperand(0)), exponent(op->getOperand(1)));
  SmallVector<Value> operands;
  for (Value o : op->getOperands()) {
    operands.push_back(exponent(o));
    if (!operands.back())
      return nullptr;
  }
  return copy(op, operands)->getResult(0);
}

/// A term, or part of one, without the factors that leave the loop.
Value Merge::term(Value v) {
  if (!d.depends(v))
    return map.lookupOrDefault(v);
  if (Value known = terms.lookup(v))
    return known;
  if (d.isRow(v))
    return splat(v.getType(), 1);
  Operation *op = v.getDefiningOp();
  SmallVector<Value> operands;
  for (Value o : op->getOperands())
    operands.push_back(isa<math::ExpOp, math::Exp2Op>(op) ? exponent(o)
                                                          : term(o));
  return terms[v] = copy(op, operands)->getResult(0);
}

/// exp(scale * (new row - old row)), for a sum of this type.
Value Merge::correction(const Factor &f, Type type) {
  Value old = row(f.row, before, false), now = row(f.row, after, false);
  // In the sum's type if that is wider: the difference of two narrow numbers
  // need not be a narrow number.
  Type element = getElementTypeOrSelf(type);
  if (getElementTypeOrSelf(old.getType()).getIntOrFloatBitWidth() <
      element.getIntOrFloatBitWidth()) {
    old = converted(old, element);
    now = converted(now, element);
  }
  Value change = f.scale < 0 ? arith::SubFOp::create(builder, loc, old, now)
                             : arith::SubFOp::create(builder, loc, now, old);
  if (double size = std::abs(f.scale); size != 1)
    change = arith::MulFOp::create(builder, loc, change,
                                   splat(change.getType(), size));
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(), f.flags);
  Value c = f.kind == Factor::Exp
                ? Value(math::ExpOp::create(builder, loc, change, flags))
                : Value(math::Exp2Op::create(builder, loc, change, flags));
  return spread(converted(c, element), f.along, type);
}

/// While a maximum is infinite, terms use 0 for it.
void Merge::guard(Value row) {
  if (!d.depends(row))
    return;
  if (Value behind = d.guarded(row))
    return guard(behind);
  if (row.getDefiningOp() != a) {
    for (Value o : row.getDefiningOp()->getOperands())
      guard(o);
    return;
  }
  unsigned k = cast<OpResult>(row).getResultNumber();
  Value &now = after[row];
  auto minimum = d.isMinimum(k);
  if (!minimum || !guarded.insert(k).second || d.isFinite(k))
    return;
  Value never = splat(now.getType(), *minimum ? INFINITY : -INFINITY);
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                     now, never);
  now =
      arith::SelectOp::create(builder, loc, none, splat(now.getType(), 0), now);
}

/// First a's iteration, then what b computes without a, then the corrected
/// sums, then the terms that depend on a, with a's results of this iteration.
void Merge::writeBody(scf::ForOp loop) {
  OpBuilder::InsertionGuard here(builder);
  Block *body = loop.getBody();
  body->clear();
  builder.setInsertionPointToStart(body);
  unsigned n = a.getNumRegionIterArgs();
  auto carried = loop.getRegionIterArgs();

  IRMapping first;
  first.map(a.getInductionVar(), loop.getInductionVar());
  first.map(a.getRegionIterArgs(), carried.take_front(n));
  for (Operation &op : a.getBody()->without_terminator())
    builder.clone(op, first);
  SmallVector<Value> yields;
  for (auto [k, v] : llvm::enumerate(a.getYieldedValues())) {
    Value now = first.lookupOrDefault(v);
    yields.push_back(now);
    before[a.getResult(k)] = carried[k];
    after[a.getResult(k)] = now;
  }
  for (auto &factors : d.carried)
    for (const Factor &f : factors.value_or(Factors()))
      if (f.isExponential())
        guard(f.row);

  map.map(b.getInductionVar(), loop.getInductionVar());
  map.map(b.getRegionIterArgs(), carried.drop_front(n));
  for (Operation &op : b.getBody()->without_terminator())
    if (!d.depends(&op))
      builder.clone(op, map);
  for (auto [k, factors] : llvm::enumerate(d.carried)) {
    if (!factors)
      continue;
    Value sum = carried[n + k];
    for (const Factor &f : *factors)
      if (f.isExponential())
        sum = arith::MulFOp::create(builder, loc, sum,
                                    correction(f, sum.getType()));
    map.map(b.getRegionIterArgs()[k], sum);
  }
  for (auto [k, v] : llvm::enumerate(b.getYieldedValues()))
    yields.push_back(d.carried[k] ? term(v) : map.lookupOrDefault(v));
  scf::YieldOp::create(builder, loc, yields);
}

/// The result of b's sum `k`, after the loop: times the factors that left it,
/// plus b's initial value.
Value Merge::finish(unsigned k, scf::ForOp loop) {
  Value sum = loop.getResult(a.getNumResults() + k);
  if (!d.carried[k])
    return sum;
  Type type = sum.getType();
  Value unscaled = sum;
  for (const Factor &f : *d.carried[k]) {
    if (f.isExponential())
      continue;
    Value by = f.row;
    if (by.getDefiningOp() == a)
      by = loop.getResult(cast<OpResult>(by).getResultNumber());
    by = spread(converted(by, getElementTypeOrSelf(type)), f.along, type);
    sum = f.kind == Factor::Times
              ? Value(arith::MulFOp::create(builder, loc, sum, by))
              : Value(arith::DivFOp::create(builder, loc, sum, by));
  }
  // A sum of hidden terms is 0, whatever its scale: with l = 0 in a row without
  // visible terms, 0 / l would be NaN.
  if (llvm::any_of(*d.carried[k], [](const Factor &f) { return f.hidden; })) {
    Value nothing = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, unscaled, splat(type, 0));
    sum = arith::SelectOp::create(builder, loc, nothing, unscaled, sum);
  }
  // An empty loop adds nothing, so there is nothing to scale.
  auto from = getConstantIntValue(b.getLowerBound()),
       to = getConstantIntValue(b.getUpperBound());
  if (sum != unscaled && !(from && to && *from < *to)) {
    Value any =
        arith::CmpIOp::create(builder, loc,
                              b.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                                 : arith::CmpIPredicate::slt,
                              b.getLowerBound(), b.getUpperBound());
    sum = arith::SelectOp::create(builder, loc, any, sum, unscaled);
  }
  Value first = b.getInitArgs()[k];
  if (constantOf(first) != 0.0)
    sum = arith::AddFOp::create(builder, loc, first, sum);
  return sum;
}

/// Ops between the loops that do not depend on a move before it. Those that do
/// stay between them: their users are outside of b, or in b, where terms use
/// other values instead.
scf::ForOp Merge::run() {
  for (Operation *op = a->getNextNode(), *next; op != b; op = next) {
    next = op->getNextNode();
    if (!d.depends(op))
      op->moveBefore(a);
  }
  SmallVector<Value> first(a.getInitArgs());
  for (auto [k, v] : llvm::enumerate(b.getInitArgs()))
    first.push_back(d.carried[k] ? splat(v.getType(), 0) : v);
  auto loop = scf::ForOp::create(
      builder, a.getLoc(), a.getLowerBound(), a.getUpperBound(), a.getStep(),
      first, [](OpBuilder &, Location, Value, ValueRange) {},
      a.getUnsignedCmp());
  writeBody(loop);
  builder.setInsertionPoint(b);
  for (auto [k, v] : llvm::enumerate(a.getResults()))
    v.replaceAllUsesWith(loop.getResult(k));
  for (auto [k, v] : llvm::enumerate(b.getResults()))
    v.replaceAllUsesWith(finish(k, loop));
  b.erase();
  a.erase();
  return loop;
}

} // namespace

scf::ForOp act::tile::fuse(Dependence &d) { return Merge(d).run(); }
