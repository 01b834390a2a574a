// SPDX-License-Identifier: Apache-2.0
//
// Statistics of rows are followed from where they are read: each step is an
// elementwise op on rows, and says which dimension of the norm each of its own
// is.
#include "passes/raise/NormForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

/// What makes a row.
struct Row {
  Read read; ///< dims are of the norm's iterations
  std::optional<Elementwise> form;

  static std::optional<Row> of(const std::optional<Read> &read) {
    if (!read)
      return std::nullopt;
    Read base = lookThrough(*read);
    return Row{base, elementwiseOf(base.value.getDefiningOp())};
  }
  template <typename Op> bool is() const {
    return form && isa_and_present<Op>(form->scalar);
  }
  /// The row that the op has as its input i.
  std::optional<Row> input(unsigned i) const {
    std::optional<Read> own = form->inputs[i].read;
    if (own)
      for (std::optional<unsigned> &d : own->dims)
        if (d)
          d = read.dims[*d];
    return of(own);
  }
};

/// What the row is the mean of, along the last dimension.
Value meanOf(const std::optional<Row> &row, unsigned rank, int64_t size) {
  if (!row || (!row->is<arith::DivFOp>() && !row->is<arith::MulFOp>()))
    return {};
  for (unsigned i : {0u, 1u}) {
    auto number = numberIn(row->form->inputs[1 - i]);
    const bool divides = row->is<arith::DivFOp>();
    if (!number || (divides && i) ||
        (divides ? *number != double(size)
                 : std::abs(*number * double(size) - 1) > 1e-6))
      continue;
    auto sum = row->input(i);
    auto reduction =
        sum ? reductionOf(sum->read.value.getDefiningOp()) : std::nullopt;
    if (!reduction || reduction->kind != ReductionForm::Sum ||
        reduction->along != SmallVector<unsigned>{rank - 1} ||
        typeOf(reduction->input).getRank() != int64_t(rank))
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

/// eps, if the input is 1 / sqrt(mean of x^2 + eps) along the last dimension.
std::optional<double> rootOf(const Elementwise::Input &input, Value x,
                             unsigned rank) {
  auto row = Row::of(input.read);
  if (!row)
    return std::nullopt;
  std::optional<Row> under;
  if (row->is<math::RsqrtOp>()) {
    under = row->input(0);
  } else if (row->is<arith::DivFOp>() &&
             numberIn(row->form->inputs[0]) == 1.0) {
    auto root = row->input(1);
    if (root && root->is<math::SqrtOp>())
      under = root->input(0);
  }
  if (!under || !under->is<arith::AddFOp>())
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto eps = numberIn(under->form->inputs[1 - i]);
    if (!eps)
      continue;
    Value square = meanOf(under->input(i), rank, typeOf(x).getShape().back());
    auto product =
        square ? elementwiseOf(square.getDefiningOp()) : std::nullopt;
    if (!product || !product->scalar)
      return std::nullopt;
    const bool isSquare = isa<arith::MulFOp>(product->scalar)
                              ? readWhole(product->inputs[0], rank) == x &&
                                    readWhole(product->inputs[1], rank) == x
                              : isa<math::PowFOp>(product->scalar) &&
                                    readWhole(product->inputs[0], rank) == x &&
                                    numberIn(product->inputs[1]) == 2.0;
    return isSquare ? eps : std::nullopt;
  }
  return std::nullopt;
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

/// weight * (x * root), in any order.
std::optional<NormMatch> scaledRow(const Elementwise &form, unsigned rank) {
  for (unsigned i : {0u, 1u}) {
    auto weight = vectorIn(form.inputs[i], rank);
    auto normed = madeBy<arith::MulFOp>(form.inputs[1 - i], rank);
    if (!weight || !normed)
      continue;
    for (unsigned j : {0u, 1u}) {
      Value x = readWhole(normed->inputs[j], rank);
      if (!x)
        continue;
      if (auto eps = rootOf(normed->inputs[1 - j], x, rank))
        return NormMatch{x, *weight, {}, *eps};
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<NormMatch> act::rmsNormAt(linalg::GenericOp op) {
  auto form = elementwiseOf(op);
  if (!form || !isa_and_present<arith::MulFOp>(form->scalar) ||
      !op.getNumLoops())
    return std::nullopt;
  return scaledRow(*form, op.getNumLoops());
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
    auto centred =
        match ? elementwiseOf(match->input.getDefiningOp()) : std::nullopt;
    if (!centred || !isa_and_present<arith::SubFOp>(centred->scalar))
      continue;
    Value x = readWhole(centred->inputs[0], rank);
    if (x && meanOf(Row::of(centred->inputs[1].read), rank,
                    typeOf(x).getShape().back()) == x)
      return NormMatch{x, match->weight, *bias, match->eps};
  }
  return std::nullopt;
}
