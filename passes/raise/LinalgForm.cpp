// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/LinalgForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace act;

SmallVector<unsigned> Read::present() const {
  SmallVector<unsigned> all;
  for (std::optional<unsigned> d : dims)
    if (d)
      all.push_back(*d);
  return all;
}

bool Read::isIdentity(unsigned rank) const {
  SmallVector<unsigned> all = present();
  return dims.size() == rank && all == llvm::to_vector(llvm::seq(rank));
}

std::optional<Read> act::readBy(AffineMap map, Value v) {
  Read read{v, {}};
  auto shape = cast<RankedTensorType>(v.getType()).getShape();
  for (auto [size, e] : llvm::zip_equal(shape, map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(e)) {
      if (map.getNumResults() > 1 && // a diagonal
          llvm::count(map.getResults(), e) > 1)
        return std::nullopt;
      read.dims.push_back(dim.getPosition());
    } else if (auto c = dyn_cast<AffineConstantExpr>(e);
               c && c.getValue() == 0 && size == 1) {
      read.dims.push_back(std::nullopt);
    } else {
      return std::nullopt;
    }
  }
  return read;
}

/// The dimensions of a group with more than one element; more than one of them
/// is none.
static std::optional<SmallVector<int64_t>> wideOf(ArrayRef<int64_t> group,
                                                  ArrayRef<int64_t> shape) {
  SmallVector<int64_t> wide;
  for (int64_t d : group)
    if (shape[d] != 1)
      wide.push_back(d);
  if (wide.size() > 1)
    return std::nullopt;
  return wide;
}

/// `read` behind a reshape that only adds or drops dimensions of size 1.
static std::optional<Read> behindReshape(const Read &read, Value source,
                                         ArrayRef<ReassociationIndices> groups,
                                         bool expands) {
  auto narrow = cast<RankedTensorType>(source.getType()).getShape(),
       wide = cast<RankedTensorType>(read.value.getType()).getShape();
  Read out{source, SmallVector<std::optional<unsigned>>(narrow.size())};
  for (auto [i, group] : llvm::enumerate(groups)) {
    auto found = wideOf(group, expands ? wide : narrow);
    if (!found)
      return std::nullopt;
    if (found->empty())
      continue;
    if (expands)
      out.dims[i] = read.dims[found->front()];
    else
      out.dims[found->front()] = read.dims[i];
  }
  return out;
}

/// What the op passes on: its input, also if that is at least -inf.
static std::optional<Read> passedOn(const Elementwise &form) {
  if (!form.scalar)
    return form.inputs[0].read;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(form.scalar))
    for (unsigned i : {0u, 1u}) {
      auto &least = form.inputs[i];
      auto number = least.read ? filledWith(lookThrough(*least.read).value)
                               : numberOf(least.constant);
      if (number && std::isinf(*number) && *number < 0)
        return form.inputs[1 - i].read;
    }
  return std::nullopt;
}

Read act::lookThrough(Read read) {
  while (Operation *op = read.value.getDefiningOp()) {
    std::optional<Read> next;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      next = behindReshape(read, expand.getSrc(),
                           expand.getReassociationIndices(), /*expands=*/true);
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      next =
          behindReshape(read, collapse.getSrc(),
                        collapse.getReassociationIndices(), /*expands=*/false);
    else if (auto form = elementwiseOf(op); form && passedOn(*form)) {
      next = passedOn(*form);
      for (std::optional<unsigned> &d : next->dims)
        if (d)
          d = read.dims[*d];
    }
    if (!next)
      break;
    read = *next;
  }
  return read;
}

std::optional<Elementwise> act::elementwiseOf(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || !generic.hasPureTensorSemantics() ||
      generic.getNumDpsInits() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  Block *body = generic.getBody();
  Value yielded = body->getTerminator()->getOperand(0);
  Elementwise form;
  SmallVector<Value> operands{yielded};
  if (!isa<BlockArgument>(yielded)) {
    form.scalar = yielded.getDefiningOp();
    if (!form.scalar || form.scalar->getBlock() != body ||
        !llvm::hasNItems(body->without_terminator(), 1))
      return std::nullopt;
    operands.assign(form.scalar->operand_begin(), form.scalar->operand_end());
  }
  for (Value v : operands) {
    Elementwise::Input input;
    if (auto argument = dyn_cast<BlockArgument>(v);
        argument && argument.getOwner() == body) {
      OpOperand *operand = generic.getMatchingOpOperand(argument);
      if (!generic.isDpsInput(operand))
        return std::nullopt;
      if (isa<RankedTensorType>(operand->get().getType()))
        input.read =
            readBy(generic.getMatchingIndexingMap(operand), operand->get());
      if (!input.read)
        return std::nullopt;
    } else if (!matchPattern(v, m_Constant(&input.constant))) {
      return std::nullopt;
    }
    form.inputs.push_back(input);
  }
  // A constant alone is no input.
  if (!form.scalar && !form.inputs[0].read)
    return std::nullopt;
  return form;
}

