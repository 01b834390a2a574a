// SPDX-License-Identifier: Apache-2.0
//
// Statistics of rows are followed from where they are read. Some importers
// compute them in a wider type, so casts are looked through.
#include "passes/raise/NormForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

/// What the row is the mean of, along the last dimension.
Value meanOf(const std::optional<Term> &row, unsigned rank) {
  if (!row)
    return {};
  Term mean = row->behindCasts();
  if (!mean.is<arith::DivFOp>() && !mean.is<arith::MulFOp>())
    return {};
  for (unsigned i : {0u, 1u}) {
    auto number = mean.number(1 - i);
    const bool divides = mean.is<arith::DivFOp>();
    auto sum = mean.input(i);
    if (!number || !sum || (divides && i))
      continue;
    auto reduction = reductionOf(sum->op());
    if (!reduction || reduction->kind != ReductionForm::Sum ||
        reduction->along != SmallVector<unsigned>{rank - 1} ||
        typeOf(reduction->input).getRank() != int64_t(rank))
      return {};
    const double size = typeOf(reduction->input).getShape().back();
    if (divides ? *number != size : std::abs(*number * size - 1) > 1e-6)
      return {};
    // The row's dimensions are those of the norm, but for some of size 1.
    SmallVector<unsigned> present = sum->read.present(), wide;
    for (unsigned d = 0; d + 1 < rank; ++d)
      if (typeOf(reduction->input).getDimSize(d) != 1 ||
          llvm::is_contained(present, d))
        wide.push_back(d);
    return present == wide ? reduction->input : Value();
  }
  return {};
}

/// x, if the tensor is x minus its mean along the last dimension.
Value centredOf(Value tensor) {
  const unsigned rank = typeOf(tensor).getRank();
  auto form = elementwiseOf(tensor.getDefiningOp());
  if (!form || !isa_and_present<arith::SubFOp>(form->scalar))
    return {};
  Value x = readWhole(form->inputs[0], rank);
  Value of = x ? meanOf(Term::of(form->inputs[1].read), rank) : Value();
  return of && narrowest(of) == narrowest(x) ? narrowest(x) : Value();
}

/// Whether both are the same numbers, perhaps in another type.
bool isSame(Value a, Value b) {
  if (narrowest(a) == narrowest(b))
    return true;
  Value x = centredOf(a);
  return x && centredOf(b) == x;
}

/// eps, if the input is 1 / sqrt(mean of x^2 + eps) along the last dimension,
/// or the root itself where it divides.
std::optional<double> rootOf(const Elementwise::Input &input, Value x,
                             unsigned rank, bool divides) {
  auto found = Term::of(input.read);
  if (!found)
    return std::nullopt;
  Term row = found->behindCasts();
  std::optional<Term> under;
  if (divides) {
    if (row.is<math::SqrtOp>())
      under = row.input(0);
  } else if (row.is<math::RsqrtOp>()) {
    under = row.input(0);
  } else if (row.is<arith::DivFOp>() && row.number(0) == 1.0) {
    auto root = row.input(1);
    if (root && root->is<math::SqrtOp>())
      under = root->input(0);
  } else if (row.is<math::PowFOp>() && row.number(1) == -0.5) {
    under = row.input(0);
  }
  if (!under || !under->is<arith::AddFOp>())
    return std::nullopt;
  auto sum = under->withNumber();
  Value square = sum ? meanOf(sum->first, rank) : Value();
  auto product =
      square ? square.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
  if (!product)
    return std::nullopt;
  auto base = baseOfPower(Term::of(product), 2);
  return base && base->read.isIdentity(rank) && isSame(base->read.value, x)
             ? std::optional(sum->second)
             : std::nullopt;
}

/// A row of the last dimension that all rows share.
std::optional<Read> vectorIn(const Elementwise::Input &input, unsigned rank) {
  if (!input.read || numberIn(input))
    return std::nullopt;
  Read read = lookThrough(*input.read);
  if (read.present() != SmallVector<unsigned>{rank - 1})
    return std::nullopt;
  return read;
}

