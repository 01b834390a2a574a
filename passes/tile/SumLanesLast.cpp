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
//
// A loop that goes on with such a sum, over other blocks of the same row, goes
// on with the lanes' parts. So does a block of exponentials outside of loops:
// it was the only iteration of one; and a sum that a condition leaves as it
// was, as around a loop that may be empty, is exchanged behind both ways. The
// order of a softmax's sums then does not depend on which blocks of a row are
// in which loop
// (--tile-split-masked-loops), and thus not on the rows of a program.
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
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return (*this)(loop.getTiedLoopRegionIterArg(cast<OpResult>(v)));
    if (auto either = dyn_cast<scf::IfOp>(op)) {
      unsigned k = cast<OpResult>(v).getResultNumber();
      return (*this)(either.thenYield().getOperand(k)) &&
             (*this)(either.elseYield().getOperand(k));
    }
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

/// A sum so far, perhaps scaled, and what is added to it, without the lanes'
/// exchange.
struct LateSum {
  arith::AddFOp add;
  unsigned operand;                   // of `add`: what is added
  Value before;                       // the sum so far, not yet scaled
  Value factor;                       // or null
  Value own;                          // what is added, without the exchanges
  SmallVector<Operation *> exchanges; // last one first
};

/// Where a sum that starts from `init` and is exchanged as in `exchanges` can
/// start in each lane; null if each would add `init`.
Value beginning(Value init, ArrayRef<Operation *> exchanges) {
  if (matchPattern(init, m_AnyZeroFloat()))
    return init;
  for (Operation *exchange : exchanges) {
    auto other = combined(init.getDefiningOp());
    if (!other || !isa<arith::AddFOp>(init.getDefiningOp()) ||
        other->first != combined(exchange)->first)
      return {};
    init = other->second;
  }
  return init;
}

/// The sum with its exchanged operand number `i`, if the lanes may keep their
/// parts of it.
std::optional<LateSum> lateSum(arith::AddFOp add, unsigned i) {
  LateSum sum{add, i, add->getOperand(1 - i), {}, add->getOperand(i), {}};
  if (auto mul = sum.before.getDefiningOp<arith::MulFOp>()) {
    // The factor is the operand that is no sum of lanes.
    auto isSum = [](Value v) {
      return isa<BlockArgument>(v) || matchPattern(v, m_AnyZeroFloat()) ||
             combined(v.getDefiningOp());
    };
    unsigned at = isSum(mul.getLhs()) ? 0 : 1;
    sum.before = mul->getOperand(at);
    sum.factor = mul->getOperand(1 - at);
  }
  // A part with other users needs the full sum at once anyway.
  if (!sum.own.hasOneUse())
    return std::nullopt;
  while (auto other = combined(sum.own.getDefiningOp())) {
    if (!isa<arith::AddFOp>(sum.own.getDefiningOp()) ||
        (sum.factor && !SameInLanes(other->first)(sum.factor)))
      break;
    sum.exchanges.push_back(sum.own.getDefiningOp());
    sum.own = other->second;
  }
  return sum.exchanges.empty() ? std::nullopt : std::optional(sum);
}

/// The sum that the loop carries as value `k`. Nothing but the addition and the
/// scaling may read it, since each lane has only its part.
std::optional<LateSum> lateSum(scf::ForOp loop, unsigned k) {
  BlockArgument carried = loop.getRegionIterArgs()[k];
  auto add = loop.getYieldedValues()[k].getDefiningOp<arith::AddFOp>();
  if (!carried.hasOneUse() || !add || add->getBlock() != loop.getBody() ||
      !add->hasOneUse())
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (auto sum = lateSum(add, i);
        sum && sum->before == carried && add->getOperand(1 - i).hasOneUse() &&
        beginning(loop.getInitArgs()[k], sum->exchanges))
      return sum;
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
  SetVector<Operation *> left;
  if (op)
    left.insert(op);
  while (!left.empty()) {
    Operation *next = left.pop_back_val();
    if (!next->use_empty() ||
        !isa<arith::AddFOp, arith::BitcastOp, NVVM::ShflOp>(next))
      continue;
    for (Value v : next->getOperands())
      if (Operation *behind = v.getDefiningOp())
        left.insert(behind);
    next->erase();
  }
}

/// Exchanges `part`, which is in each lane a part of the sum, before its users.
void exchange(OpBuilder &b, Value part, ArrayRef<Operation *> exchanges) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : part.getUses())
    uses.push_back(&use);
  Value whole = part;
  for (Operation *exchange : llvm::reverse(exchanges))
    whole = again(b, exchange, whole);
  for (OpOperand *use : uses)
    use->set(whole);
}

