// SPDX-License-Identifier: Apache-2.0
//
// For exp(x - b) with b from another loop: whether b always bounds x. Then each
// term is at most 1 with any b of the first loop's iterations, and so are the
// corrections exp(b - b'), since b only grows. Without the bound, a fused loop
// could overflow where the two loops do not.
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/FuseLoops.h"
#include <cmath>

using namespace mlir;
using namespace act::tile;

/// An exponent's sum, split into own terms, rows and logarithms of rows.
struct Dependence::Exponent {
  Factor::Kind kind;
  arith::FastMathFlags flags;
  /// Terms that depend on the iteration.
  SmallVector<std::tuple<Value, double, Along>> own;
  Factors rows, logarithms;
  SmallVector<Value> guards;
};

/// `v` without its constant factor, which goes into `scale`, or without a cast.
static Value scaledBy(Value v, double &scale) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<arith::NegFOp>(op)) {
    scale = -scale;
    return op->getOperand(0);
  }
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return op->getOperand(0);
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return nullptr;
  bool product = isa<arith::MulFOp>(op);
  for (unsigned i : {1u, 0u}) {
    auto constant = constantOf(op->getOperand(i));
    if (!constant || !std::isnormal(*constant) || (!product && i == 0))
      continue;
    scale = product ? scale * *constant : scale / *constant;
    return op->getOperand(1 - i);
  }
  return nullptr;
}

static bool isInfinity(Value v) {
  auto constant = constantOf(v);
  return constant && std::isinf(*constant);
}

// Guards keep exp(-inf - -inf), which is NaN, out of rows that are hidden so
// far. The comparison may be written in any of these ways.
Value Dependence::guarded(Value v) const {
  auto select = v.getDefiningOp<arith::SelectOp>();
  if (!select || !depends(select.getCondition()))
    return nullptr;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || !isInfinity(compare.getRhs()))
    return nullptr;
  using P = arith::CmpFPredicate;
  bool positive = *constantOf(compare.getRhs()) > 0;
  P p = compare.getPredicate();
  bool equal = p == P::OEQ || p == P::UEQ;
  bool unequal =
      p == P::UNE || p == P::ONE || p == (positive ? P::OLT : P::OGT);
  if (!equal && !unequal)
    return nullptr;
  Value value = equal ? select.getFalseValue() : select.getTrueValue();
  Value other = equal ? select.getTrueValue() : select.getFalseValue();
  return depends(value) && constantOf(other) ? value : Value();
}

bool Dependence::hasLogarithm(Value v) const {
  Operation *op = v.getDefiningOp();
  if (!op || op == a || !depends(v))
    return false;
  if (isa<math::LogOp, math::Log2Op>(op))
    return true;
  if (Value behind = guarded(v))
    return hasLogarithm(behind);
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::MulFOp,
             arith::DivFOp, ExpandDimsOp, BroadcastOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value o) { return hasLogarithm(o); });
}

/// Splits the exponent's sum `v`, times `scale`, into the parts of `out`. With
/// m and l from loop a,
///
///     x - (m + log(l))   own x, rows m, logarithms l: exp(x - m) / l
///
/// False if a part depends on a in another way.
bool Dependence::split(Value v, double scale, Along along, Exponent &out) {
  if (!depends(v)) {
    if (isInB(v))
      out.own.push_back({v, scale, along});
    return true;
  }
  if (Value inner = behindShape(v, along))
    return split(inner, scale, along, out);
  Operation *op = v.getDefiningOp();
  if (isRow(v) && !hasLogarithm(v)) {
    out.rows.push_back({out.kind, v, along, scale, out.flags});
    return true;
  }
  if (Value behind = guarded(v)) {
    out.guards.push_back(v);
    return split(behind, scale, along, out);
  }
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return split(op->getOperand(0), scale, along, out) &&
           split(op->getOperand(1), isa<arith::SubFOp>(op) ? -scale : scale,
                 along, out);
  if (isa<math::LogOp, math::Log2Op>(op)) {
    if (isa<math::LogOp>(op) != (out.kind == Factor::Exp) ||
        std::abs(scale) != 1 || isInB(v))
      return false;
    Factor f{scale > 0 ? Factor::Times : Factor::Over, op->getOperand(0),
             along};
    while (Value inner = behindShape(f.row, f.along))
      f.row = inner;
    out.logarithms.push_back(f);
    return true;
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  Value inner = scaledBy(v, scale);
  return inner && split(inner, scale, along, out);
}

/// The factors of exp(own + row): one term of the iteration and one row that
/// bounds it, apart from logarithms, which become factors outside of the
/// exponential.
std::optional<Factors> Dependence::exponential(Operation *op,
                                               Factor::Kind kind) {
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  Exponent e{kind, flags ? flags.getValue() : arith::FastMathFlags::none,
             {},   {},
             {},   {}};
  auto block = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  Along all = llvm::to_vector_of<int64_t, 4>(
      llvm::seq<int64_t>(block ? block.getRank() : 0));
  if (!split(op->getOperand(0), 1, all, e) || e.own.size() != 1 ||
      e.rows.size() != 1 || !canBeRepeated(e.rows[0].row))
    return std::nullopt;
  auto &[x, scale, along] = e.own[0];
  if (along != all)
    return std::nullopt;
  const Factor &row = e.rows[0];
  auto bound = bounded(x, scale, row.row, row.scale, row.along);
  if (!bound ||
      !llvm::all_of(e.guards, [&](Value g) { return isGuardOf(g, *bound); }))
    return std::nullopt;
  Factors factors = e.rows;
  factors[0].only = bound->only;
  factors.append(e.logarithms);
  return factors;
}

/// Whether the row is made of pure ops in one block, so that each iteration can
/// recompute it.
bool Dependence::canBeRepeated(Value row) const {
  Operation *op = row.getDefiningOp();
  if (!depends(row) || op == a)
    return true;
  return isMemoryEffectFree(op) && op->getNumResults() == 1 &&
         (op->getNumRegions() == 0 || isa<ReduceOp>(op)) &&
         op->getNumOperands() != 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value v) { return canBeRepeated(v); });
}