/// x and eps, if the tensor is x / sqrt(mean of x^2 + eps), rounded or not.
std::optional<std::pair<Value, double>> normedOf(const Elementwise::Input &in,
                                                 unsigned rank) {
  Value tensor = readWhole(in, rank);
  auto form = tensor ? elementwiseOf(tensor.getDefiningOp()) : std::nullopt;
  if (form && isa_and_present<arith::TruncFOp, arith::ExtFOp>(form->scalar))
    return normedOf(form->inputs[0], rank);
  if (!form || !isa_and_present<arith::MulFOp, arith::DivFOp>(form->scalar))
    return std::nullopt;
  const bool divides = isa<arith::DivFOp>(form->scalar);
  for (unsigned j : {0u, 1u}) {
    Value x = readWhole(form->inputs[j], rank);
    if (!x || (divides && j))
      continue;
    if (auto eps = rootOf(form->inputs[1 - j], x, rank, divides))
      return std::pair(x, *eps);
  }
  return std::nullopt;
}

/// weight * (x * root), in any order.
std::optional<NormMatch> scaledRow(const Elementwise &form, unsigned rank) {
  for (unsigned i : {0u, 1u}) {
    auto weight = vectorIn(form.inputs[i], rank);
    auto normed = normedOf(form.inputs[1 - i], rank);
    if (weight && normed)
      return NormMatch{normed->first, *weight, {}, normed->second};
  }
  return std::nullopt;
}

/// The input in the type of the norm's result: importers widen it first.
bool hasTypeOf(NormMatch &match, Value result) {
  if (match.input.getType() != result.getType())
    match.input = narrowest(match.input);
  return match.input.getType() == result.getType() &&
         typeOf(match.weight.value).getElementType() ==
             typeOf(result).getElementType() &&
         (!match.bias.value || typeOf(match.bias.value).getElementType() ==
                                   typeOf(result).getElementType());
}

} // namespace

std::optional<NormMatch> act::rmsNormAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  if (!form || !isa_and_present<arith::MulFOp>(form->scalar) ||
      !op.getNumLoops())
    return std::nullopt;
  auto match = scaledRow(*form, op.getNumLoops());
  if (!match || !hasTypeOf(*match, op.getResult(0)))
    return std::nullopt;
  return match;
}

std::optional<NormMatch> act::layerNormAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  const unsigned rank = op.getNumLoops();
  if (!form || !isa_and_present<arith::AddFOp>(form->scalar) || !rank)
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto bias = vectorIn(form->inputs[i], rank);
    auto product = madeBy<arith::MulFOp>(form->inputs[1 - i], rank);
    auto match = bias && product ? scaledRow(*product, rank) : std::nullopt;
    Value x = match ? centredOf(match->input) : Value();
    if (!x)
      continue;
    NormMatch norm{x, match->weight, *bias, match->eps};
    if (hasTypeOf(norm, op.getResult(0)))
      return norm;
  }
  return std::nullopt;
}

std::optional<BareNorm> act::bareNormAt(linalg::GenericOp op) {
  const unsigned rank = op.getNumLoops();
  auto form = elementwiseOf(op);
  if (!form || !isa_and_present<arith::MulFOp, arith::DivFOp>(form->scalar) ||
      !rank)
    return std::nullopt;
  Elementwise::Input self;
  self.read = wholeRead(op.getResult(0));
  auto normed = normedOf(self, rank);
  if (!normed)
    return std::nullopt;
  Value x = centredOf(normed->first);
  BareNorm norm{x ? x : normed->first, normed->second, bool(x)};
  if (norm.input.getType() != op.getResult(0).getType())
    norm.input = narrowest(norm.input);
  return norm.input.getType() == op.getResult(0).getType() ? std::optional(norm)
                                                           : std::nullopt;
}
