// SPDX-License-Identifier: Apache-2.0
//
// Skips dots of an all-zero operand.
//
//     mask   = token[k] == row[i]           64 tokens, 128 rows of a table
//     picked = mask ? 1 : 0
//     sum   += dot(picked, gradient[k, :])
//
// sums the gradients of the tokens that name a row. Any 64 tokens name few of a
// table's rows, and if they name none of the block's, the dot adds zeros. The
// tokens alone tell: the rows are %first to %first + 127, so a mask element is
// true only if a token lies between them. That takes 64 comparisons instead of
// 128 x 64.
//
//     near = %first <= token and token <= %first + 127
//     sum  = any(near) ? sum + dot(picked, gradient) : sum
//
// Ops that only the dot needs move into its branch, including the loads of its
// other operand. The branch is uniform: `any` is over the whole block. If a
// loop does nothing else, its steps are tested all at once (EmptySteps.h).
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/AffineBlocks.h"
#include "passes/tile/EmptySteps.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace act::tile {
#define GEN_PASS_DEF_SKIPEMPTYDOTSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// The comparisons that must all be true where a block is not zero, if selects
/// make it so.
void comparisonsOf(Value operand, SmallVectorImpl<arith::CmpIOp> &out) {
  while (
      isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  auto select = operand.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return;
  SmallVector<Value> conditions{select.getCondition()};
  while (!conditions.empty()) {
    Value c = conditions.pop_back_val();
    if (auto both = c.getDefiningOp<arith::AndIOp>())
      conditions.append({both.getLhs(), both.getRhs()});
    else if (auto comparison = c.getDefiningOp<arith::CmpIOp>())
      out.push_back(comparison);
  }
}

/// If x == y holds anywhere in the block, then row * factor + low <= 0 <= row *
/// factor + high for some element of the row.
struct Reach {
  Value row;
  int64_t factor;
  AffineNumber low, high;
};

/// `comparison` as a statement about one row: x - y is an affine sum with the
/// row as a symbol, and the rest lies between its two corners.
std::optional<Reach> reachOf(arith::CmpIOp comparison, AffineBlocks &sums) {
  if (comparison.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  auto difference = sums.difference(comparison.getLhs(), comparison.getRhs());
  auto ends = difference ? difference->extremes() : std::nullopt;
  if (!ends)
    return std::nullopt;
  Value row;
  for (auto [symbol, factor] : difference->number.symbols)
    if (isa<RankedTensorType>(symbol.getType())) {
      if (row)
        return std::nullopt;
      row = symbol;
    }
  // Without a row the mask is uniform (tile-split-masked-loops).
  if (!row)
    return std::nullopt;
  return Reach{row, difference->number.factorOf(row), ends->first.without(row),
               ends->second.without(row)};
}

/// Whether the comparison is true anywhere in the block, computed before `dot`.
Value reached(const Reach &reach, DotOp dot) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  auto type = cast<RankedTensorType>(reach.row.getType()).clone(b.getI64Type());
  auto block = [&](Value number) -> Value {
    return tensor::SplatOp::create(
        b, loc, type,
        b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), number));
  };
  Type element = getElementTypeOrSelf(reach.row.getType());
  Value row = reach.row;
  if (element.isIndex())
    row = arith::IndexCastOp::create(b, loc, type, row);
  else if (!element.isInteger(64))
    row = arith::ExtSIOp::create(b, loc, type, row);
  if (reach.factor != 1)
    row = arith::MulIOp::create(
        b, loc, row,
        block(arith::ConstantIndexOp::create(b, loc, reach.factor)));
  auto end = [&](const AffineNumber &n, arith::CmpIPredicate p) -> Value {
    auto zero = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getI64IntegerAttr(0)));
    Value sum =
        arith::AddIOp::create(b, loc, row, block(materialize(n, b, loc)));
    return arith::CmpIOp::create(b, loc, p, sum, zero);
  };
  Value near =
      arith::AndIOp::create(b, loc, end(reach.low, arith::CmpIPredicate::sle),
                            end(reach.high, arith::CmpIPredicate::sge));
  return ReduceOp::create(b, loc, CombineKind::Or, near, 0).getResult(0);
}

/// Ops of the loop's body, loads included, that only `dot` needs, in order. A
/// load does not move past a write, which might be to its memory.
SmallVector<Operation *> onlyFor(DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> taken{dot};
  SmallVector<Operation *> ops{dot};
  bool written = false;
  for (Operation *op = dot->getPrevNode(); op; op = op->getPrevNode()) {
    bool reads = hasSingleEffect<MemoryEffects::Read>(op);
    if (isMemoryEffectFree(op) || (reads && !written)) {
      // The other branch hands on the sum so far.
      if (op != dot.getAcc().getDefiningOp() && !op->use_empty() &&
          llvm::all_of(op->getUsers(),
                       [&](Operation *u) { return taken.contains(u); })) {
        taken.insert(op);
        ops.push_back(op);
      }
      continue;
    }
    written |= !reads;
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

scf::IfOp branch(DotOp dot, const Reach &reach) {
  Value any = reached(reach, dot);
  SmallVector<Operation *> ops = onlyFor(dot);
  OpBuilder b(dot);
  auto taken = scf::IfOp::create(b, dot.getLoc(), TypeRange(dot.getType()), any,
                                 /*withElse=*/true);
  dot.getResult().replaceAllUsesWith(taken.getResult(0));
  OpBuilder otherwise = OpBuilder::atBlockEnd(taken.elseBlock());
  scf::YieldOp::create(otherwise, dot.getLoc(), dot.getAcc());
  Block *then = taken.thenBlock();
  for (Operation *op : ops)
    op->moveBefore(then, then->end());
  OpBuilder end = OpBuilder::atBlockEnd(then);
  scf::YieldOp::create(end, dot.getLoc(), dot.getResult());
  return taken;
}

struct SkipEmptyDots : act::tile::impl::SkipEmptyDotsPassBase<SkipEmptyDots> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (kernel.isKernel() && failed(skip(kernel)))
        signalPassFailure();
    });
  }

  LogicalResult skip(gpu::GPUFuncOp kernel) {
    SmallVector<std::pair<DotOp, arith::CmpIOp>> masked;
    kernel.walk([&](DotOp dot) {
      SmallVector<arith::CmpIOp> comparisons;
      if (isa<scf::ForOp>(dot->getParentOp()))
        for (Value operand : {dot.getA(), dot.getB()})
          comparisonsOf(operand, comparisons);
      for (arith::CmpIOp comparison : comparisons)
        masked.emplace_back(dot, comparison);
    });
    if (masked.empty())
      return success();
    DataFlowSolver ranges;
    if (failed(findRanges(ranges, kernel)))
      return failure();
    AffineBlocks sums(ranges);
    llvm::MapVector<DotOp, Reach> found; // one test each
    for (auto [dot, comparison] : masked)
      if (auto reach = reachOf(comparison, sums))
        found.try_emplace(dot, *reach);
    for (auto &[dot, reach] : found)
      skipEmptySteps(branch(dot, reach));
    return success();
  }
};

} // namespace
