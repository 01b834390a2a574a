// SPDX-License-Identifier: Apache-2.0
//
// Brings arith and math to what upstream's conversions turn into single
// instructions. They would make a libdevice call of any other function, and
// those are not available here (README.md). What is left over is an error at
// its operation.
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile-to-nvvm/Functions.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace act::tile {
#define GEN_PASS_DEF_EXPANDGPUMATHPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

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

/// Arithmetic that 16-bit floats do in f32. Casts between float types are not
/// among it: they are what it is expressed with.
bool isArithmetic(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(op);
}

/// Does 16-bit float arithmetic in f32 and rounds each result. Exact for +, -,
/// *, / since f32 has more than twice the digits. Where one rounding suffices,
/// LLVM undoes the widening.
///
///     %c = arith.addf %a, %b : bf16
///     %c = truncf (addf (extf %a), (extf %b) : f32) to bf16
struct WidenArithmetic : RewritePattern {
  WidenArithmetic(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    bool function = isa<math::MathDialect>(op->getDialect());
    if ((!function && !isArithmetic(op)) || op->getNumResults() != 1 ||
        (llvm::none_of(op->getOperandTypes(), isNarrow) &&
         llvm::none_of(op->getResultTypes(), isNarrow)))
      return failure();
    Location loc = op->getLoc();
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(
          isNarrow(v.getType())
              ? arith::ExtFOp::create(rewriter, loc, asF32(v.getType()), v)
                    .getResult()
              : v);
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

/// f64 to 16 bits and back through f32, as on the host.
template <typename Cast> struct CastInTwoSteps : OpRewritePattern<Cast> {
  using OpRewritePattern<Cast>::OpRewritePattern;
  LogicalResult matchAndRewrite(Cast op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType();
    if (!(isNarrow(from) && getElementTypeOrSelf(to).isF64()) &&
        !(isNarrow(to) && getElementTypeOrSelf(from).isF64()))
      return failure();
    Value single = Cast::create(rewriter, op.getLoc(), asF32(from), op.getIn());
    rewriter.replaceOpWithNewOp<Cast>(op, to, single);
    return success();
  }
};

/// LLVM has no 8-bit floats, and targets before sm_89 no instruction.
struct ExtendFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type to = op.getType();
    if (!tile::isFloat8(op.getIn().getType()))
      return failure();
    Value wide = tile::createExtFloat8(rewriter, loc, op.getIn());
    if (to.isF64())
      wide = arith::ExtFOp::create(rewriter, loc, to, wide);
    else if (!to.isF32()) // exact
      wide = arith::TruncFOp::create(rewriter, loc, to, wide);
    rewriter.replaceOp(op, wide);
    return success();
  }
};

struct TruncateToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!tile::isFloat8(op.getType()) || op.getRoundingmodeAttr())
      return failure();
    rewriter.replaceOp(op, tile::createTruncFloat8(rewriter, op.getLoc(),
                                                   op.getIn(), op.getType()));
    return success();
  }
};

/// The functions of Functions.h take scalars, so vectors are unrolled.
struct UnrollFunction : RewritePattern {
  UnrollFunction(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!tile::isGpuFunction(op) && !isa<arith::DivFOp>(op))
      return failure();
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || type.getRank() != 1 || type.isScalable())
      return failure();
    Location loc = op->getLoc();
    Value result = LLVM::PoisonOp::create(rewriter, loc, type);
    for (int64_t i = 0, n = type.getDimSize(0); i < n; ++i) {
      Value at = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32Type(),
                                          rewriter.getI32IntegerAttr(int(i)));
      SmallVector<Value> operands;
      for (Value v : op->getOperands())
        operands.push_back(
            LLVM::ExtractElementOp::create(rewriter, loc, v, at));
      OperationState state(loc, op->getName(), operands, type.getElementType(),
                           op->getAttrs());
      result = LLVM::InsertElementOp::create(
          rewriter, loc, result, rewriter.create(state)->getResult(0), at);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Has a higher benefit than the polynomials: a function with fastmath<afn> is
/// an instruction, which a polynomial must not preempt.
struct ExpandFunction : RewritePattern {
  ExpandFunction(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 2, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value value = tile::expandGpuFunction(op, rewriter);
    if (!value)
      return failure();
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Splits sincos into sin and cos.
struct SplitSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value sine = math::SinOp::create(rewriter, op.getLoc(), op.getOperand());
    Value cosine = math::CosOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};

/// Both halves of a 64-bit product. Upstream would use 128-bit multiplication.
template <typename Op> struct ExpandLongProduct : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getLhs().getType();
    if (!type.isInteger(64))
      return failure();
    StringRef name = std::is_same_v<Op, arith::MulSIExtendedOp>
                         ? "llvm.nvvm.mulhi.ll"
                         : "llvm.nvvm.mulhi.ull";
    Value low =
        arith::MulIOp::create(rewriter, op.getLoc(), op.getLhs(), op.getRhs());
    Value high = LLVM::CallIntrinsicOp::create(
                     rewriter, op.getLoc(), type, rewriter.getStringAttr(name),
                     ValueRange{op.getLhs(), op.getRhs()})
                     .getResult(0);
    rewriter.replaceOp(op, {low, high});
    return success();
  }
};

