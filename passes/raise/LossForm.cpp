// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/LossForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/raise/GatherForm.h"
#include "passes/raise/MaskForm.h"
#include "passes/raise/SoftmaxForm.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

/// Dimensions, but for those of size 1.
SmallVector<int64_t> wide(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes;
  for (int64_t n : shape)
    if (n != 1)
      sizes.push_back(n);
  return sizes;
}
/// Whether all of a tensor is read, its dimensions in order.
bool isWhole(const Term &term) { return term.ordered().has_value(); }

/// The tensor, if all of it is read in the order of `like`, which has as many
/// elements.
Value whole(const std::optional<Term> &term, Value like) {
  return term && isWhole(*term) &&
                 wide(typeOf(term->read.value).getShape()) ==
                     wide(typeOf(like).getShape())
             ? term->read.value
             : Value();
}

/// x, if the row is the maximum of x along the last dimension.
Value maximumOf(const std::optional<Term> &row) {
  auto max = row ? reductionOf(row->op()) : std::nullopt;
  return max && max->kind == ReductionForm::Max && isWhole(*row) &&
                 max->along == SmallVector<unsigned>{unsigned(
                                   typeOf(max->input).getRank() - 1)}
             ? max->input
             : Value();
}

/// z, if the row is log(sum(exp(z))) along the last dimension.
Value underLogSum(const std::optional<Term> &row) {
  if (!row || !row->is<math::LogOp>())
    return {};
  auto sum = row->input(0);
  if (sum && sum->is<math::AbsFOp>()) // a sum of exponentials is positive
    sum = sum->input(0);
  auto reduction = sum ? reductionOf(sum->op()) : std::nullopt;
  if (!reduction || reduction->kind != ReductionForm::Sum || !isWhole(*sum) ||
      reduction->along != SmallVector<unsigned>{
                              unsigned(typeOf(reduction->input).getRank() - 1)})
    return {};
  auto op = reduction->input.getDefiningOp<linalg::GenericOp>();
  if (!op || !Term::of(op).is<math::ExpOp>())
    return {};
  return whole(Term::of(op).input(0), reduction->input);
}

Term behindGuard(const Term &term);

/// x, if z is x minus its maximum along the last dimension; else z.
Value behindMaximum(Value z) {
  auto op = z.getDefiningOp<linalg::GenericOp>();
  if (!op || !Term::of(op).is<arith::SubFOp>())
    return z;
  Value x = whole(Term::of(op).input(0), z);
  auto row = Term::of(op).input(1);
  return x && row && maximumOf(behindGuard(*row)) == x ? x : z;
}

/// Behind a choice of 0 where the value is not finite.
Term behindGuard(const Term &term) {
  if (!term.is<arith::SelectOp>() || term.number(2) != 0.0)
    return term;
  auto kept = term.input(1), condition = term.input(0);
  auto isSmaller = [](const Term &t) {
    auto compare =
        dyn_cast_or_null<arith::CmpFOp>(t.form ? t.form->scalar : nullptr);
    auto limit = t.number(1);
    return compare && compare.getPredicate() == arith::CmpFPredicate::OLT &&
           limit && std::isinf(*limit);
  };
  if (!kept || !condition || !isSmaller(*condition))
    return term;
  auto size = condition->input(0);
  auto value = size && size->is<math::AbsFOp>() ? size->input(0) : std::nullopt;
  return value && *value == *kept ? *kept : term;
}

/// x, if the row is log(sum(exp(x))) along the last dimension, perhaps with the
/// maximum subtracted and added.
Value underLogSumExp(const Term &row) {
  if (row.is<math::LogOp>())
    return underLogSum(row);
  if (!row.is<arith::AddFOp>())
    return {};
  for (unsigned i : {0u, 1u}) {
    auto most = row.input(1 - i);
    Value shifted = underLogSum(row.input(i));
    Value x = shifted ? behindMaximum(shifted) : Value();
    if (x && most && maximumOf(behindGuard(*most)) == x)
      return x;
  }
  return {};
}

/// The logits whose log-probabilities a tensor is.
Value logitsOf(Value table) {
  auto op = table.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return {};
  Term term = Term::of(op);
  if (term.is<math::LogOp>()) {
    Value p = whole(term.input(0), table);
    auto quotient =
        p ? p.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
    auto match = quotient ? softmaxAt(quotient) : std::nullopt;
    return match && int64_t(match->axis) == typeOf(p).getRank() - 1
               ? match->input
               : Value();
  }
  if (!term.is<arith::SubFOp>())
    return {};
  Value z = whole(term.input(0), table);
  auto row = term.input(1);
  if (!z || !row)
    return {};
  if (underLogSum(row) == z)
    return behindMaximum(z);
  return underLogSumExp(*row) == z ? z : Value();
}

