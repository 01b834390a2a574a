// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/SoftmaxForm.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

/// The sum or maximum that an op reads along all but one dimension, behind
/// broadcasts.
std::optional<std::pair<ReductionForm, unsigned>>
reducedRow(const Elementwise::Input &input, unsigned rank) {
  if (!input.read)
    return std::nullopt;
  Read read = lookThrough(*input.read);
  auto reduction = reductionOf(read.value.getDefiningOp());
  if (!reduction || reduction->along.size() != 1 ||
      typeOf(reduction->input).getRank() != int64_t(rank))
    return std::nullopt;
  SmallVector<unsigned> rest;
  for (unsigned d = 0; d < rank; ++d)
    if (d != reduction->along[0])
      rest.push_back(d);
  // A dimension of size 1 may be read as none.
  SmallVector<unsigned> present = read.present(), wide;
  for (unsigned d : rest)
    if (typeOf(reduction->input).getDimSize(d) != 1 ||
        llvm::is_contained(present, d))
      wide.push_back(d);
  if (present != wide)
    return std::nullopt;
  return std::pair(*reduction, reduction->along[0]);
}

/// The factors of a product of whole blocks, and the numbers among them as one.
void factorsOf(const Elementwise::Input &input, unsigned rank, double &number,
               SmallVector<Value> &factors) {
  if (auto n = numberIn(input)) {
    number *= *n;
    return;
  }
  if (auto product = madeBy<arith::MulFOp>(input, rank)) {
    for (auto &factor : product->inputs)
      factorsOf(factor, rank, number, factors);
    return;
  }
  factors.push_back(readWhole(input, rank));
}

bool isNear(double x, double y) { return std::abs(x - y) < 1e-6; }

/// x and the number, if the term is x times a number.
std::optional<std::pair<Term, double>> scaledBy(const Term &term) {
  if (term.is<arith::NegFOp>()) {
    auto x = term.input(0);
    auto inner = x ? scaledBy(*x) : std::nullopt;
    if (inner)
      return std::pair(inner->first, -inner->second);
    return x ? std::optional(std::pair(*x, -1.0)) : std::nullopt;
  }
  if (!term.is<arith::MulFOp, arith::DivFOp>() ||
      (term.is<arith::DivFOp>() && term.number(0)))
    return std::nullopt;
  auto product = term.withNumber();
  if (!product)
    return std::nullopt;
  const double own =
      term.is<arith::DivFOp>() ? 1 / product->second : product->second;
  if (auto inner = scaledBy(product->first))
    return std::pair(inner->first, own * inner->second);
  return std::pair(product->first, own);
}

/// x, if the block is 1 + erf(x / sqrt(2)), or 1 - erf(-x / sqrt(2)).
Value underErf(Value block, unsigned rank) {
  auto op = block.getDefiningOp<linalg::GenericOp>();
  if (!op || !Term::of(op).is<arith::AddFOp, arith::SubFOp>())
    return {};
  Term sum = Term::of(op);
  const bool isDifference = sum.is<arith::SubFOp>();
  auto parts = sum.withNumber();
  if (!parts || parts->second != 1 || !parts->first.is<math::ErfOp>() ||
      (isDifference && sum.number(0) != 1.0))
    return {};
  auto inner = parts->first.input(0);
  auto scaled = inner ? scaledBy(*inner) : std::nullopt;
  return scaled && scaled->first.read.isIdentity(rank) &&
                 isNear(isDifference ? -scaled->second : scaled->second,
                        std::sqrt(0.5))
             ? scaled->first.read.value
             : Value();
}

/// x, if the block is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
Value underTanh(Value block, unsigned rank) {
  auto op = block.getDefiningOp<linalg::GenericOp>();
  auto sum = op ? Term::of(op).withNumber() : std::nullopt;
  if (!sum || !Term::of(op).is<arith::AddFOp>() || sum->second != 1 ||
      !sum->first.is<math::TanhOp>())
    return {};
  auto scaled = sum->first.input(0);
  auto inner = scaled && scaled->is<arith::MulFOp>() ? scaled->withNumber()
                                                     : std::nullopt;
  // torch-mlir writes sqrt(2 / pi) with four digits.
  if (!inner || std::abs(inner->second - 0.7978845608) > 2e-4 ||
      !inner->first.is<arith::AddFOp>())
    return {};
  for (unsigned i : {0u, 1u}) {
    auto x = inner->first.input(i), rest = inner->first.input(1 - i);
    auto cube =
        rest && rest->is<arith::MulFOp>() ? rest->withNumber() : std::nullopt;
    if (!x || !cube || !isNear(cube->second, 0.044715) ||
        !x->read.isIdentity(rank))
      continue;
    if (auto base = baseOfPower(cube->first, 3); base && *base == *x)
      return x->read.value;
  }
  return {};
}

/// Whether the input is 1 + exp(-x).
bool isLogisticSum(const Elementwise::Input &input, Value x, unsigned rank) {
  auto sum = madeBy<arith::AddFOp>(input, rank);
  if (!sum)
    return false;
  for (unsigned i : {0u, 1u}) {
    auto e = madeBy<math::ExpOp>(sum->inputs[i], rank);
    if (!e || numberIn(sum->inputs[1 - i]) != 1.0)
      continue;
    if (auto minus = madeBy<arith::NegFOp>(e->inputs[0], rank))
      return readWhole(minus->inputs[0], rank) == x;
  }
  return false;
}

} // namespace

