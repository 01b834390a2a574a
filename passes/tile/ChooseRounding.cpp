// SPDX-License-Identifier: Apache-2.0
//
// Decides where results of blocks are rounded, before loops are split by their
// masks. Which iterations have a mask depends on how many rows a block has, and
// no schedule may change a bit:
//
//     a b - m        of a product a b and a row m: it begins with -m
//     x / r          of a sum of products, if it is rounded to 16 bits: x (1 /
//     r) exp(s k - m)   is one fma and ex2 where s is a product, possibly
//     masked by
//                    infinity. Marked here (tile.exponent_scale = k);
//                    tile-simplify-math writes it down.
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile/BlockMath.h"
#include "passes/tile/FuseLoops.h"
#include "passes/tile/Passes.h"
#include <cmath>

namespace act::tile {
#define GEN_PASS_DEF_CHOOSEROUNDINGPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

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

/// Whether products sum up `v`, in a loop or in what is left of one whose last
/// iteration is apart: where that is known, is a matter of the block's size,
/// and the numbers must not be.
bool isSumOfProducts(Value v) {
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

/// x k as (x, k), where masks by infinity may come after the product: they are
/// no numbers that could be rounded. Behind one, k must be positive, or it
/// would turn infinity around.
Scaled scaledBehindMasks(Value v) {
  bool isMasked = false;
  while (auto select = v.getDefiningOp<arith::SelectOp>()) {
    auto isInfinite = [](Value arm) {
      auto k = constantOf(arm);
      return k && std::isinf(*k);
    };
    if (isInfinite(select.getFalseValue()))
      v = select.getTrueValue();
    else if (isInfinite(select.getTrueValue()))
      v = select.getFalseValue();
    else
      break;
    isMasked = true;
  }
  Scaled s = scaledOf(v);
  return isMasked && s.by <= 0 ? Scaled{v} : s;
}

/// The -1e9 that masks add would be rounded by 64, and 2 to that power
/// overflows if several are added: there the difference comes first.
void markExponent(Operation *op) {
  auto sub = op->getOperand(0).getDefiningOp<arith::SubFOp>();
  if (!sub || !isF32(op->getResult(0)) || !mayApproximate(op))
    return;
  SmallVector<Operation *> repeats;
  behindRepeats(sub.getRhs(), repeats);
  Scaled s = scaledBehindMasks(sub.getLhs());
  if (!repeats.empty() && isOrdinary(s.x))
    op->setAttr(exponentScaleName, Builder(op).getF64FloatAttr(s.by));
}

struct ChooseRounding
    : act::tile::impl::ChooseRoundingPassBase<ChooseRounding> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<BeginWithRow, DivideOncePerRow>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([](Operation *op) {
      if (isa<math::ExpOp, math::Exp2Op>(op))
        markExponent(op);
    });
  }
};

} // namespace