/// A guard may only test whether the running maximum is still -inf.
bool Dependence::isGuardOf(Value guard, Bound bound) {
  auto compare = guard.getDefiningOp<arith::SelectOp>()
                     .getCondition()
                     .getDefiningOp<arith::CmpFOp>();
  Value asked = compare.getLhs(), value = guarded(guard);
  double expected = bound.minimum ? INFINITY : -INFINITY;
  // Strip ops that keep infinities, up to the sign.
  auto strip = [&](auto &self, Value v) -> Value {
    Along none;
    if (Value inner = behindShape(v, none))
      return self(self, inner);
    double scale = 1;
    if (Value inner = scaledBy(v, scale)) {
      expected = scale < 0 ? -expected : expected;
      return self(self, inner);
    }
    auto sum = v.getDefiningOp<arith::AddFOp>();
    Operation *added = sum ? sum.getRhs().getDefiningOp() : nullptr;
    return isa_and_nonnull<math::LogOp, math::Log2Op>(added)
               ? self(self, sum.getLhs())
               : v;
  };
  Value maximum = a.getResult(bound.result);
  bool found = asked == value ? strip(strip, asked) == maximum
                              : strip(strip, asked) == maximum &&
                                    !asked.getDefiningOp<arith::AddFOp>();
  return found && constantOf(compare.getRhs()) == expected;
}

/// The values whose maximum or minimum the loop carries as `result`, if it is
/// one: the leaves of a tree of maxima in which the carried value is a leaf
/// too.
std::optional<SmallVector<Value>> Dependence::runningOf(unsigned result,
                                                        bool minimum) {
  Value own = a.getRegionIterArgs()[result];
  SmallVector<Value> all, left{a.getYieldedValues()[result]};
  bool found = false;
  while (!left.empty()) {
    Value v = left.pop_back_val();
    Operation *op = v.getDefiningOp();
    bool combines =
        minimum ? isa_and_nonnull<arith::MinimumFOp, arith::MinNumFOp>(op)
                : isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op);
    if (v == own)
      found = true;
    else if (combines && op->getBlock() == a.getBody())
      left.append({op->getOperand(0), op->getOperand(1)});
    else
      all.push_back(v);
  }
  if (!found || all.empty())
    return std::nullopt;
  return all;
}

std::optional<bool> Dependence::isMinimum(unsigned result) {
  for (bool minimum : {false, true})
    if (runningOf(result, minimum))
      return minimum;
  return std::nullopt;
}

/// The block that `v` is the maximum (`kind`) of; `along` gets its remaining
/// dimensions.
static Value behindReduce(Value v, CombineKind kind, Along &along) {
  auto block = dyn_cast<RankedTensorType>(v.getType());
  along = llvm::to_vector_of<int64_t, 4>(
      llvm::seq<int64_t>(block ? block.getRank() : 0));
  while (auto reduce = v.getDefiningOp<ReduceOp>()) {
    if (reduce.getKind() != kind)
      break;
    for (int64_t &d : along)
      d += d >= int64_t(reduce.getAxis());
    v = reduce.getInputs()[0];
  }
  return v;
}

/// Whether one of those leaves is the maximum of x over all dimensions but
/// `along`. The result says which elements of x it sees; empty means all.
std::optional<SmallVector<Where, 1>>
Dependence::isRunningMaximumOf(unsigned result, bool minimum, Value x,
                               ArrayRef<int64_t> along) {
  auto leaves = runningOf(result, minimum);
  for (Value leaf : leaves.value_or(SmallVector<Value>())) {
    Along kept;
    Value block =
        behindReduce(leaf, minimum ? CombineKind::Min : CombineKind::Max, kept);
    if (block.getType() != x.getType() || ArrayRef(kept) != along)
      continue;
    // The maximum's operand may be partly hidden.
    SmallVector<Where, 1> only;
    while (block && !same(block, x)) {
      auto select = block.getDefiningOp<arith::SelectOp>();
      double low = minimum ? INFINITY : -INFINITY;
      bool value = select && constantOf(select.getFalseValue()) == low;
      if (!value && !(select && constantOf(select.getTrueValue()) == low))
        block = nullptr;
      else
        only.push_back({select.getCondition(), value});
      if (block)
        block = value ? select.getTrueValue() : select.getFalseValue();
    }
    if (block)
      return only;
  }
  return std::nullopt;
}