Value act::guardedSoftmaxAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  const unsigned rank = op.getNumLoops();
  if (!form || !isa_and_present<arith::SelectOp>(form->scalar) ||
      numberIn(form->inputs[1]) != 0.0)
    return {};
  Value p = readWhole(form->inputs[2], rank);
  auto softmax = p ? p.getDefiningOp<SoftmaxOp>() : SoftmaxOp();
  auto row = reducedRow(form->inputs[0], rank);
  if (!softmax || !row || row->first.kind != ReductionForm::All ||
      row->second != softmax.getAxis())
    return {};
  auto equal = elementwiseOf(row->first.input.getDefiningOp());
  auto compare =
      equal ? dyn_cast_or_null<arith::CmpFOp>(equal->scalar) : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ)
    return {};
  auto least = numberIn(equal->inputs[1]);
  if (!least || !std::isinf(*least) || *least > 0)
    return {};
  // Perhaps compared in a wider type.
  Elementwise::Input scores = equal->inputs[0];
  if (auto wide = madeBy<arith::ExtFOp>(scores, rank))
    scores = wide->inputs[0];
  return readWhole(scores, rank) == softmax.getInput() ? p : Value();
}

/// x of 0.5 * x * f(x), in any order.
static Value halfTimes(linalg::GenericOp op,
                       function_ref<Value(Value block, unsigned rank)> under) {
  auto form = elementwiseOf(op);
  const unsigned rank = op.getNumLoops();
  if (!form || !isa_and_present<arith::MulFOp>(form->scalar))
    return {};
  double number = 1;
  SmallVector<Value> factors;
  for (auto &input : form->inputs)
    factorsOf(input, rank, number, factors);
  if (factors.size() != 2 || !factors[0] || !factors[1] || !isNear(number, 0.5))
    return {};
  for (unsigned i : {0u, 1u})
    if (under(factors[1 - i], rank) == factors[i])
      return factors[i];
  return {};
}

Value act::geluAt(linalg::GenericOp op) { return halfTimes(op, underErf); }

Value act::geluNewAt(linalg::GenericOp op) { return halfTimes(op, underTanh); }

Value act::siluAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  const unsigned rank = op.getNumLoops();
  if (!form || !isa_and_present<arith::MulFOp, arith::DivFOp>(form->scalar))
    return {};
  if (isa<arith::DivFOp>(form->scalar)) {
    Value x = readWhole(form->inputs[0], rank);
    return x && isLogisticSum(form->inputs[1], x, rank) ? x : Value();
  }
  for (unsigned i : {0u, 1u}) {
    Value x = readWhole(form->inputs[i], rank);
    auto sigmoid = madeBy<arith::DivFOp>(form->inputs[1 - i], rank);
    if (x && sigmoid && numberIn(sigmoid->inputs[0]) == 1.0 &&
        isLogisticSum(sigmoid->inputs[1], x, rank))
      return x;
  }
  return {};
}

std::optional<SoftmaxMatch> act::softmaxAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  if (!form || !form->scalar || form->inputs.size() != 2)
    return std::nullopt;
  const unsigned rank = op.getNumLoops();
  auto of = [&](unsigned numerator,
                const Elementwise::Input &sum) -> std::optional<SoftmaxMatch> {
    Value e = readWhole(form->inputs[numerator], rank);
    auto row = reducedRow(sum, rank);
    if (!e || !row || row->first.kind != ReductionForm::Sum ||
        row->first.input != e)
      return std::nullopt;
    auto exponential = elementwiseOf(e.getDefiningOp());
    if (!exponential || !isa_and_present<math::ExpOp>(exponential->scalar))
      return std::nullopt;
    Value x = readWhole(exponential->inputs[0], rank);
    if (!x)
      return std::nullopt;
    if (auto difference = elementwiseOf(x.getDefiningOp());
        difference && isa_and_present<arith::SubFOp>(difference->scalar)) {
      auto most = reducedRow(difference->inputs[1], rank);
      Value whole = readWhole(difference->inputs[0], rank);
      if (whole && most && most->first.kind == ReductionForm::Max &&
          most->second == row->second && most->first.input == whole)
        return SoftmaxMatch{whole, row->second, true};
    }
    return SoftmaxMatch{x, row->second, false};
  };
  if (isa<arith::DivFOp>(form->scalar))
    return of(0, form->inputs[1]);
  if (!isa<arith::MulFOp>(form->scalar))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    if (!form->inputs[1 - i].read)
      continue;
    Read factor = lookThrough(*form->inputs[1 - i].read);
    auto reciprocal = elementwiseOf(factor.value.getDefiningOp());
    if (!reciprocal || !isa_and_present<arith::DivFOp>(reciprocal->scalar) ||
        numberOf(reciprocal->inputs[0].constant) != 1.0 ||
        !reciprocal->inputs[1].read)
      continue;
    // The sum as this op would read it.
    Elementwise::Input sum = reciprocal->inputs[1];
    for (std::optional<unsigned> &d : sum.read->dims)
      if (d)
        d = factor.dims[*d];
    if (auto match = of(i, sum))
      return match;
  }
  return std::nullopt;
}
