// SPDX-License-Identifier: Apache-2.0
//
// Integers are followed as sums of places and a number, booleans as
// conjunctions of sums that are at most 0.
#include "passes/raise/MaskForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace act;

namespace {

/// number + the sum of factors[d] * (index along dimension d)
struct Sum {
  SmallVector<int64_t> factors;
  int64_t number = 0;

  Sum times(int64_t n) const {
    Sum s = *this;
    for (int64_t &f : s.factors)
      f *= n;
    s.number *= n;
    return s;
  }
  Sum operator+(const Sum &other) const {
    Sum s = *this;
    for (auto [f, g] : llvm::zip(s.factors, other.factors))
      f += g;
    s.number += other.number;
    return s;
  }
};

/// Each is at most 0.
using Conjunction = SmallVector<Sum>;

/// What scalars are, at the iterations of an op.
class Places {
public:
  /// `dims` are those of the op at which this began.
  Places(linalg::GenericOp op, SmallVector<std::optional<unsigned>> dims,
         unsigned rank, unsigned depth)
      : op(op), dims(std::move(dims)), rank(rank), depth(depth) {}

  std::optional<Sum> integer(Value v) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return Sum{zeros(), constant.getSExtValue()};
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      auto read = readOf(argument);
      return read ? integerIn(*read) : std::nullopt;
    }
    Operation *def = v.getDefiningOp();
    if (!def)
      return std::nullopt;
    if (auto index = dyn_cast<linalg::IndexOp>(def)) {
      Sum s{zeros(), 0};
      if (auto d = dims[index.getDim()])
        s.factors[*d] = 1;
      return s;
    }
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp,
            arith::SIToFPOp>(def))
      return integer(def->getOperand(0));
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(def))
      return std::nullopt;
    auto a = integer(def->getOperand(0)), b = integer(def->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::AddIOp>(def))
      return *a + *b;
    if (isa<arith::SubIOp>(def))
      return *a + b->times(-1);
    if (isNumber(*b))
      return a->times(b->number);
    return isNumber(*a) ? std::optional(b->times(a->number)) : std::nullopt;
  }

  std::optional<Conjunction> boolean(Value v) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return constant.isZero() ? std::nullopt : std::optional(Conjunction());
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      auto read = readOf(argument);
      return read ? booleanIn(*read) : std::nullopt;
    }
    Operation *def = v.getDefiningOp();
    if (!def)
      return std::nullopt;
    if (isa<arith::AndIOp>(def)) {
      auto a = boolean(def->getOperand(0)), b = boolean(def->getOperand(1));
      if (!a || !b)
        return std::nullopt;
      a->append(b->begin(), b->end());
      return a;
    }
    if (auto select = dyn_cast<arith::SelectOp>(def)) {
      // c ? true : false
      auto first = boolean(select.getTrueValue());
      APInt other;
      if (!first || !first->empty() || !isFalse(select.getFalseValue()))
        return std::nullopt;
      return boolean(select.getCondition());
    }
    auto compare = dyn_cast<arith::CmpIOp>(def);
    if (!compare)
      return std::nullopt;
    auto a = integer(compare.getLhs()), b = integer(compare.getRhs());
    if (!a || !b)
      return std::nullopt;
    const Sum one{zeros(), 1};
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::sle:
      return Conjunction{*a + b->times(-1)};
    case arith::CmpIPredicate::slt:
      return Conjunction{*a + b->times(-1) + one};
    case arith::CmpIPredicate::sge:
      return Conjunction{*b + a->times(-1)};
    case arith::CmpIPredicate::sgt:
      return Conjunction{*b + a->times(-1) + one};
    default:
      return std::nullopt;
    }
  }

  std::optional<Sum> integerIn(const Read &read) {
    if (auto number = filledWith(read.value))
      return Sum{zeros(), int64_t(*number)};
    DenseIntElementsAttr list;
    if (matchPattern(read.value, m_Constant(&list)))
      return counted(read, list);
    auto next = behind(read);
    return next ? next->first.integer(next->second) : std::nullopt;
  }