Value act::readWhole(const Elementwise::Input &input, unsigned rank) {
  return input.read && input.read->isIdentity(rank) ? input.read->value
                                                    : Value();
}

std::optional<double> act::numberIn(const Elementwise::Input &input) {
  return input.read ? filledWith(lookThrough(*input.read).value)
                    : numberOf(input.constant);
}

Read act::wholeRead(Value tensor) {
  Read read{tensor, {}};
  for (unsigned d = 0, e = typeOf(tensor).getRank(); d < e; ++d)
    read.dims.push_back(d);
  return read;
}

std::optional<Term> Term::of(const std::optional<Read> &read) {
  if (!read)
    return std::nullopt;
  Read base = lookThrough(*read);
  return Term{base, elementwiseOf(base.value.getDefiningOp())};
}

Term Term::of(linalg::GenericOp op) { return *of(wholeRead(op.getResult(0))); }

std::optional<Term> Term::input(unsigned i) const {
  if (!form || i >= form->inputs.size())
    return std::nullopt;
  std::optional<Read> own = form->inputs[i].read;
  if (own)
    for (std::optional<unsigned> &d : own->dims)
      if (d)
        d = read.dims[*d];
  return of(own);
}

std::optional<double> Term::number(unsigned i) const {
  return form && i < form->inputs.size() ? numberIn(form->inputs[i])
                                         : std::nullopt;
}

std::optional<std::pair<Term, double>> Term::withNumber() const {
  for (unsigned i : {0u, 1u})
    if (auto n = number(i))
      if (auto other = input(1 - i); other && !number(1 - i))
        return std::pair(*other, *n);
  return std::nullopt;
}

std::optional<SmallVector<unsigned>> Term::ordered() const {
  SmallVector<unsigned> dims;
  for (auto [size, d] : llvm::zip(typeOf(read.value).getShape(), read.dims)) {
    if (size == 1)
      continue;
    if (!d || (!dims.empty() && *d <= dims.back()))
      return std::nullopt;
    dims.push_back(*d);
  }
  return dims;
}

Term Term::behindCasts() const {
  Term t = *this;
  while (t.is<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
              arith::TruncIOp>()) {
    auto next = t.input(0);
    if (!next)
      break;
    t = *next;
  }
  return t;
}

std::optional<Term> act::baseOfPower(const Term &term, unsigned n) {
  if (term.is<math::PowFOp, math::FPowIOp>())
    return term.number(1) == double(n) ? term.input(0) : std::nullopt;
  if (!term.is<arith::MulFOp>())
    return std::nullopt;
  auto a = term.input(0), b = term.input(1);
  if (!a || !b)
    return std::nullopt;
  if (n == 2)
    return *a == *b ? a : std::nullopt;
  for (const auto &[one, square] : {std::pair(a, b), std::pair(b, a)})
    if (auto base = baseOfPower(*square, n - 1); base && *base == *one)
      return one;
  return std::nullopt;
}

Value act::narrowest(Value tensor) {
  while (auto form = elementwiseOf(tensor.getDefiningOp())) {
    if (!isa_and_present<arith::ExtFOp>(form->scalar))
      break;
    Value source = readWhole(form->inputs[0], typeOf(tensor).getRank());
    if (!source)
      break;
    tensor = source;
  }
  return tensor;
}

std::optional<double> act::numberOf(TypedAttr constant) {
  if (auto f = dyn_cast_or_null<FloatAttr>(constant))
    return f.getValueAsDouble();
  if (auto i = dyn_cast_or_null<IntegerAttr>(constant))
    return double(i.getInt());
  if (auto splat = dyn_cast_or_null<DenseElementsAttr>(constant);
      splat && splat.isSplat())
    return numberOf(splat.getSplatValue<TypedAttr>());
  return std::nullopt;
}

