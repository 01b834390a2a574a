// SPDX-License-Identifier: Apache-2.0
//
// Finds the factors of loop b's terms that come from loop a. A term's factors
// follow from its operands' factors, bottom up:
//
//     p  = exp(x - m)       {exp(-m)}
//     q  = p / l            {exp(-m), 1/l}
//     T  = dot(q, V)        {exp(-m), 1/l}: rows of T have those of q
//
// A value that depends on a in any other way has no factors, and then the loops
// stay as they are.
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/FuseLoops.h"

using namespace mlir;
using namespace act::tile;

std::optional<double> act::tile::constantOf(Value v) {
  Along none;
  while (Value inner = behindShape(v, none))
    v = inner;
  Attribute attribute;
  if (!matchPattern(v, m_Constant(&attribute)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  return std::nullopt;
}

Value act::tile::behindShape(Value v, Along &along) {
  Operation *op = v.getDefiningOp();
  if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
    if (int64_t(expand.getAxis()) < int64_t(along.size()))
      along.erase(along.begin() + expand.getAxis());
    return expand.getInput();
  }
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    for (size_t d = 0; d < along.size(); ++d)
      if (broadcast.getInput().getType().getDimSize(d) !=
          broadcast.getType().getDimSize(d))
        along[d] = -1;
    return broadcast.getInput();
  }
  if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op)) {
    along.clear();
    return splat.getInput();
  }
  return nullptr;
}

static Along identity(Value v) {
  auto block = dyn_cast<RankedTensorType>(v.getType());
  return llvm::to_vector_of<int64_t, 4>(
      llvm::seq<int64_t>(block ? block.getRank() : 0));
}

/// Strips shape changes from `row`.
static void peel(Factor &f) {
  while (Value inner = behindShape(f.row, f.along))
    f.row = inner;
}

/// Rows become blocks by new dimensions and repetition, so their dimensions
/// stay in order.
static bool inOrder(const Factors &factors) {
  return llvm::all_of(factors, [](const Factor &f) {
    int64_t last = -1;
    for (int64_t d : f.along) {
      if (d >= 0 && d <= last)
        return false;
      last = std::max(last, d);
    }
    return true;
  });
}

// What depends on a's results: between the loops, and in b's body. An op with
// regions depends on a if anything inside does.
Dependence::Dependence(scf::ForOp a, scf::ForOp b) : a(a), b(b), same(a, b) {
  dependent.insert(a.result_begin(), a.result_end());
  auto uses = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value v) { return depends(v); })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  auto mark = [&](Operation &op) {
    if (uses(&op)) {
      dependentOps.insert(&op);
      dependent.insert(op.result_begin(), op.result_end());
    }
  };
  for (Operation *op = a->getNextNode(); op != b; op = op->getNextNode())
    mark(*op);
  for (Operation &op : b.getBody()->without_terminator())
    mark(op);
}

bool Dependence::analyze() {
  for (Value v : {b.getLowerBound(), b.getUpperBound(), b.getStep()})
    if (depends(v))
      return false;
  for (unsigned k = 0; k < b.getNumRegionIterArgs(); ++k) {
    carried.emplace_back();
    if (!depends(b.getInitArgs()[k]) && !depends(b.getYieldedValues()[k]))
      continue;
    carried.back() = carriedFactors(k);
    if (!carried.back() || !inOrder(*carried.back()))
      return false;
  }
  return true;
}

/// acc + T + T … and dot(P, V, acc): every step has the same factors, and
/// nothing else reads the running sum.
std::optional<Factors> Dependence::carriedFactors(unsigned k) {
  Value sum = b.getRegionIterArgs()[k];
  if (!isa<FloatType>(getElementTypeOrSelf(sum.getType())))
    return std::nullopt;
  std::optional<Factors> all;
  while (sum.hasOneUse()) {
    OpOperand &use = *sum.use_begin();
    Operation *op = use.getOwner();
    if (op->getBlock() != b.getBody())
      return std::nullopt;
    if (isa<scf::YieldOp>(op))
      return use.getOperandNumber() == k ? all : std::nullopt;
    std::optional<Factors> own;
    if (auto add = dyn_cast<arith::AddFOp>(op))
      own = finiteFactorsOf(add->getOperand(1 - use.getOperandNumber()));
    else if (auto product = dyn_cast<DotOp>(op))
      own = use.getOperandNumber() == 2 ? dot(product) : std::nullopt;
    if (!own || (all && *all != *own))
      return std::nullopt;
    all = own;
    sum = op->getResult(0);
  }
  return std::nullopt;
}

std::optional<Factors> Dependence::factorsOf(Value v) {
  if (!depends(v))
    return Factors();
  if (auto it = known.find(v); it != known.end())
    return it->second;
  auto factors = computeFactors(v);
  known[v] = factors;
  return factors;
}

/// For a block whose elements all count: an op that combines elements must not
/// see those that the first loop has not bounded.
std::optional<Factors> Dependence::finiteFactorsOf(Value v) {
  auto factors = factorsOf(v);
  return factors && llvm::all_of(*factors,
                                 [](const Factor &f) { return f.only.empty(); })
             ? factors
             : std::nullopt;
}

