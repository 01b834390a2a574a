// SPDX-License-Identifier: Apache-2.0
//
// Saves instructions per element in loops over blocks, and in what is left of
// such a loop with a single iteration: there the same bits come out.
//
//     exp(s c - m)   of a block s, a constant c and a row m
//                    fma, ex2            2 instead of mul, sub and a polynomial
//     max(s c)       max                 1 instead of mul and max
//     a b - m        of a product        0 instead of sub: it begins with -m
//     x / r          after such a loop   mul instead of a division, if it is
//                                        rounded to 16 bits
//
// A row costs little compared to its block, so multiplications move to the row.
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile/FuseLoops.h"
#include "passes/tile/Passes.h"
#include <cmath>

namespace act::tile {
#define GEN_PASS_DEF_SIMPLIFYMATHPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Whether the op is in a loop over blocks. A loop of a single iteration is
/// none any more; there an op counts whose result becomes another dot's
/// operand.
bool isOfLoop(Operation *op) {
  if (op->getParentOfType<scf::ForOp>())
    return true;
  SetVector<Operation *> readers;
  readers.insert(op);
  for (size_t i = 0; i < readers.size(); ++i)
    for (OpOperand &use : readers[i]->getUses()) {
      if (isa<DotOp>(use.getOwner()) && use.getOperandNumber() < 2)
        return true;
      readers.insert(use.getOwner());
    }
  return false;
}

/// The value that `v` repeats, and the repeating ops, outermost first.
Value behindRepeats(Value v, SmallVectorImpl<Operation *> &ops) {
  Along none;
  while (Value inner = behindShape(v, none)) {
    ops.push_back(v.getDefiningOp());
    v = inner;
  }
  return v;
}

/// `v` repeated as these ops did it.
Value repeated(Value v, ArrayRef<Operation *> repeats, OpBuilder &b) {
  for (Operation *repeat : llvm::reverse(repeats)) {
    Operation *copy = b.clone(*repeat);
    copy->setOperand(0, v);
    v = copy->getResult(0);
  }
  return v;
}

bool isF32(Value v) { return getElementTypeOrSelf(v.getType()).isF32(); }

Value splat(OpBuilder &b, Location loc, Type type, double number) {
  TypedAttr value = b.getFloatAttr(getElementTypeOrSelf(type), number);
  if (auto block = dyn_cast<RankedTensorType>(type))
    value = DenseElementsAttr::get(block, value);
  return arith::ConstantOp::create(b, loc, value);
}

/// The factors x and k of a product with an ordinary constant.
struct Scaled {
  Value x;
  double by = 1;
};
Scaled scaledOf(Value v) {
  if (auto mul = v.getDefiningOp<arith::MulFOp>())
    for (unsigned i : {1u, 0u})
      if (auto k = constantOf(mul->getOperand(i)))
        if (std::isnormal(*k))
          return {mul->getOperand(1 - i), *k};
  return {v};
}

/// max(x k) = k max(x) for k > 0, bit by bit: rounding keeps the order.
struct ScaleAfterMaximum : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != CombineKind::Max && op.getKind() != CombineKind::Min)
      return failure();
    Value in = op.getInputs()[0];
    if (!isF32(in))
      return failure();
    Scaled s = scaledOf(in);
    if (s.x == in || s.by <= 0 || !isOfLoop(op))
      return failure();
    Value most = ReduceOp::create(rewriter, op.getLoc(), *op.getKind(), s.x,
                                  op.getAxis())
                     .getResult(0);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, most, splat(rewriter, op.getLoc(), most.getType(), s.by));
    return success();
  }
};

/// c ? x k : -inf is (c ? x : -inf) k for k > 0. A mask between the product and
/// the maximum would otherwise hide the scale from the other patterns.
struct ScaleAfterSelect : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()))
      return failure();
    for (bool scaledIsTrue : {true, false}) {
      Value value = scaledIsTrue ? op.getTrueValue() : op.getFalseValue();
      Value other = scaledIsTrue ? op.getFalseValue() : op.getTrueValue();
      auto constant = constantOf(other);
      Scaled s = scaledOf(value);
      if (!constant || !std::isinf(*constant) || s.x == value || s.by <= 0 ||
          !isOfLoop(op))
        continue;
      Value chosen = arith::SelectOp::create(
          rewriter, op.getLoc(), op.getCondition(), scaledIsTrue ? s.x : other,
          scaledIsTrue ? other : s.x);
      rewriter.replaceOpWithNewOp<arith::MulFOp>(
          op, chosen, splat(rewriter, op.getLoc(), op.getType(), s.by));
      return success();
    }
    return failure();
  }
};