std::optional<double> act::filledWith(Value tensor) {
  TypedAttr constant;
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    if (matchPattern(fill.getInputs()[0], m_Constant(&constant)))
      return numberOf(constant);
  } else if (matchPattern(tensor, m_Constant(&constant))) {
    return numberOf(constant);
  }
  return std::nullopt;
}

std::optional<ReductionForm> act::reductionOf(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || !generic.hasPureTensorSemantics() ||
      generic.getNumDpsInits() != 1 || generic.getNumDpsInputs() != 1 ||
      generic.getNumReductionLoops() == 0 ||
      !generic.getIndexingMapsArray()[0].isIdentity())
    return std::nullopt;
  // The result has the other dimensions, in order, and perhaps some of size 1.
  auto out = readBy(generic.getIndexingMapsArray()[1], generic.getResult(0));
  SmallVector<unsigned> along, rest;
  for (unsigned d = 0; d < generic.getNumLoops(); ++d)
    (linalg::isReductionIterator(generic.getIteratorTypesArray()[d]) ? along
                                                                     : rest)
        .push_back(d);
  if (!out || out->present() != rest)
    return std::nullopt;
  Block *body = generic.getBody();
  Operation *combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || !llvm::hasNItems(body->without_terminator(), 1) ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  Value in = body->getArgument(0), sum = body->getArgument(1);
  auto operands = combiner->getOperands();
  if (!(operands[0] == in && operands[1] == sum) &&
      !(operands[0] == sum && operands[1] == in))
    return std::nullopt;
  auto start = filledWith(generic.getDpsInits()[0]);
  if (!start)
    return std::nullopt;
  if (isa<arith::AddFOp>(combiner) && *start == 0)
    return ReductionForm{ReductionForm::Sum, generic.getInputs()[0], along};
  if (isa<arith::AddIOp>(combiner) && *start == 0)
    return ReductionForm{ReductionForm::Sum, generic.getInputs()[0], along};
  if (isa<arith::AndIOp>(combiner) && *start != 0 &&
      getElementTypeOrSelf(generic.getResult(0)).isInteger(1))
    return ReductionForm{ReductionForm::All, generic.getInputs()[0], along};
  // The start is no more than any number.
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(generic.getResult(0)));
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner) && type &&
      *start <= llvm::APFloat::getLargest(type.getFloatSemantics(),
                                          /*Negative=*/true)
                    .convertToDouble())
    return ReductionForm{ReductionForm::Max, generic.getInputs()[0], along};
  return std::nullopt;
}

Value act::reshapedTensor(OpBuilder &b, Location loc, Value v,
                          RankedTensorType to) {
  auto from = typeOf(v);
  if (from == to)
    return v;
  auto step = [&](Value value, RankedTensorType type) -> Value {
    auto own = typeOf(value);
    auto groups = getReassociationIndicesForReshape(own, type);
    if (!groups)
      return {};
    return own.getRank() < type.getRank()
               ? tensor::ExpandShapeOp::create(b, loc, type, value, *groups)
                     .getResult()
               : tensor::CollapseShapeOp::create(b, loc, type, value, *groups)
                     .getResult();
  };
  if (Value direct = step(v, to))
    return direct;
  return step(step(v, RankedTensorType::get({from.getNumElements()},
                                            from.getElementType())),
              to);
}

Value act::castScalar(OpBuilder &b, Location loc, Value v, Type to) {
  Type from = v.getType();
  if (from == to)
    return v;
  const unsigned narrow = from.getIntOrFloatBitWidth(),
                 wide = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (narrow < wide)
      return arith::ExtFOp::create(b, loc, to, v);
    if (narrow > wide)
      return arith::TruncFOp::create(b, loc, to, v);
    return arith::TruncFOp::create(
        b, loc, to, arith::ExtFOp::create(b, loc, b.getF32Type(), v));
  }
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(from));
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, v, zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
  }
  if (isa<FloatType>(to))
    return from.isInteger(1)
               ? arith::UIToFPOp::create(b, loc, to, v).getResult()
               : arith::SIToFPOp::create(b, loc, to, v).getResult();
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(b, loc, to, v);
  if (narrow > wide)
    return arith::TruncIOp::create(b, loc, to, v);
  return from.isInteger(1) ? arith::ExtUIOp::create(b, loc, to, v).getResult()
                           : arith::ExtSIOp::create(b, loc, to, v).getResult();
}