/// The factors of both: every value is its factors times what does not depend
/// on a.
std::optional<Factors> Dependence::product(Value x, Value y) {
  auto left = factorsOf(x), right = factorsOf(y);
  if (!left || !right)
    return std::nullopt;
  left->append(*right);
  return left;
}

/// A matrix product has the factors of a's rows and b's columns. A factor that
/// varies along k does not leave the sum over k.
std::optional<Factors> Dependence::dot(DotOp op) {
  auto left = finiteFactorsOf(op.getA()), right = finiteFactorsOf(op.getB());
  if (!left || !right)
    return std::nullopt;
  auto within = [](const Factors &factors, int64_t dim) {
    return llvm::all_of(factors, [&](const Factor &f) {
      return llvm::all_of(f.along,
                          [&](int64_t d) { return d == dim || d < 0; });
    });
  };
  if (!within(*left, 0) || !within(*right, 1))
    return std::nullopt;
  left->append(*right);
  return left;
}

/// Values of at most 1: rounding to fewer exponent bits cannot make them
/// infinite when a factor is removed.
static bool isAtMostOne(Value v, const Dependence &d) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<math::ExpOp, math::Exp2Op>(op))
    return true;
  if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return isAtMostOne(op->getOperand(0), d) && d.isRow(op->getOperand(1));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isAtMostOne(d.depends(select.getTrueValue())
                           ? select.getTrueValue()
                           : select.getFalseValue(),
                       d);
  return false;
}

/// Marks summed dimensions; no factor may depend on one.
static constexpr int64_t notThere = -2;
/// `factors` with dimensions renumbered by `where`, as an op that changes the
/// shape does; nothing if one of them varies along a summed dimension.
static std::optional<Factors>
moved(std::optional<Factors> factors,
      llvm::function_ref<int64_t(int64_t)> where) {
  if (factors)
    for (Factor &f : *factors)
      for (int64_t &d : f.along)
        if (d >= 0 && (d = where(d)) == notThere)
          return std::nullopt;
  return factors;
}

/// One rule per op. Sums need equal factors on both sides; selects may only
/// hide terms, by 0; a reduction must not run over a dimension of a factor.
std::optional<Factors> Dependence::computeFactors(Value v) {
  if (isRow(v)) {
    Factor f{Factor::Times, v, identity(v)};
    peel(f);
    return Factors{f};
  }
  Operation *op = v.getDefiningOp();
  if (isa<math::ExpOp>(op))
    return exponential(op, Factor::Exp);
  if (isa<math::Exp2Op>(op))
    return exponential(op, Factor::Exp2);
  if (isa<arith::MulFOp>(op))
    return product(op->getOperand(0), op->getOperand(1));
  if (isa<arith::NegFOp, arith::ExtFOp>(op))
    return factorsOf(op->getOperand(0));
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    auto factors = factorsOf(truncation.getIn());
    // Without its factors the rounded number may be larger. bf16 and f32 have
    // the range for it; f16 and f8 only if it is at most 1.
    auto to = cast<FloatType>(getElementTypeOrSelf(v.getType()));
    if (factors && !to.isBF16() && !to.isF32() &&
        !isAtMostOne(truncation.getIn(), *this))
      return std::nullopt;
    return factors;
  }
  if (isa<arith::DivFOp>(op)) {
    auto factors = factorsOf(op->getOperand(0));
    Value by = op->getOperand(1);
    if (!factors || !depends(by))
      return factors;
    if (!isRow(by))
      return std::nullopt;
    Factor f{Factor::Over, by, identity(by)};
    peel(f);
    factors->push_back(f);
    return factors;
  }
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    auto left = finiteFactorsOf(op->getOperand(0)),
         right = finiteFactorsOf(op->getOperand(1));
    return left && right && *left == *right ? left : std::nullopt;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (depends(select.getCondition()))
      return std::nullopt;
    if (constantOf(select.getFalseValue()) == 0.0)
      return selected(select.getCondition(), true, select.getTrueValue());
    if (constantOf(select.getTrueValue()) == 0.0)
      return selected(select.getCondition(), false, select.getFalseValue());
    return std::nullopt;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    int64_t axis = reduce.getAxis();
    if (reduce.getKind() != CombineKind::Add)
      return std::nullopt;
    return moved(finiteFactorsOf(reduce.getInputs()[0]), [&](int64_t d) {
      return d == axis ? notThere : d - (d > axis);
    });
  }
  if (auto product = dyn_cast<DotOp>(op))
    return constantOf(product.getAcc()) == 0.0 ? dot(product) : std::nullopt;
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return moved(finiteFactorsOf(expand.getInput()), [&](int64_t d) {
      return d + (d >= int64_t(expand.getAxis()));
    });
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return moved(finiteFactorsOf(broadcast.getInput()), [&](int64_t d) {
      return broadcast.getInput().getType().getDimSize(d) ==
                     broadcast.getType().getDimSize(d)
                 ? d
                 : -1;
    });
  if (auto trans = dyn_cast<TransOp>(op)) {
    int64_t rank = trans.getType().getRank();
    return moved(finiteFactorsOf(trans.getInput()), [&](int64_t d) {
      return d >= rank - 2 ? 2 * rank - 3 - d : d;
    });
  }
  return std::nullopt;
}
