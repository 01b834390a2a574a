// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/SplitMaskedLoopsNeutral.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/tile/SplitMaskedLoopsNumbering.h"

using namespace mlir;
using namespace act::tile;

namespace {

bool isSplat(Value v, function_ref<bool(const APFloat &)> test) {
  Attribute value;
  if (!matchPattern(v, m_Constant(&value)))
    return false;
  auto element = dyn_cast_or_null<FloatAttr>(elementOf(value));
  return element && test(element.getValue());
}

/// Whether all values computed from `values` in the loop are computed row by
/// row, with the row as their first dimension. Only then may a proof treat the
/// rows in which the maximum is -inf apart from the others: no row's result
/// depends on another row's case.
bool isByRows(scf::ForOp loop, ArrayRef<Value> values, int64_t rows) {
  llvm::SmallPtrSet<Value, 32> reached;
  auto hasRows = [&](Value v) {
    auto block = dyn_cast<RankedTensorType>(v.getType());
    return block && block.getDimSize(0) == rows;
  };
  for (Value v : values) {
    if (!hasRows(v))
      return false;
    reached.insert(v);
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value v) { return reached.contains(v); }))
      continue;
    auto expand = dyn_cast<ExpandDimsOp>(op);
    auto reduce = dyn_cast<ReduceOp>(op);
    auto dot = dyn_cast<DotOp>(op);
    bool kept = op.hasTrait<OpTrait::Elementwise>() ||
                (expand && expand.getAxis() > 0) || isa<BroadcastOp>(op) ||
                (reduce && reduce.getAxis() > 0 && reduce.getKind()) ||
                (dot && !reached.contains(dot.getB()));
    if (!kept || !llvm::all_of(op.getResults(), hasRows))
      return false;
    for (Value v : op.getOperands())
      if (reached.contains(v) && !hasRows(v))
        return false;
    reached.insert(op.result_begin(), op.result_end());
  }
  return true;
}

/// Whether all that reductions and products read of elementwise functions of
/// `values` is the same constant in both numberings. A row may mix elements of
/// both cases, some hidden by the mask and some -inf themselves. The numberings
/// assume one case for the whole row, so an op that combines elements must not
/// see a difference.
bool agree(scf::ForOp loop, ArrayRef<Value> values, Numbering &x,
           Numbering &y) {
  llvm::SmallPtrSet<Value, 32> reached(values.begin(), values.end());
  for (Operation &op : loop.getBody()->without_terminator())
    for (Value v : op.getOperands()) {
      if (!reached.contains(v))
        continue;
      if (op.hasTrait<OpTrait::Elementwise>())
        reached.insert(op.result_begin(), op.result_end());
      else if (!x.constantOf(v) || x.constantOf(v) != y.constantOf(v))
        return false;
    }
  return true;
}

/// By cases: in a row, a carried maximum is -inf or it is not. If it is,
/// nothing has been added up yet; this must hold at the start and after each
/// iteration.
bool provesByRows(scf::ForOp loop, unsigned maximum,
                  ArrayRef<std::pair<Value, bool>> facts) {
  Value m = loop.getRegionIterArgs()[maximum];
  auto next = loop.getYieldedValues()[maximum].getDefiningOp();
  auto isInfinite = [](Value v) {
    return isSplat(v, [](const APFloat &x) { return x.isNegInfinity(); });
  };
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(next) ||
      !llvm::is_contained(next->getOperands(), m) ||
      !isInfinite(loop.getInitArgs()[maximum]))
    return false;
  SmallVector<Value> sums, behind{next->getOperand(next->getOperand(0) == m)};
  SmallVector<unsigned> which;
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
    if (isSplat(init, [](const APFloat &x) { return x.isZero(); })) {
      sums.push_back(loop.getRegionIterArgs()[i]);
      which.push_back(i);
    }
  // A row's maximum is -inf if all its elements are; c ? x : -inf is -inf if c
  // is false or x is -inf.
  if (auto reduce = behind[0].getDefiningOp<ReduceOp>();
      reduce && reduce.getKind() == CombineKind::Max)
    behind.push_back(reduce.getInputs()[0]);
  SmallVector<Value> elements{behind.back()};
  auto choice = behind.back().getDefiningOp<arith::SelectOp>();
  bool taken = choice && isInfinite(choice.getFalseValue());
  if (choice && (taken || isInfinite(choice.getTrueValue())))
    elements.append({choice.getCondition(),
                     taken ? choice.getTrueValue() : choice.getFalseValue()});
  if (auto block = dyn_cast<RankedTensorType>(m.getType())) {
    SmallVector<Value> assumed(sums);
    assumed.push_back(m);
    llvm::append_range(assumed, behind);
    llvm::append_range(assumed, elements);
    if (!isByRows(loop, assumed, block.getDimSize(0)))
      return false;
  }
  auto element = [](Value v, bool infinite) {
    auto type = cast<FloatType>(getElementTypeOrSelf(v.getType()));
    const llvm::fltSemantics &form = type.getFloatSemantics();
    return FloatAttr::get(type, infinite ? APFloat::getInf(form, true)
                                         : APFloat::getZero(form));
  };
  // seen   the row has a finite maximum: the masked iteration changes nothing
  // empty  it has none, and its sums are 0: the masked iteration keeps that
  // first  it has none after any iteration: the element is -inf itself
  // other  the same, but a mask hides the element: in both the sums stay 0
  Numbering seen, empty, first, other;
  seen.assumeFinite(m);
  for (Numbering *n : {&empty, &first, &other}) {
    n->assume(m, element(m, true));
    for (Value sum : sums)
      n->assume(sum, element(sum, false));
  }
  for (Numbering *n : {&first, &other})
    for (Value v : behind)
      n->assume(v, element(v, true));
  if (elements.size() > 1) {
    Builder b(loop.getContext());
    first.assume(elements[1], b.getBoolAttr(taken));
    first.assume(elements[2], element(elements[2], true));
    other.assume(elements[1], b.getBoolAttr(!taken));
  }
  return seen.proves(loop, facts) && empty.proves(loop, facts) &&
         agree(loop, elements, first, other) &&
         llvm::all_of(which, [&](unsigned i) {
           Value next = loop.getYieldedValues()[i];
           return first.isZero(next) && other.isZero(next);
         });
}

} // namespace

bool act::tile::doesNothing(scf::ForOp loop,
                            ArrayRef<std::pair<Value, bool>> facts) {
  if (Numbering().proves(loop, facts))
    return true;
  return llvm::any_of(llvm::seq<unsigned>(loop.getNumRegionIterArgs()),
                      [&](unsigned i) { return provesByRows(loop, i, facts); });
}
