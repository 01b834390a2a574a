// SPDX-License-Identifier: Apache-2.0
//
// `AffineBlocks::compute` traces a value through ops, `upperBound` bounds the
// result. Every step of arithmetic on coefficients is checked: an overflow
// gives "no form", never a wrong one.
#include "passes/tile/AffineBlocks.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Upstream's analysis treats all loop bounds as signed. The counter of an
/// unsigned loop gets no range.
class Ranges : public dataflow::IntegerRangeAnalysis {
public:
  using IntegerRangeAnalysis::IntegerRangeAnalysis;

  void visitNonControlFlowArguments(
      Operation *op, const RegionSuccessor &successor,
      ArrayRef<dataflow::IntegerValueRangeLattice *> arguments,
      unsigned firstIndex) override {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop.getUnsignedCmp())
      SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(
          op, successor, arguments, firstIndex);
    else
      IntegerRangeAnalysis::visitNonControlFlowArguments(op, successor,
                                                         arguments, firstIndex);
  }
};

} // namespace

LogicalResult act::tile::findRanges(DataFlowSolver &solver, Operation *kernel) {
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<Ranges>();
  return solver.initializeAndRun(kernel);
}

namespace {

constexpr int64_t lowest = INT64_MIN, highest = INT64_MAX;

std::optional<int64_t> multiplied(int64_t a, int64_t b) {
  int64_t r;
  if (llvm::MulOverflow(a, b, r))
    return std::nullopt;
  return r;
}

std::optional<int64_t> added(int64_t a, int64_t b) {
  int64_t r;
  if (llvm::AddOverflow(a, b, r))
    return std::nullopt;
  return r;
}

unsigned widthOf(Type t) {
  t = getElementTypeOrSelf(t);
  return t.isIndex() ? 64 : t.getIntOrFloatBitWidth();
}

/// The number of a constant or of all its elements.
std::optional<int64_t> constantOf(Value v) {
  APInt number;
  if (!matchPattern(v, m_ConstantInt(&number)) ||
      number.getSignificantBits() > 64)
    return std::nullopt;
  return number.getSExtValue();
}

bool promisesNoWrap(Operation *op) {
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return flags && flags.hasNoSignedWrap();
}

} // namespace

int64_t AffineNumber::factorOf(Value symbol) const {
  for (auto [s, factor] : symbols)
    if (s == symbol)
      return factor;
  return 0;
}

std::optional<AffineNumber> AffineNumber::plus(int64_t number) const {
  auto sum = added(constant, number);
  if (!sum)
    return std::nullopt;
  AffineNumber out = *this;
  out.constant = *sum;
  return out;
}

std::optional<AffineNumber> AffineNumber::plus(const AffineNumber &other,
                                               int64_t by) const {
  auto scaled = multiplied(other.constant, by);
  auto out = scaled ? plus(*scaled) : std::nullopt;
  if (!out)
    return std::nullopt;
  for (auto [symbol, factor] : other.symbols) {
    auto term = multiplied(factor, by);
    auto sum = term ? added(factorOf(symbol), *term) : std::nullopt;
    if (!sum)
      return std::nullopt;
    *out = out->without(symbol);
    if (*sum)
      out->symbols.push_back({symbol, *sum});
  }
  return out;
}

AffineNumber AffineNumber::without(Value symbol) const {
  AffineNumber out = *this;
  llvm::erase_if(out.symbols, [&](auto &term) { return term.first == symbol; });
  return out;
}

/// A term grows along its own dimension only, so each is at its extreme at one
/// end of the dimension, independently of the others.
std::optional<std::pair<AffineNumber, AffineNumber>>
AffineBlock::extremes() const {
  std::optional<AffineNumber> low = number, high = number;
  for (auto [place, extent] : llvm::zip(places, shape)) {
    auto end = multiplied(place, extent - 1);
    if (!end)
      return std::nullopt;
    std::optional<AffineNumber> &moves = *end < 0 ? low : high;
    if (!(moves = moves->plus(*end)))
      return std::nullopt;
  }
  return std::pair(*low, *high);
}

// Everything is possible for a symbol without a range: a value that the
// analysis has not reached, or one wider than 64 bits.
std::pair<int64_t, int64_t> AffineBlocks::rangeOf(Value symbol) {
  auto *state = ranges.lookupState<dataflow::IntegerValueRangeLattice>(symbol);
  if (!state || state->getValue().isUninitialized())
    return {lowest, highest};
  ConstantIntRanges r = state->getValue().getValue();
  if (r.smin().getBitWidth() > 64)
    return {lowest, highest};
  return {r.smin().getSExtValue(), r.smax().getSExtValue()};
}

