// SPDX-License-Identifier: Apache-2.0
// Folds and canonicalisations; none changes a bit of a result.
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act::tile;

// A constant whose elements are all equal, in another shape.
static Attribute resplat(Attribute constant, RankedTensorType type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  return splat ? splat.resizeSplat(type) : Attribute();
}

OpFoldResult NumProgramsOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> grid = getGrid(*this);
  if (grid.size() != 3)
    return {};
  return IntegerAttr::get(getType(), grid[int(getAxis())]);
}

LogicalResult AssertOp::canonicalize(AssertOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

OpFoldResult TransposedViewOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(getPermutation().size())))
    return getView();
  auto inner = getView().getDefiningOp<TransposedViewOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t p : getPermutation())
    composed.push_back(inner.getPermutation()[p]);
  setPermutation(composed);
  setOperand(inner.getView());
  return getResult();
}

/// One number is a constant; longer rows are made in each thread from its
/// position.
OpFoldResult IotaOp::fold(FoldAdaptor) {
  if (getEnd() - getStart() != 1)
    return {};
  return DenseElementsAttr::get(getType(), int32_t(getStart()));
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  if (Attribute constant = resplat(adaptor.getInput(), getType()))
    return constant;
  auto inner = getInput().getDefiningOp<TransOp>();
  if (inner && inner.getInput().getType() == getType())
    return inner.getInput();
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (Attribute constant = resplat(adaptor.getInput(), getType()))
    return constant;
  // A value between two reshapes needs no layout of its own.
  Value source;
  if (auto inner = getInput().getDefiningOp<ReshapeOp>())
    source = inner.getInput();
  else if (auto inner = getInput().getDefiningOp<ExpandDimsOp>())
    source = inner.getInput();
  if (!source)
    return {};
  if (source.getType() == getType())
    return source;
  setOperand(source);
  return getResult();
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return resplat(adaptor.getInput(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (Attribute constant = resplat(adaptor.getInput(), getType()))
    return constant;
  auto inner = getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  setOperand(inner.getInput());
  return getResult();
}

OpFoldResult JoinOp::fold(FoldAdaptor) {
  auto split = getLhs().getDefiningOp<SplitOp>();
  if (split && getLhs() == split.getLhs() && getRhs() == split.getRhs() &&
      split.getInput().getType() == getType())
    return split.getInput();
  return {};
}

LogicalResult SplitOp::fold(FoldAdaptor,
                            SmallVectorImpl<OpFoldResult> &results) {
  auto join = getInput().getDefiningOp<JoinOp>();
  if (!join || join.getLhs().getType() != getLhs().getType())
    return failure();
  results.assign({join.getLhs(), join.getRhs()});
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (Attribute constant = resplat(adaptor.getInput(), getType()))
    return constant;
  auto inner = getInput().getDefiningOp<ConvertLayoutOp>();
  if (!inner)
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  setOperand(inner.getInput());
  return getResult();
}

// The kind of a region that is one op on its two arguments; none otherwise.
static std::optional<CombineKind> kindOf(Region &combiner) {
  if (!llvm::hasNItems(combiner.front(), 2))
    return {};
  Operation &op = combiner.front().front();
  auto yield = cast<YieldOp>(combiner.front().back());
  // Two arguments mean one operand. All kinds are commutative.
  auto arguments = combiner.getArguments();
  if (arguments.size() != 2 || op.getNumOperands() != 2 ||
      op.getNumResults() != 1 || yield.getValues()[0] != op.getResult(0) ||
      !llvm::is_contained(op.getOperands(), arguments[0]) ||
      !llvm::is_contained(op.getOperands(), arguments[1]))
    return {};
  bool strict = true; // no fast-math flags that the kind lacks
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op))
    strict =
        math.getFastMathFlagsAttr().getValue() == arith::FastMathFlags::none;
  if (!strict)
    return {};
  return llvm::TypeSwitch<Operation *, std::optional<CombineKind>>(&op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return CombineKind::Add; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return CombineKind::Mul; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return CombineKind::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return CombineKind::Min; })
      .Case<arith::AndIOp>([](auto) { return CombineKind::And; })
      .Case<arith::OrIOp>([](auto) { return CombineKind::Or; })
      .Default(std::optional<CombineKind>());
}

// On i1 only `and` and `or` have a kind.
template <typename Op>
static LogicalResult nameCombiner(Op op, PatternRewriter &rewriter) {
  if (op.getKind())
    return failure();
  auto kind = kindOf(op.getCombiner());
  bool bitwise = kind == CombineKind::And || kind == CombineKind::Or;
  if (!kind ||
      (!bitwise && getElementTypeOrSelf(op.getInputs()[0]).isInteger(1)))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.setKind(*kind);
    rewriter.eraseBlock(&op.getCombiner().front());
  });
  return success();
}

LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  return nameCombiner(op, rewriter);
}
LogicalResult ScanOp::canonicalize(ScanOp op, PatternRewriter &rewriter) {
  return nameCombiner(op, rewriter);
}

// Replaces constant values by numbers. Negative sizes, and numbers that stand
// for a value (kDynamic), stay.
static bool writeNumbers(MutableArrayRef<OpFoldResult> mixed, int64_t least) {
  bool any = false;
  for (OpFoldResult &one : mixed) {
    std::optional<int64_t> number =
        isa<Value>(one) ? getConstantIntValue(one) : std::nullopt;
    if (!number || ShapedType::isDynamic(*number) || *number < least)
      continue;
    one = Builder(cast<Value>(one).getContext()).getIndexAttr(*number);
    any = true;
  }
  return any;
}

// Constant sizes and strides become numbers; the type does not change.
LogicalResult ViewOp::canonicalize(ViewOp op, PatternRewriter &rewriter) {
  SmallVector<OpFoldResult> sizes = op.getMixedSizes(),
                            strides = op.getMixedStrides();
  bool known = writeNumbers(sizes, /*least=*/0);
  known |= writeNumbers(strides, /*least=*/INT64_MIN);
  if (!known)
    return failure();
  rewriter.replaceOpWithNewOp<ViewOp>(op, op.getType(), op.getPointer(), sizes,
                                      strides);
  return success();
}

namespace {
/// Moving the elements of a splat gives a splat.
template <typename Op> struct MoveSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto splat = op.getInput().template getDefiningOp<tensor::SplatOp>();
    if (!splat)
      return failure();
    rewriter.replaceOpWithNewOp<tensor::SplatOp>(op, op.getType(),
                                                 splat.getInput());
    return success();
  }
};
} // namespace

void TransOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<MoveSplat<TransOp>>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<MoveSplat<ReshapeOp>>(context);
}
void ExpandDimsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<MoveSplat<ExpandDimsOp>>(context);
}
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MoveSplat<BroadcastOp>>(context);
}
void ConvertLayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<MoveSplat<ConvertLayoutOp>>(context);
}
