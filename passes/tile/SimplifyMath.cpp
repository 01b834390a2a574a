// SPDX-License-Identifier: Apache-2.0
//
// Saves instructions per element in loops over blocks, and in what is left of
// such a loop with a single iteration: there the same bits come out.
//
//     exp(s c - m)   of a block s, a constant c and a row m, where it is marked
//                    fma, ex2            2 instead of mul, sub and a polynomial
//     max(s c)       max                 1 instead of mul and max
//
// A row costs little compared to its block, so multiplications move to the row.
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile/BlockMath.h"
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

  /// exp(x - row), marked: the row's product is rounded the same way for the
  /// whole row and in the correction of its sums.
  void ofBlock(Operation *op) {
    auto mark = op->getAttrOfType<FloatAttr>(exponentScaleName);
    auto sub = op->getOperand(0).getDefiningOp<arith::SubFOp>();
    if (!mark || !sub)
      return;
    SmallVector<Operation *> repeats;
    Value row = behindRepeats(sub.getRhs(), repeats);
    // A mask that is gone may leave another factor behind.
    Scaled x = scaledOf(sub.getLhs());
    if (x.by != mark.getValueAsDouble())
      x = {sub.getLhs()};
    double by = x.by * baseOf(op);
    // For exp2 without a scale an fma would save nothing over the subtraction.
    if (by == 1 || !std::isnormal(float(by)))
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
    patterns.add<ScaleAfterMaximum, ScaleAfterSelect, NoGuardOfFinite>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { Exponentials(kernel).run(); });
  }
};

} // namespace
