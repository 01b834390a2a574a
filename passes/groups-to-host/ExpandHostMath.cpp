// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_EXPANDHOSTMATHPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

/// 1 / sqrt(x): both are rounded correctly, so every target agrees.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    Attribute one = rewriter.getFloatAttr(getElementTypeOrSelf(type), 1.0);
    if (auto shaped = dyn_cast<ShapedType>(type))
      one = DenseElementsAttr::get(shaped, one);
    Value numerator =
        arith::ConstantOp::create(rewriter, op.getLoc(), cast<TypedAttr>(one));
    Value root = math::SqrtOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, numerator, root);
    return success();
  }
};

struct ExpandHostMath : act::impl::ExpandHostMathPassBase<ExpandHostMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    auto all = [](StringRef) { return true; };
    auto narrow = [](StringRef) { return true; };
    populateMathF32ExpansionPatterns(patterns, narrow);
    populateMathPolynomialApproximationPatterns(patterns, all);
    patterns.add<ExpandRsqrt>(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    arith::populateArithExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