/// Functions for which upstream's polynomials are accurate to f32: the ones
/// that the host uses.
bool isPolynomial(StringRef name) {
  static const llvm::StringSet<> names = {
      "math.acos", "math.asin",  "math.atan", "math.atan2", "math.cbrt",
      "math.erf",  "math.erfc",  "math.exp",  "math.expm1", "math.log",
      "math.log2", "math.log1p", "math.tanh"};
  return names.contains(name);
}

/// Ops that upstream's conversions turn into instructions.
bool isInstruction(Operation *op) {
  if (isa<math::SqrtOp, math::FmaOp, math::AbsFOp, math::CopySignOp,
          math::CeilOp, math::FloorOp, math::TruncOp, math::RoundOp,
          math::RoundEvenOp, math::IsNaNOp, math::IsFiniteOp>(op))
    return true;
  return isa<math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp>(op);
}

/// Whether the op uses an 8-bit float other than by its bits.
bool computesFloat8(Operation *op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      isa<arith::BitcastOp, arith::SelectOp, arith::ConstantOp>(op))
    return false;
  return llvm::any_of(op->getOperandTypes(), tile::isFloat8) ||
         llvm::any_of(op->getResultTypes(), tile::isFloat8);
}

/// The intrinsic that is one PTX instruction. Left as math ops, upstream's gpu
/// conversion would make them libdevice calls, and minima and maxima compare
/// and select.
StringRef intrinsicOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("math.sqrt", "llvm.sqrt")
      .Case("math.fma", "llvm.fma")
      .Case("math.absf", "llvm.fabs")
      .Case("math.copysign", "llvm.copysign")
      .Case("math.ceil", "llvm.ceil")
      .Case("math.floor", "llvm.floor")
      .Case("math.round", "llvm.round")
      .Case("math.trunc", "llvm.trunc")
      .Case("math.roundeven", "llvm.roundeven")
      .Case("arith.maximumf", "llvm.maximum")
      .Case("arith.minimumf", "llvm.minimum")
      .Case("arith.maxnumf", "llvm.maxnum")
      .Case("arith.minnumf", "llvm.minnum")
      .Default("");
}

void callIntrinsics(Operation *root) {
  root->walk([](Operation *op) {
    StringRef name = intrinsicOf(op);
    if (name.empty())
      return;
    Type type = op->getResult(0).getType();
    // PTX compares and selects for doubles by itself.
    if (!type.isF32() &&
        !(type.isF64() && isa<math::MathDialect>(op->getDialect())))
      return;
    OpBuilder b(op);
    auto call = LLVM::CallIntrinsicOp::create(
        b, op->getLoc(), type, b.getStringAttr(name), op->getOperands());
    op->replaceAllUsesWith(call->getResults());
    op->erase();
  });
}

/// A cheap filter, since thread code is long and few ops match: functions, and
/// arithmetic on types other than integers and scalar f32.
bool mayExpand(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect()))
    return true;
  if (!isa<arith::ArithDialect>(op->getDialect()))
    return false;
  auto isPlain = [](Type t) { return t.isIntOrIndex() || t.isF32(); };
  return isa<arith::DivFOp, arith::RemFOp, arith::MulSIExtendedOp,
             arith::MulUIExtendedOp>(op) ||
         !llvm::all_of(op->getOperandTypes(), isPlain) ||
         !llvm::all_of(op->getResultTypes(), isPlain);
}

/// Expands divisions with directed rounding, minima and maxima. Upstream's pass
/// would visit all of the code for these few.
LogicalResult expandArithmetic(gpu::GPUModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
            arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp,
            arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp>(op))
      ops.push_back(op);
  });
  RewritePatternSet patterns(module.getContext());
  arith::populateArithExpandOpsPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(ops, std::move(patterns), config);
}

struct ExpandGpuMath : act::tile::impl::ExpandGpuMathPassBase<ExpandGpuMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isPolynomial);
    patterns.add<WidenArithmetic, ExtendFloat8, TruncateToFloat8,
                 CastInTwoSteps<arith::ExtFOp>, CastInTwoSteps<arith::TruncFOp>,
                 ExpandLongProduct<arith::MulSIExtendedOp>,
                 ExpandLongProduct<arith::MulUIExtendedOp>, UnrollFunction,
                 ExpandFunction, SplitSincos>(&getContext());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (mayExpand(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      return signalPassFailure();
    WalkResult left = getOperation().walk([](Operation *op) -> WalkResult {
      if (computesFloat8(op))
        return op->emitOpError(
            "is not supported on GPUs for 8-bit floats, which can only be "
            "loaded, stored, converted to nearest and multiplied");
      bool foreign =
          isa<arith::RemFOp>(op) ||
          (isa<math::MathDialect>(op->getDialect()) && !isInstruction(op));
      if (!foreign)
        return WalkResult::advance();
      op->emitOpError("is not supported on GPUs for ")
          << op->getResult(0).getType();
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      return signalPassFailure();
    callIntrinsics(getOperation());
    if (failed(expandArithmetic(getOperation())))
      signalPassFailure();
  }
};

} // namespace