/// Labels, and the one that is not counted: whether labels differ from it.
struct Counted {
  Value labels;
  int64_t ignore;
  bool isEqual; ///< true where they are equal
};
std::optional<Counted> countedBy(const std::optional<Term> &condition) {
  if (!condition || !isWhole(*condition) || !condition->form)
    return std::nullopt;
  if (condition->is<arith::XOrIOp>()) {
    auto other = condition->withNumber();
    auto counted =
        other && other->second != 0 ? countedBy(other->first) : std::nullopt;
    if (counted)
      counted->isEqual = !counted->isEqual;
    return counted;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(condition->form->scalar);
  auto operands = compare ? condition->withNumber() : std::nullopt;
  if (!operands || (compare.getPredicate() != arith::CmpIPredicate::ne &&
                    compare.getPredicate() != arith::CmpIPredicate::eq))
    return std::nullopt;
  Term own = operands->first.behindCasts();
  if (!isWhole(own))
    return std::nullopt;
  Value labels = own.read.value;
  return Counted{labels, int64_t(operands->second),
                 compare.getPredicate() == arith::CmpIPredicate::eq};
}

/// The kept of a choice by `counted`: the operand where labels count, and the
/// other one.
std::optional<std::pair<unsigned, Counted>> keptBy(const Term &select) {
  auto counted = countedBy(select.input(0));
  if (!counted)
    return std::nullopt;
  return std::pair(counted->isEqual ? 2u : 1u, *counted);
}

struct Parts : LossMatch {
  std::optional<Counted> cleaned; ///< labels were replaced where not counted
};

std::optional<Parts> withLabels(Value logits, const std::optional<Term> &labels,
                                double factor) {
  if (!logits || !labels)
    return std::nullopt;
  Term own = labels->behindCasts();
  if (!isWhole(own))
    return std::nullopt;
  Parts parts;
  parts.logits = logits;
  parts.labels = own.read.value;
  parts.factor = factor;
  if (own.is<arith::SelectOp>())
    if (auto kept = keptBy(own); kept && own.number(3 - kept->first)) {
      auto through = own.input(kept->first);
      if (through && isWhole(through->behindCasts()) &&
          through->behindCasts().read.value == kept->second.labels)
        parts.cleaned = kept->second;
    }
  if (wide(typeOf(parts.labels).getShape()) !=
      wide(typeOf(logits).getShape().drop_back()))
    return std::nullopt;
  return parts;
}

/// Of a gather along the last dimension: the table, and the labels.
std::optional<std::pair<Value, Term>> pickedFrom(Operation *op) {
  if (auto gather = gatherOf(op)) {
    if (gather->at.empty())
      return std::nullopt;
    const unsigned last = gather->at.size() - 1;
    for (unsigned d = 0; d < last; ++d)
      if (gather->at[d].loop != d && typeOf(gather->table).getDimSize(d) != 1)
        return std::nullopt;
    auto labels = Term::of(gather->at[last].ids);
    if (labels)
      return std::pair(gather->table, *labels);
  }
  return std::nullopt;
}

Term wholeTerm(Value tensor) { return *Term::of(wholeRead(tensor)); }

/// The same where the table is one dimension, as TOSA has gathers: the
/// element's number is the sum of a row's number times the row's size, and of
/// the label.
std::optional<std::pair<Value, Term>> pickedFlat(Operation *op) {
  auto gather = gatherOf(op);
  if (!gather)
    return std::nullopt;
  std::optional<Read> ids;
  for (auto [d, index] : llvm::enumerate(gather->at)) {
    if (typeOf(gather->table).getDimSize(d) == 1)
      continue;
    if (ids || !index.ids)
      return std::nullopt;
    ids = index.ids;
  }
  Value table = gather->table;
  while (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      table.getDefiningOp()))
    table = table.getDefiningOp()->getOperand(0);
  auto numbers = Term::of(ids);
  auto sum = numbers ? reductionOf(numbers->op()) : std::nullopt;
  if (!sum || sum->kind != ReductionForm::Sum || typeOf(table).getRank() != 2 ||
      !isWhole(*numbers))
    return std::nullopt;
  auto product = sum->input.getDefiningOp<linalg::GenericOp>();
  if (!product || typeOf(sum->input).getShape().back() != 2 ||
      sum->along !=
          SmallVector<unsigned>{unsigned(typeOf(sum->input).getRank() - 1)} ||
      !Term::of(product).is<arith::MulIOp>())
    return std::nullopt;
  const int64_t rows = typeOf(table).getDimSize(0),
                classes = typeOf(table).getDimSize(1);
  for (unsigned i : {0u, 1u}) {
    auto factors = Term::of(product).input(i),
         pairs = Term::of(product).input(1 - i);
    DenseIntElementsAttr list;
    if (!factors || !pairs ||
        !matchPattern(factors->read.value, m_Constant(&list)) ||
        list.getNumElements() != 2 ||
        (*list.value_begin<APInt>()).getSExtValue() != classes ||
        (*(list.value_begin<APInt>() + 1)).getSExtValue() != 1)
      continue;
    auto concat = pairs->read.value.getDefiningOp<tensor::ConcatOp>();
    if (!concat || concat.getNumOperands() != 2 ||
        int64_t(concat.getDim()) != typeOf(concat.getResult()).getRank() - 1 ||
        !isWhole(*pairs))
      continue;
    auto first = typeOf(concat.getOperand(0)),
         second = typeOf(concat.getOperand(1));
    if (first.getNumElements() != rows || second.getNumElements() != rows)
      continue;
    const auto *row = llvm::find(first.getShape(), rows);
    if (row != first.getShape().end() &&
        countsAlong(wholeRead(concat.getOperand(0)),
                    row - first.getShape().begin(), first.getRank()))
      return std::pair(table, wholeTerm(concat.getOperand(1)));
  }
  return std::nullopt;
}