/// A maximum with at least one finite number is not -inf, so a row with a
/// visible element needs no substitute for it.
struct NoGuardOfFinite : OpRewritePattern<arith::CmpFOp> {
  using OpRewritePattern::OpRewritePattern;
  static bool hasFinite(Value v) {
    if (auto reduce = v.getDefiningOp<ReduceOp>())
      return reduce.getKind() == CombineKind::Max &&
             isFiniteBlock(reduce.getInputs()[0]);
    if (Scaled s = scaledOf(v); s.x != v && s.by > 0)
      return hasFinite(s.x);
    Operation *op = v.getDefiningOp();
    return isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op) &&
           llvm::any_of(op->getOperands(), hasFinite);
  }
  LogicalResult matchAndRewrite(arith::CmpFOp op,
                                PatternRewriter &rewriter) const override {
    bool equal = op.getPredicate() == arith::CmpFPredicate::OEQ;
    if ((!equal && op.getPredicate() != arith::CmpFPredicate::UNE) ||
        constantOf(op.getRhs()) != -INFINITY || !hasFinite(op.getLhs()))
      return failure();
    TypedAttr value = rewriter.getBoolAttr(!equal);
    if (auto block = dyn_cast<RankedTensorType>(op.getType()))
      value = DenseElementsAttr::get(block, !equal);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

/// a b - m of a product that starts from zeros, and a row m: start from -m. The
/// subtraction of a whole block disappears.
struct BeginWithRow : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SubFOp op,
                                PatternRewriter &rewriter) const override {
    auto dot = op.getLhs().getDefiningOp<DotOp>();
    SmallVector<Operation *> repeats;
    Value row = behindRepeats(op.getRhs(), repeats);
    if (!dot || !isF32(dot.getResult()) || repeats.empty() ||
        !dot->hasOneUse() || dot->getBlock() != op->getBlock() ||
        constantOf(dot.getAcc()) != 0.0 || !isOfLoop(op))
      return failure();
    Value less = repeated(arith::NegFOp::create(rewriter, op.getLoc(), row),
                          repeats, rewriter);
    auto begun = cast<DotOp>(rewriter.clone(*dot));
    begun.getAccMutable().assign(less);
    rewriter.replaceOp(op, begun);
    return success();
  }
};

/// Values of ordinary size: dots without later additions, possibly scaled by
/// small constants or masked to infinity.
bool isOrdinary(Value v) {
  constexpr double most = 0x1p16;
  auto isSmall = [](Value v) {
    auto k = constantOf(v);
    return k && std::fabs(*k) <= most;
  };
  if (auto k = constantOf(v))
    return std::isinf(*k) || std::fabs(*k) <= most;
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<DotOp, math::TanhOp>(op))
    return true;
  if (auto mul = dyn_cast_or_null<arith::MulFOp>(op))
    return (isSmall(mul.getLhs()) && isOrdinary(mul.getRhs())) ||
           (isSmall(mul.getRhs()) && isOrdinary(mul.getLhs()));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isOrdinary(select.getTrueValue()) &&
           isOrdinary(select.getFalseValue());
  return isa_and_nonnull<arith::NegFOp, arith::ExtFOp, arith::TruncFOp,
                         ExpandDimsOp, BroadcastOp, TransOp>(op) &&
         isOrdinary(op->getOperand(0));
}

/// Whether products sum up `v`, in a loop or in what is left of one whose last
/// iteration is apart: where that is known, is a matter of the block's size,
/// and the numbers must not be.
static bool isSumOfProducts(Value v) {
  auto loop = v.getDefiningOp<scf::ForOp>();
  return v.getDefiningOp<DotOp>() ||
         (loop && !loop.getBody()->getOps<DotOp>().empty());
}

/// x / row, where products sum up x and the quotient is only rounded to 16
/// bits: a division of floats is many instructions, and that of each row is
/// one. The product with the reciprocal is off by one and a half ulp of f32,
/// far less than it is rounded by.
struct DivideOncePerRow : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto block = dyn_cast<RankedTensorType>(op.getType());
    SmallVector<Operation *> repeats;
    Value row = behindRepeats(op.getRhs(), repeats);
    auto isNarrow = [](Operation *user) {
      return isa<arith::TruncFOp>(user) &&
             getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() <=
                 16;
    };
    if (!block || !block.getElementType().isF32() || repeats.empty() ||
        !isSumOfProducts(op.getLhs()) || op->use_empty() ||
        !llvm::all_of(op->getUsers(), isNarrow))
      return failure();
    Value one = splat(rewriter, op.getLoc(), row.getType(), 1);
    Value each = arith::DivFOp::create(rewriter, op.getLoc(), one, row);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, op.getLhs(), repeated(each, repeats, rewriter));
    return success();
  }
};