std::optional<std::pair<int64_t, int64_t>>
AffineBlocks::rangeOf(const AffineBlock &block) {
  auto ends = block.extremes();
  if (!ends)
    return std::nullopt;
  std::optional<int64_t> low = ends->first.constant,
                         high = ends->second.constant;
  for (auto [symbol, factor] : block.number.symbols) {
    auto [least, most] = rangeOf(symbol);
    auto a = multiplied(factor, factor > 0 ? least : most),
         b = multiplied(factor, factor > 0 ? most : least);
    low = a ? added(*low, *a) : std::nullopt;
    high = b ? added(*high, *b) : std::nullopt;
    if (!low || !high)
      return std::nullopt;
  }
  return std::pair(*low, *high);
}

/// A row among the symbols becomes a tile.reduce next to the row. It is built
/// once per row and direction, and shared by all masks.
AffineNumber AffineBlocks::extreme(const AffineNumber &n, bool largest) {
  AffineNumber out{n.constant, {}};
  for (auto [symbol, factor] : n.symbols) {
    Value v = symbol;
    if (isa<RankedTensorType>(v.getType())) {
      bool max = (factor > 0) == largest;
      Value &reduced = extremes[{v, unsigned(max)}];
      if (!reduced) {
        OpBuilder b(v.getContext());
        b.setInsertionPointAfterValue(v);
        reduced =
            ReduceOp::create(b, v.getLoc(),
                             max ? CombineKind::Max : CombineKind::Min, v, 0)
                .getResult(0);
      }
      v = reduced;
    }
    out.symbols.push_back({v, factor});
  }
  return out;
}

bool AffineBlocks::isNonNegative(const AffineBlock &block) {
  auto range = rangeOf(block);
  return range && range->first >= 0;
}

// In fewer than 64 bits, the form holds only if it cannot leave the type's
// range: in 8 bits, 127 + 1 is -128.
std::optional<AffineBlock> AffineBlocks::unwrapped(AffineBlock block, Value v) {
  unsigned width = widthOf(v.getType());
  Operation *op = v.getDefiningOp();
  if (width > 64 || width < 2)
    return std::nullopt;
  if (width == 64 || promisesNoWrap(op))
    return block;
  auto range = rangeOf(block);
  if (!range || range->first < llvm::minIntN(width) ||
      range->second > llvm::maxIntN(width))
    return std::nullopt;
  return block;
}

/// A number or row that no rule explains stands for itself. Two occurrences of
/// it then still cancel in a difference.
std::optional<AffineBlock> AffineBlocks::of(Value v) {
  auto it = known.find(v);
  if (it != known.end())
    return it->second;
  std::optional<AffineBlock> block = compute(v);
  auto row = dyn_cast<RankedTensorType>(v.getType());
  if (!block && (!row || row.getRank() == 1) &&
      getElementTypeOrSelf(v.getType()).isIntOrIndex() &&
      widthOf(v.getType()) <= 64 && widthOf(v.getType()) > 1) {
    block = AffineBlock{{0, {{v, 1}}}, {}, {}};
    if (row) {
      block->places = {0};
      block->shape = {row.getDimSize(0)};
    }
  }
  return known[v] = block;
}

std::optional<AffineBlock> AffineBlocks::difference(Value x, Value y) {
  auto a = of(x), b = of(y);
  if (!a || !b)
    return std::nullopt;
  auto number = a->number.plus(b->number, -1);
  if (!number)
    return std::nullopt;
  AffineBlock out{*number, {}, a->shape};
  for (auto [p, q] : llvm::zip_equal(a->places, b->places)) {
    if (q == lowest || !added(p, -q))
      return std::nullopt;
    out.places.push_back(p - q);
  }
  return out;
}

// `v` as a sum of its operands' sums; nothing if its op is none of these. A
// product needs one constant factor.
std::optional<AffineBlock> AffineBlocks::compute(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || op->getNumResults() != 1 ||
      !getElementTypeOrSelf(v.getType()).isIntOrIndex())
    return std::nullopt;
  SmallVector<int64_t> shape;
  if (auto type = dyn_cast<RankedTensorType>(v.getType()))
    shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto c = constantOf(v))
    return AffineBlock{{*c, {}}, SmallVector<int64_t>(shape.size(), 0), shape};
  if (auto iota = dyn_cast<IotaOp>(op))
    return AffineBlock{{int64_t(iota.getStart()), {}}, {1}, shape};

  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    auto x = of(op->getOperand(0)), y = of(op->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    int64_t by = isa<arith::SubIOp>(op) ? -1 : 1;
    if (isa<arith::MulIOp>(op)) {
      auto factor = constantOf(op->getOperand(1));
      if (!factor) {
        std::swap(x, y);
        factor = constantOf(op->getOperand(0));
      }
      if (!factor)
        return std::nullopt;
      by = *factor;
      std::swap(x, y); // 0 + by * y
      x->number = AffineNumber();
      x->places.assign(shape.size(), 0);
    }
    auto number = x->number.plus(y->number, by);
    if (!number)
      return std::nullopt;
    AffineBlock out{*number, {}, shape};
    for (auto [p, q] : llvm::zip_equal(x->places, y->places)) {
      auto term = multiplied(q, by);
      auto sum = term ? added(p, *term) : std::nullopt;
      if (!sum)
        return std::nullopt;
      out.places.push_back(*sum);
    }
    return unwrapped(out, v);
  }

  // A cast keeps the sum if its value fits in the new width.
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op)) {
    auto in = of(op->getOperand(0));
    return in ? unwrapped(*in, v) : std::nullopt;
  }
  // An unsigned cast keeps the sum only if it is not negative.
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    auto in = of(op->getOperand(0));
    return in && isNonNegative(*in) ? unwrapped(*in, v) : std::nullopt;
  }

  if (!isa<tensor::SplatOp, ExpandDimsOp, BroadcastOp, TransOp,
           ConvertLayoutOp>(op))
    return std::nullopt;
  auto out = of(op->getOperand(0));
  if (!out)
    return std::nullopt;
  if (isa<tensor::SplatOp>(op))
    out->places.assign(shape.size(), 0);
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    out->places.insert(out->places.begin() + expand.getAxis(), 0);
  // The only element is repeated, so the position along d has no influence.
  if (isa<BroadcastOp>(op))
    for (auto [d, extent] : llvm::enumerate(out->shape))
      if (extent == 1)
        out->places[d] = 0;
  if (isa<TransOp>(op)) {
    size_t rank = shape.size();
    std::swap(out->places[rank - 2], out->places[rank - 1]);
  }
  out->shape = shape;
  return out;
}