/// -loss for each label: what is read of log-probabilities.
std::optional<Parts> picked(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto pick = pickedFlat(op))
    return withLabels(logitsOf(pick->first), pick->second, -1);
  if (auto pick = pickedFrom(op))
    return withLabels(logitsOf(pick->first), pick->second, -1);
  // The sum of log-probabilities times [label = class].
  auto sum = reductionOf(op);
  if (!sum || sum->kind != ReductionForm::Sum ||
      sum->along !=
          SmallVector<unsigned>{unsigned(typeOf(sum->input).getRank() - 1)})
    return std::nullopt;
  auto product = sum->input.getDefiningOp<linalg::GenericOp>();
  if (!product || !Term::of(product).is<arith::MulFOp>())
    return std::nullopt;
  Term term = Term::of(product);
  for (unsigned i : {0u, 1u}) {
    auto hot = term.input(i);
    Value table = whole(term.input(1 - i), sum->input);
    if (!hot || !table || !hot->is<arith::UIToFPOp>())
      continue;
    auto equal = hot->input(0);
    if (!equal || !equal->is<arith::CmpIOp>() ||
        cast<arith::CmpIOp>(equal->form->scalar).getPredicate() !=
            arith::CmpIPredicate::eq)
      continue;
    for (unsigned k : {0u, 1u}) {
      auto classes = equal->input(k), labels = equal->input(1 - k);
      if (!classes || !labels ||
          !countsAlong(classes->read, term.read.dims.size() - 1,
                       term.read.dims.size()))
        continue;
      if (auto parts = withLabels(logitsOf(table), labels, -1))
        return parts;
    }
  }
  return std::nullopt;
}