/// exp and exp2 that may be approximated.
class Exponentials {
public:
  explicit Exponentials(gpu::GPUFuncOp kernel) : b(kernel.getContext()) {
    kernel.walk([&](Operation *op) {
      if (isa<math::ExpOp, math::Exp2Op>(op) && isF32(op->getResult(0)) &&
          mayApproximate(op))
        all.push_back(op);
    });
  }
  /// Blocks first: they determine the rows whose product with log2(e) is
  /// rounded. The corrections of their sums must round it alike (ofRow), or
  /// weights would not cancel.
  void run() {
    for (Operation *op : all)
      ofBlock(op);
    for (Operation *op : all)
      if (!done.contains(op))
        ofRow(op);
    for (Operation *op : all)
      if (!done.contains(op) && isa<math::ExpOp>(op))
        alone(op);
    for (Operation *op : done)
      op->erase();
  }

private:
  static double baseOf(Operation *op) {
    return isa<math::ExpOp>(op) ? M_LOG2E : 1;
  }
  Value times(Value v, double by) {
    Scaled s = scaledOf(v);
    return arith::MulFOp::create(b, v.getLoc(), s.x,
                                 splat(b, v.getLoc(), v.getType(), s.by * by));
  }
  /// A row is rounded once more where it is a product already: a loop carries
  /// it from iteration to iteration, and then the product is not seen.
  Value rowTimes(Value row, double by) {
    if (by == -1)
      return arith::NegFOp::create(b, row.getLoc(), row);
    return arith::MulFOp::create(b, row.getLoc(), row,
                                 splat(b, row.getLoc(), row.getType(), by));
  }
  void replace(Operation *op, Value exponent) {
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    Value v = math::Exp2Op::create(b, op->getLoc(), exponent, flags);
    op->getResult(0).replaceAllUsesWith(v);
    done.insert(op);
  }

  /// exp(x - row): the row's product is rounded the same way for the whole row
  /// and in the correction of its sums. The -1e9 that masks add would be
  /// rounded by 64, and 2 to that power overflows if several are added; there
  /// the difference is computed first.
  void ofBlock(Operation *op) {
    auto sub = op->getOperand(0).getDefiningOp<arith::SubFOp>();
    if (!sub)
      return;
    SmallVector<Operation *> repeats;
    Value row = behindRepeats(sub.getRhs(), repeats);
    Scaled x = scaledOf(sub.getLhs());
    double by = x.by * baseOf(op);
    // For exp2 without a scale an fma would save nothing over the subtraction.
    if (repeats.empty() || by == 1 || !std::isnormal(float(by)) ||
        !isOrdinary(x.x))
      return;
    b.setInsertionPoint(op);
    if (isa<math::ExpOp>(op))
      rows.insert(row);
    Value less = repeated(rowTimes(row, -baseOf(op)), repeats, b);
    replace(op, math::FmaOp::create(b, op->getLoc(), x.x,
                                    splat(b, op->getLoc(), x.x.getType(), by),
                                    less));
  }

  /// exp(before - row) for a row that also has a block: uses the same rounded
  /// product.
  void ofRow(Operation *op) {
    auto sub = op->getOperand(0).getDefiningOp<arith::SubFOp>();
    if (!sub || !isa<math::ExpOp>(op) || !rows.contains(sub.getRhs()))
      return;
    b.setInsertionPoint(op);
    Value x = rowTimes(sub.getLhs(), M_LOG2E),
          y = rowTimes(sub.getRhs(), -M_LOG2E);
    replace(op, arith::AddFOp::create(b, op->getLoc(), x, y));
  }

  void alone(Operation *op) {
    b.setInsertionPoint(op);
    replace(op, times(op->getOperand(0), M_LOG2E));
  }

  OpBuilder b;
  SmallVector<Operation *> all;
  llvm::SmallSetVector<Operation *, 8> done;
  llvm::DenseSet<Value> rows; // of blocks of exp
};

struct SimplifyMath : act::tile::impl::SimplifyMathPassBase<SimplifyMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<BeginWithRow, ScaleAfterMaximum, ScaleAfterSelect,
                 DivideOncePerRow, NoGuardOfFinite>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { Exponentials(kernel).run(); });
  }
};

} // namespace