/// c ? kept : 0. Elements that the first loop did not see are harmless if this
/// select hides them too.
std::optional<Factors> Dependence::selected(Value condition, bool value,
                                            Value kept) {
  auto factors = factorsOf(kept);
  if (factors)
    for (Factor &f : *factors) {
      f.hidden = !f.isExponential();
      llvm::erase_if(f.only, [&](const Where &w) {
        return w.value == value && same(w.condition, condition);
      });
    }
  return factors;
}

/// The result of a whose running maximum bounds scaleX x + scaleRow row;
/// `along` maps the row's dimensions to x's.
std::optional<Dependence::Bound> Dependence::bounded(Value x, double scaleX,
                                                     Value row, double scaleRow,
                                                     Along along) {
  if (!depends(row))
    return std::nullopt;
  if (row.getDefiningOp() == a) {
    unsigned result = cast<OpResult>(row).getResultNumber();
    bool minimum = scaleRow > 0;
    while (x) {
      // x and its bound have opposite factors, up to the rounding of constants.
      if (std::abs(scaleX + scaleRow) <= 1e-7 * std::abs(scaleX))
        if (auto only = isRunningMaximumOf(result, minimum, x, along))
          return Bound{result, minimum, *only};
      // Parts hidden from the maximum do not matter.
      if (auto select = x.getDefiningOp<arith::SelectOp>()) {
        double low = scaleX > 0 ? -INFINITY : INFINITY;
        x = constantOf(select.getFalseValue()) == low  ? select.getTrueValue()
            : constantOf(select.getTrueValue()) == low ? select.getFalseValue()
                                                       : Value();
      } else {
        x = scaledBy(x, scaleX);
      }
    }
    return std::nullopt;
  }
  if (Value inner = behindShape(row, along))
    return bounded(x, scaleX, inner, scaleRow, along);
  if (Value inner = guarded(row)) {
    auto bound = bounded(x, scaleX, inner, scaleRow, along);
    return bound && isGuardOf(row, *bound) ? bound : std::nullopt;
  }
  Operation *op = row.getDefiningOp();
  if (scaleRow < 0 ? isa<arith::MaximumFOp, arith::MaxNumFOp>(op)
                   : isa<arith::MinimumFOp, arith::MinNumFOp>(op)) {
    auto left = bounded(x, scaleX, op->getOperand(0), scaleRow, along);
    return left ? left : bounded(x, scaleX, op->getOperand(1), scaleRow, along);
  }
  // A constant offset affects all terms alike.
  if (isa<arith::AddFOp, arith::SubFOp>(op) && !depends(op->getOperand(1)))
    return bounded(x, scaleX, op->getOperand(0), scaleRow, along);
  if (isa<arith::AddFOp>(op) && !depends(op->getOperand(0)))
    return bounded(x, scaleX, op->getOperand(1), scaleRow, along);
  Value inner = scaledBy(row, scaleRow);
  return inner ? bounded(x, scaleX, inner, scaleRow, along) : std::nullopt;
}

bool act::tile::isFiniteBlock(Value v) {
  if (auto constant = constantOf(v))
    return std::isfinite(*constant);
  Operation *op = v.getDefiningOp();
  if (auto dot = dyn_cast_or_null<DotOp>(op))
    return !getElementTypeOrSelf(v.getType()).isF16(); // f16 overflows at 65504
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
    return true;
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op))
    return isFiniteBlock(
        loop.getYieldedValues()[cast<OpResult>(v).getResultNumber()]);
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isFiniteBlock(select.getTrueValue()) &&
           isFiniteBlock(select.getFalseValue());
  return isa_and_nonnull<arith::MulFOp, arith::AddFOp, arith::SubFOp,
                         arith::NegFOp, arith::ExtFOp, arith::TruncFOp,
                         math::TanhOp, ExpandDimsOp, BroadcastOp, TransOp>(
             op) &&
         llvm::all_of(op->getOperands(), isFiniteBlock);
}

bool Dependence::isFinite(unsigned result) {
  auto first = constantOf(a.getInitArgs()[result]);
  if (first && std::isfinite(*first))
    return true;
  for (bool minimum : {false, true})
    if (auto leaves = runningOf(result, minimum))
      for (Value leaf : *leaves) {
        Along kept;
        if (isFiniteBlock(behindReduce(
                leaf, minimum ? CombineKind::Min : CombineKind::Max, kept)))
          return true;
      }
  return false;
}
