// SPDX-License-Identifier: Apache-2.0
//
// Functions of f32 become upstream's polynomials, which need no library and
// work on vectors; those without an accurate one stay calls of libm. 16-bit
// floats are computed in f32. passes/tile-to-nvvm/ExpandGpuMath.cpp uses the
// same polynomials.
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

/// 1 / sqrt(x): both operations round correctly, so all targets agree.
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

/// Upstream's expansion in MLIR 22.1 swaps minimum and maximum.
struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value most = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                           op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, most, op.getMax());
    return success();
  }
};

bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

Type asF32(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(f32);
  return f32;
}

/// Arithmetic on 16-bit floats: in f32, each value rounded to its type. Exact
/// for +, -, *, / since f32 has more than twice the digits.
struct WidenArithmetic : RewritePattern {
  WidenArithmetic(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, math::FmaOp,
             math::AbsFOp, math::SqrtOp>(op))
      return failure();
    if (llvm::none_of(op->getOperandTypes(), isNarrow) &&
        llvm::none_of(op->getResultTypes(), isNarrow))
      return failure();
    Location loc = op->getLoc();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isNarrow(operand.getType())
                             ? arith::ExtFOp::create(rewriter, loc,
                                                     asF32(operand.getType()),
                                                     operand)
                                   .getResult()
                             : operand);
    Type type = op->getResult(0).getType();
    OperationState state(loc, op->getName(), operands,
                         isNarrow(type) ? asF32(type) : type, op->getAttrs());
    Value result = rewriter.create(state)->getResult(0);
    if (isNarrow(type))
      result = arith::TruncFOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// f64 to 16 bits through f32: avoids a call of the compiler's runtime library.
struct TruncateInTwoSteps : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getType()) ||
        !getElementTypeOrSelf(op.getIn().getType()).isF64())
      return failure();
    Value single = arith::TruncFOp::create(rewriter, op.getLoc(),
                                           asF32(op.getType()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// 16 bits to f64 likewise.
struct ExtendInTwoSteps : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64() ||
        !isNarrow(op.getIn().getType()))
      return failure();
    Value single = arith::ExtFOp::create(
        rewriter, op.getLoc(), asF32(op.getIn().getType()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

struct ExpandHostMath : act::impl::ExpandHostMathPassBase<ExpandHostMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // The polynomials of sine and cosine are useless for the large angles of a
    // rotary table, so those stay libm calls.
    auto polynomial = [](StringRef name) {
      return name != math::SinOp::getOperationName() &&
             name != math::CosOp::getOperationName() &&
             name != math::RsqrtOp::getOperationName();
    };
    populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
    populateMathPolynomialApproximationPatterns(patterns, polynomial);
    patterns.add<ExpandRsqrt, ExpandClamp, WidenArithmetic, TruncateInTwoSteps,
                 ExtendInTwoSteps>(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    arith::populateArithExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