private:
  SmallVector<int64_t> zeros() { return SmallVector<int64_t>(rank, 0); }
  bool isNumber(const Sum &s) {
    return llvm::all_of(s.factors, [](int64_t f) { return f == 0; });
  }

  /// What an argument of the body is, at the dimensions at which this began.
  std::optional<Read> readOf(BlockArgument argument) {
    if (argument.getOwner() != op.getBody())
      return std::nullopt;
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (!op.isDpsInput(operand) ||
        !isa<RankedTensorType>(operand->get().getType()))
      return std::nullopt;
    auto read = readBy(op.getMatchingIndexingMap(operand), operand->get());
    if (!read)
      return std::nullopt;
    for (auto &d : read->dims)
      if (d)
        d = dims[*d];
    return lookThrough(*read);
  }

  /// The op behind a read, whose body says what the elements are.
  std::optional<std::pair<Places, Value>> behind(const Read &read) {
    auto generic = read.value.getDefiningOp<linalg::GenericOp>();
    if (!generic || depth == 0 || !generic.hasPureTensorSemantics() ||
        generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() ||
        !generic.getIndexingMapsArray().back().isIdentity())
      return std::nullopt;
    return std::pair(Places(generic, read.dims, rank, depth - 1),
                     generic.getBody()->getTerminator()->getOperand(0));
  }

  std::optional<Conjunction> booleanIn(const Read &read) {
    if (auto number = filledWith(read.value))
      return *number != 0 ? std::optional(Conjunction()) : std::nullopt;
    auto next = behind(read);
    return next ? next->first.boolean(next->second) : std::nullopt;
  }
  bool isFalse(Value v) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return constant.isZero();
    auto argument = dyn_cast<BlockArgument>(v);
    auto read = argument ? readOf(argument) : std::nullopt;
    return read && filledWith(read->value) == 0.0;
  }

  /// A list of numbers that differ by the same number along one dimension.
  std::optional<Sum> counted(const Read &read, DenseIntElementsAttr list) {
    std::optional<unsigned> along;
    for (auto [size, d] : llvm::zip(typeOf(read.value).getShape(), read.dims)) {
      if (size == 1)
        continue;
      if (along || !d)
        return std::nullopt;
      along = d;
    }
    SmallVector<int64_t> numbers;
    for (const APInt &n : list.getValues<APInt>())
      numbers.push_back(n.getSExtValue());
    if (!along || numbers.size() < 2)
      return std::nullopt;
    for (size_t i = 2; i < numbers.size(); ++i)
      if (numbers[i] - numbers[i - 1] != numbers[1] - numbers[0])
        return std::nullopt;
    Sum s{zeros(), numbers[0]};
    s.factors[*along] = numbers[1] - numbers[0];
    return s;
  }

  linalg::GenericOp op;
  SmallVector<std::optional<unsigned>> dims;
  unsigned rank, depth;
};

} // namespace

bool act::countsAlong(const Read &read, unsigned dim, unsigned rank) {
  auto sum = Places({}, {}, rank, /*depth=*/16).integerIn(lookThrough(read));
  if (!sum || sum->number)
    return false;
  for (unsigned d = 0; d < rank; ++d)
    if (sum->factors[d] != (d == dim ? 1 : 0))
      return false;
  return true;
}

std::optional<CausalMatch> act::causalMaskAt(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics())
    return std::nullopt;
  auto type = typeOf(op.getResult(0));
  const unsigned rank = type.getRank();
  if (rank < 2 || !type.getElementType().isInteger(1) ||
      !type.hasStaticShape() || op.getNumReductionLoops() ||
      op.getNumDpsInits() != 1 ||
      !op.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  SmallVector<std::optional<unsigned>> dims(rank);
  for (unsigned d = 0; d < rank; ++d)
    dims[d] = d;
  auto all = Places(op, dims, rank, /*depth=*/16)
                 .boolean(op.getBody()->getTerminator()->getOperand(0));
  if (!all)
    return std::nullopt;
  const int64_t queries = type.getDimSize(rank - 2),
                keys = type.getDimSize(rank - 1);
  CausalMatch match;
  bool isCausal = false;
  for (const Sum &sum : *all) {
    for (unsigned d = 0; d + 2 < rank; ++d)
      if (sum.factors[d])
        return std::nullopt;
    const int64_t row = sum.factors[rank - 2], column = sum.factors[rank - 1];
    if (row == -1 && column == 1 && !isCausal &&
        (sum.number == 0 || sum.number == queries - keys)) {
      isCausal = true;
      match.topLeft = sum.number == 0 && queries != keys;
    } else if (row == 1 && column == -1 && !match.window) {
      match.window = 1 - sum.number;
    } else {
      return std::nullopt;
    }
  }
  if (isCausal)
    return !match.window || *match.window > 0 ? std::optional(match)
                                              : std::nullopt;
  // column >= row + 1 is what is not causal.
  if (all->size() != 1 || !match.window)
    return std::nullopt;
  const int64_t number = 1 - *match.window;
  if (number != 1 && number != 1 + keys - queries)
    return std::nullopt;
  return CausalMatch{std::nullopt, number == 1 && queries != keys, true};
}