// Each level replaces one symbol by an operand, and every symbol may be the
// one; the depth keeps this search short.
std::optional<int64_t> AffineBlocks::upperBound(const AffineNumber &n) {
  return upperBound(n, 6);
}

std::optional<int64_t> AffineBlocks::upperBound(const AffineNumber &n,
                                                int depth) {
  std::optional<int64_t> best;
  auto take = [&](std::optional<int64_t> bound) {
    if (bound && (!best || *bound < *best))
      best = bound;
  };
  auto range = rangeOf(AffineBlock{n, {}, {}});
  if (range)
    best = range->second;
  if (depth == 0)
    return best;
  for (auto [symbol, factor] : n.symbols) {
    Operation *op = symbol.getDefiningOp();
    if (!op || op->getNumOperands() != 2)
      continue;
    AffineNumber rest = n.without(symbol);
    auto with = [&](Value v, int64_t by, int64_t constant) {
      auto form = of(v);
      auto sum = form && form->places.empty() ? rest.plus(form->number, by)
                                              : std::nullopt;
      if (sum && (sum = sum->plus(constant)))
        take(upperBound(*sum, depth - 1));
    };
    // min(a, b) is at most a and at most b; -max(a, b) likewise.
    if (factor > 0 && isa<arith::MinSIOp>(op))
      for (Value v : op->getOperands())
        with(v, factor, 0);
    if (factor < 0 && isa<arith::MaxSIOp>(op))
      for (Value v : op->getOperands())
        with(v, factor, 0);
    // Unsigned ops equal signed ones on non-negative operands.
    bool natural = llvm::all_of(op->getOperands(), [&](Value v) {
      auto form = of(v);
      return form && isNonNegative(*form);
    });
    if (factor > 0 && natural && isa<arith::MinUIOp>(op))
      for (Value v : op->getOperands())
        with(v, factor, 0);
    // (x - d + 1) / d <= x / d rounded down <= x / d. So the term in the
    // quotient becomes by * x, where by = factor / d, plus |by| (d - 1) if by
    // is negative. Then x cancels in x - (x / 8) * 8; ranges would bound x and
    // the quotient apart.
    auto divisor = constantOf(op->getOperand(1));
    if (divisor && *divisor > 0 && factor % *divisor == 0 &&
        (isa<arith::FloorDivSIOp>(op) ||
         (natural && isa<arith::DivUIOp, arith::DivSIOp>(op)))) {
      int64_t by = factor / *divisor;
      auto slack = by < 0 ? multiplied(-by, *divisor - 1) : 0;
      if (slack)
        with(op->getOperand(0), by, *slack);
    }
  }
  return best;
}

// Subtracts where a factor is -1: most bounds are differences of positions.
Value act::tile::materialize(const AffineNumber &n, OpBuilder &b,
                             Location loc) {
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value sum;
  for (auto [symbol, factor] : n.symbols) {
    Value term = symbol;
    if (!term.getType().isIndex())
      term = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), term);
    if (factor == -1 && sum) {
      sum = b.createOrFold<arith::SubIOp>(loc, sum, term);
      continue;
    }
    if (factor != 1)
      term = b.createOrFold<arith::MulIOp>(loc, term, constant(factor));
    sum = sum ? b.createOrFold<arith::AddIOp>(loc, sum, term) : term;
  }
  if (!sum)
    return constant(n.constant);
  return n.constant
             ? b.createOrFold<arith::AddIOp>(loc, sum, constant(n.constant))
             : sum;
}