void exchangeAfter(scf::ForOp loop, unsigned k, LateSum &sum) {
  sum.add->setOperand(sum.operand, sum.own);
  Value init = loop.getInitArgs()[k];
  loop.getInitArgsMutable()[k].assign(beginning(init, sum.exchanges));
  eraseUnused(init.getDefiningOp());
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  exchange(b, loop.getResult(k), sum.exchanges);
  eraseUnused(sum.exchanges.front());
}

/// Whether a lane's part is a sum of exponentials, some of them hidden.
bool isOfExponentials(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isOfExponentials(select.getTrueValue());
  return isa_and_nonnull<math::Exp2Op>(op) ||
         (isa_and_nonnull<arith::AddFOp>(op) &&
          isOfExponentials(op->getOperand(0)));
}

/// The same for a block outside of loops.
void exchangeAfter(LateSum &sum, Value begun) {
  OpBuilder b(sum.add);
  Value scaled = begun;
  if (sum.factor)
    scaled = arith::MulFOp::create(b, sum.add.getLoc(), begun, sum.factor);
  Operation *before = sum.add->getOperand(1 - sum.operand).getDefiningOp();
  sum.add->setOperand(1 - sum.operand, scaled);
  sum.add->setOperand(sum.operand, sum.own);
  b.setInsertionPointAfter(sum.add);
  exchange(b, sum.add.getResult(), sum.exchanges);
  eraseUnused(sum.exchanges.front());
  if (before && sum.factor && before->use_empty())
    before->erase(); // the multiplication
  eraseUnused(sum.before.getDefiningOp());
}

/// The same for a sum that one way adds to and the other one leaves.
void exchangeAfter(scf::IfOp either) {
  for (OpResult result : either.getResults()) {
    OpOperand &then =
                  either.thenYield()->getOpOperand(result.getResultNumber()),
              &other =
                  either.elseYield()->getOpOperand(result.getResultNumber());
    SmallVector<Operation *> exchanges;
    Value own = then.get();
    while (auto lane = combined(own.getDefiningOp())) {
      if (!isa<arith::AddFOp>(own.getDefiningOp()))
        break;
      exchanges.push_back(own.getDefiningOp());
      own = lane->second;
    }
    Value left =
        exchanges.empty() ? Value() : beginning(other.get(), exchanges);
    if (!left)
      continue;
    then.set(own);
    Operation *before = other.get().getDefiningOp();
    other.set(left);
    OpBuilder b(either->getContext());
    b.setInsertionPointAfter(either);
    exchange(b, result, exchanges);
    eraseUnused(exchanges.front());
    eraseUnused(before);
  }
}

/// Loops and sums, each before what is in it; conditions after it.
void collect(Region &region, SmallVectorImpl<Operation *> &ops) {
  for (Operation &op : region.getOps()) {
    if (isa<scf::ForOp, arith::AddFOp>(op))
      ops.push_back(&op);
    for (Region &inner : op.getRegions())
      collect(inner, ops);
    if (isa<scf::IfOp>(op) && op.getNumResults())
      ops.push_back(&op);
  }
}

struct SumLanesLast : act::tile::impl::SumLanesLastPassBase<SumLanesLast> {
  void runOnOperation() override {
    // In order: each goes on where the one before ended.
    SmallVector<Operation *> ops;
    for (Region &region : getOperation()->getRegions())
      collect(region, ops);
    llvm::SmallPtrSet<Operation *, 32> done; // also what is erased
    for (Operation *op : ops) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        for (unsigned k = 0; k < loop.getNumRegionIterArgs(); ++k)
          if (auto sum = lateSum(loop, k)) {
            done.insert(sum->exchanges.begin(), sum->exchanges.end());
            exchangeAfter(loop, k, *sum);
          }
        continue;
      }
      if (done.contains(op))
        continue;
      if (auto either = dyn_cast<scf::IfOp>(op)) {
        exchangeAfter(either);
        continue;
      }
      for (unsigned i : {0u, 1u}) {
        auto sum = lateSum(cast<arith::AddFOp>(op), i);
        if (!sum || !isOfExponentials(sum->own))
          continue;
        if (Value begun = beginning(sum->before, sum->exchanges)) {
          exchangeAfter(*sum, begun);
          break;
        }
      }
    }
  }
};

} // namespace