std::optional<Parts> partsOf(Value v) {
  if (!isa<RankedTensorType>(v.getType()))
    return std::nullopt;
  if (auto parts = picked(v))
    return parts;
  auto next = [&](const std::optional<Term> &term, Value like) {
    Value source = whole(term, like);
    return source ? partsOf(source) : std::nullopt;
  };
  if (auto sum = reductionOf(v.getDefiningOp());
      sum && sum->kind == ReductionForm::Sum) {
    // The sum has to cover the whole tensor.
    if (!wide(typeOf(v).getShape()).empty())
      return std::nullopt;
    auto parts = next(wholeTerm(sum->input), sum->input);
    if (!parts || parts->reduction != Reduction::None)
      return std::nullopt;
    parts->reduction = Reduction::Sum;
    return parts;
  }
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || !elementwiseOf(op))
    return std::nullopt;
  Term term = Term::of(op);
  if (term.is<arith::NegFOp>()) {
    auto parts = next(term.input(0), v);
    if (parts)
      parts->factor = -parts->factor;
    return parts;
  }
  if (term.is<arith::SelectOp>()) {
    // No number where a label is no class, which none is.
    if (auto other = term.number(2); other && std::isnan(*other))
      return next(term.input(1), v);
    // 0 where labels are not counted.
    auto kept = keptBy(term);
    auto parts = kept && term.number(3 - kept->first) == 0.0
                     ? next(term.input(kept->first), v)
                     : std::nullopt;
    if (!parts || parts->reduction != Reduction::None || parts->ignore)
      return std::nullopt;
    if (parts->cleaned ? parts->cleaned->labels != kept->second.labels ||
                             parts->cleaned->ignore != kept->second.ignore
                       : parts->labels != kept->second.labels)
      return std::nullopt;
    parts->labels = kept->second.labels;
    parts->ignore = kept->second.ignore;
    parts->cleaned.reset();
    return parts;
  }
  if (term.is<arith::SubFOp>()) {
    // The logarithm of the sum, without the label's logit.
    auto sum = term.input(0), own = term.input(1);
    Value logits = sum && isWhole(*sum) ? underLogSumExp(*sum) : Value();
    if (own && own->is<arith::SelectOp>() && own->number(2) &&
        std::isnan(*own->number(2)))
      own = own->input(1);
    auto pick = own && isWhole(*own) ? pickedFrom(own->op()) : std::nullopt;
    if (!logits || !pick || pick->first != logits)
      return std::nullopt;
    return withLabels(logits, pick->second, 1);
  }
  if (!term.is<arith::MulFOp, arith::DivFOp>())
    return std::nullopt;
  if (auto scaled = term.withNumber()) {
    const bool divides = term.is<arith::DivFOp>();
    if (divides && term.number(0))
      return std::nullopt;
    auto parts = next(scaled->first, v);
    if (parts)
      parts->factor *= divides ? 1 / scaled->second : scaled->second;
    return parts;
  }
  // A sum by the number of counted labels, or times its reciprocal.
  auto total = term.input(0), count = term.input(1);
  if (term.is<arith::MulFOp>()) {
    if (total && total->is<arith::DivFOp>() && total->number(0) == 1.0)
      std::swap(total, count);
    if (!count || !count->is<arith::DivFOp>() || count->number(0) != 1.0)
      return std::nullopt;
    count = count->input(1);
  }
  auto parts = next(total, v);
  if (!parts || parts->reduction != Reduction::Sum || !parts->ignore || !count)
    return std::nullopt;
  if (count->is<arith::SIToFPOp, arith::UIToFPOp>())
    count = count->input(0);
  auto sum = count ? reductionOf(count->op()) : std::nullopt;
  if (!sum || sum->kind != ReductionForm::Sum)
    return std::nullopt;
  std::optional<Term> ones = wholeTerm(sum->input);
  while (ones && ones->is<arith::ExtUIOp, arith::UIToFPOp, arith::ExtSIOp>())
    ones = ones->input(0);
  auto counted = countedBy(ones);
  if (!counted || counted->isEqual || counted->labels != parts->labels ||
      counted->ignore != *parts->ignore ||
      wide(typeOf(sum->input).getShape()) !=
          wide(typeOf(parts->labels).getShape()))
    return std::nullopt;
  parts->reduction = Reduction::Mean;
  return parts;
}

} // namespace

std::optional<LossMatch> act::lossOf(Value value) {
  auto parts = partsOf(value);
  if (!parts)
    return std::nullopt;
  Type logits = typeOf(parts->logits).getElementType(),
       labels = typeOf(parts->labels).getElementType();
  if (!logits.isF32() || !(labels.isInteger(32) || labels.isInteger(64))) {
    for (Operation *user : value.getUsers()) // said once, of the largest
      if (user->getNumResults() == 1 && partsOf(user->getResult(0)))
        return std::nullopt;
    emitRemark(value.getLoc())
        << "raise-to-act: nearly a cross entropy: logits are " << logits
        << " and labels " << labels
        << ", expected f32 and integers of 32 or 64 bits";
    return std::nullopt;
  }
  LossMatch loss = *parts;
  // The mean, where each label counts.
  const double tokens = typeOf(loss.labels).getNumElements();
  if (loss.reduction == Reduction::Sum && !loss.ignore &&
      std::abs(std::abs(loss.factor) * tokens - 1) < 1e-6) {
    loss.reduction = Reduction::Mean;
    loss.factor = loss.factor < 0 ? -1 : 1;
  }
  return loss;
}
