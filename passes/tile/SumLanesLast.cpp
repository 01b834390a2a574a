// SPDX-License-Identifier: Apache-2.0
//
// Moves cross-lane sums out of loops, in thread code. Lanes that hold parts of
// a row exchange them in each iteration:
//
//     l = l c + x2,  x1 = x + shfl(x, 1),  x2 = x1 + shfl(x1, 2)
//
// If c is the same in these lanes, each may keep the sum of its own parts,
//
//     l = l c + x                          and after the loop  l + shfl(l, 1) …
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SUMLANESLASTPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

Value behindBitcast(Value v) {
  auto cast = v.getDefiningOp<arith::BitcastOp>();
  return cast ? cast.getIn() : v;
}

/// A shuffled value and its lane distance.
std::optional<std::pair<int64_t, Value>> exchanged(Value v) {
  auto shuffle = behindBitcast(v).getDefiningOp<NVVM::ShflOp>();
  if (!shuffle || shuffle.getKind() != NVVM::ShflKind::bfly ||
      !matchPattern(shuffle.getThreadMask(), m_Constant()) ||
      getConstantIntValue(shuffle.getThreadMask()) != -1)
    return std::nullopt;
  auto lanes = getConstantIntValue(shuffle.getOffset());
  if (!lanes || shuffle->getNumResults() != 1)
    return std::nullopt;
  return std::pair(*lanes, behindBitcast(shuffle.getVal()));
}

bool commutes(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp,
                         arith::MaxNumFOp, arith::MinNumFOp>(op);
}

/// x and n if the op combines x with the x of the lane at xor distance n.
std::optional<std::pair<int64_t, Value>> combined(Operation *op) {
  if (commutes(op))
    for (unsigned i : {0u, 1u})
      if (auto other = exchanged(op->getOperand(i)))
        if (other->second == op->getOperand(1 - i))
          return other;
  return std::nullopt;
}

/// Proves that a value is the same in lanes whose numbers differ by `lanes`.
/// For a value that a loop carries the proof is by induction, so what was found
/// on the way may rest on an assumption that fails. One object answers one
/// question.
class SameInLanes {
public:
  explicit SameInLanes(int64_t lanes) : lanes(lanes) {}
  bool operator()(Value v) {
    auto [it, isNew] = known.try_emplace(v, true); // assume it during recursion
    if (!isNew)
      return it->second;
    bool same = compute(v);
    if (!same)
      known[v] = false;
    return same;
  }

private:
  bool compute(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar())
        return false;
      unsigned k = argument.getArgNumber() - loop.getNumInductionVars();
      return (*this)(loop.getInitArgs()[k]) &&
             (*this)(loop.getYieldedValues()[k]);
    }
    Operation *op = v.getDefiningOp();
    if (matchPattern(op, m_Constant()))
      return true;
    if (auto other = combined(op); other && other->first == lanes)
      return true;
    if (auto other = exchanged(v))
      return (*this)(other->second);
    return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
           llvm::all_of(op->getOperands(), [&](Value o) { return (*this)(o); });
  }

  int64_t lanes;
  llvm::DenseMap<Value, bool> known;
};

/// A carried value and what one iteration adds to it, without the lanes'
/// exchange.
struct LateSum {
  unsigned k;
  Operation *add;
  unsigned operand; // of add
  Value own;
  SmallVector<Operation *> exchanges; // last one first
};

/// Whether the loop's carried value `k` is such a sum. Nothing but the addition
/// and the scaling may read it, since each lane has only its part of the sum;
/// and it must start from 0, or each lane would add the initial value.
std::optional<LateSum> lateSum(scf::ForOp loop, unsigned k) {
  BlockArgument carried = loop.getRegionIterArgs()[k];
  Operation *add = loop.getYieldedValues()[k].getDefiningOp();
  if (!carried.hasOneUse() || !isa_and_nonnull<arith::AddFOp>(add) ||
      add->getBlock() != loop.getBody() || !add->hasOneUse() ||
      !matchPattern(loop.getInitArgs()[k], m_AnyZeroFloat()))
    return std::nullopt;
  Operation *user = *carried.user_begin();
  Value factor;
  if (auto mul = dyn_cast<arith::MulFOp>(user))
    factor = mul->getOperand(mul.getLhs() == carried ? 1 : 0);
  else if (user != add)
    return std::nullopt;
  Value kept = factor ? user->getResult(0) : Value(carried);
  if (!kept.hasOneUse())
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    if (add->getOperand(1 - i) != kept)
      continue;
    LateSum sum{k, add, i, add->getOperand(i), {}};
    // A part with other users needs the full sum in each iteration anyway.
    if (!sum.own.hasOneUse())
      return std::nullopt;
    while (auto other = combined(sum.own.getDefiningOp())) {
      if (!isa<arith::AddFOp>(sum.own.getDefiningOp()) ||
          (factor && !SameInLanes(other->first)(factor)))
        break;
      sum.exchanges.push_back(sum.own.getDefiningOp());
      sum.own = other->second;
    }
    if (!sum.exchanges.empty())
      return sum;
  }
  return std::nullopt;
}

/// The same exchange of another value. Its operands are cloned, because they
/// may be constants in the loop.
Value again(OpBuilder &b, Operation *combine, Value v) {
  for (unsigned i : {0u, 1u}) {
    auto other = exchanged(combine->getOperand(i));
    if (!other || other->second != combine->getOperand(1 - i))
      continue;
    Location loc = combine->getLoc();
    auto shuffle =
        behindBitcast(combine->getOperand(i)).getDefiningOp<NVVM::ShflOp>();
    IRMapping map;
    for (Value o : {shuffle.getThreadMask(), shuffle.getOffset(),
                    shuffle.getMaskAndClamp()})
      map.map(o, b.clone(*o.getDefiningOp())->getResult(0));
    Value word = v;
    if (word.getType() != shuffle.getVal().getType())
      word = arith::BitcastOp::create(b, loc, shuffle.getVal().getType(), v);
    map.map(shuffle.getVal(), word);
    word = b.clone(*shuffle, map)->getResult(0);
    if (word.getType() != v.getType())
      word = arith::BitcastOp::create(b, loc, v.getType(), word);
    return arith::AddFOp::create(b, loc, v, word);
  }
  llvm_unreachable("an exchange of lanes");
}

/// Shuffles have side effects, so DCE does not remove them.
void eraseUnused(Operation *op) {
  if (!op || !op->use_empty() ||
      !isa<arith::AddFOp, arith::BitcastOp, NVVM::ShflOp>(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value v : operands)
    eraseUnused(v.getDefiningOp());
}

void exchangeAfter(scf::ForOp loop, LateSum &sum) {
  sum.add->setOperand(sum.operand, sum.own);
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  Value part = loop.getResult(sum.k), whole = part;
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : part.getUses())
    uses.push_back(&use);
  for (Operation *exchange : llvm::reverse(sum.exchanges))
    whole = again(b, exchange, whole);
  for (OpOperand *use : uses)
    use->set(whole);
  eraseUnused(sum.exchanges.front());
}

struct SumLanesLast : act::tile::impl::SumLanesLastPassBase<SumLanesLast> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      for (unsigned k = 0; k < loop.getNumRegionIterArgs(); ++k)
        if (auto sum = lateSum(loop, k))
          exchangeAfter(loop, *sum);
    });
  }
};

} // namespace
