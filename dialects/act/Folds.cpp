// SPDX-License-Identifier: Apache-2.0
// Folds and canonicalisations. A fold preserves every bit of the result, except
// the sign of a zero in x + 0.
#include "dialects/act/Types.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace act;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  auto zero = [](Attribute value) {
    return value && matchPattern(value, m_AnyZeroFloat());
  };
  if (zero(adaptor.getRhs()) && getLhs().getType() == getType())
    return getLhs();
  if (zero(adaptor.getLhs()) && getRhs().getType() == getType())
    return getRhs();
  return {};
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? getInput() : Value();
}

static bool isPowerOfTwo(double x) {
  int exponent;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

// b * (a * x) = (a * b) * x if one of the products cannot round: values are
// rounded where they are produced, and this must not change results.
LogicalResult ScaleOp::canonicalize(ScaleOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ScaleOp>();
  if (!inner)
    return failure();
  double a = inner.getFactor().convertToDouble();
  double b = op.getFactor().convertToDouble();
  if ((!isPowerOfTwo(a) && !isPowerOfTwo(b)) || !std::isnormal(a * b))
    return failure();
  rewriter.replaceOpWithNewOp<ScaleOp>(op, inner.getInput(),
                                       rewriter.getF64FloatAttr(a * b));
  return success();
}

// Whether every value of `from` is a value of `to`.
static bool widensExactly(Type from, Type to) {
  if (auto integer = dyn_cast<IntegerType>(from)) {
    if (auto wide = dyn_cast<IntegerType>(to))
      return integer.getWidth() <= wide.getWidth();
    return integer.getWidth() == 1 ||
           integer.getWidth() < cast<FloatType>(to).getFPMantissaWidth();
  }
  auto a = dyn_cast<FloatType>(from), b = dyn_cast<FloatType>(to);
  return a && b &&
         APFloat::isRepresentableBy(a.getFloatSemantics(),
                                    b.getFloatSemantics());
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<CastOp>();
  if (inner && inner.getInput().getType() == getType() &&
      widensExactly(inner.getInput().getType().getElementType(),
                    inner.getType().getElementType()))
    return inner.getInput();
  return {};
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getP().isZero() ? getInput() : Value();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType() &&
      llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(getPermutation().size())))
    return getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t p : getPermutation())
    composed.push_back(inner.getPermutation()[p]);
  setPermutation(composed);
  setOperand(inner.getInput());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  setOperand(inner.getInput());
  return getResult();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

OpFoldResult SumToOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

// The input of `value` when that is a transpose of the last two dimensions.
static Value untransposed(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return {};
  SmallVector<int64_t> swapped =
      llvm::to_vector(llvm::seq<int64_t>(transpose.getPermutation().size()));
  if (swapped.size() < 2)
    return {};
  std::swap(swapped.back(), swapped[swapped.size() - 2]);
  if (!llvm::equal(swapped, transpose.getPermutation()))
    return {};
  return transpose.getInput();
}

// A product reads an operand in either order at no cost, so a transpose in
// front of it becomes a flag.
LogicalResult MatmulOp::canonicalize(MatmulOp op, PatternRewriter &rewriter) {
  Value lhs = untransposed(op.getLhs()), rhs = untransposed(op.getRhs());
  if (!lhs && !rhs)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    if (lhs) {
      op.getLhsMutable().assign(lhs);
      op.setTransposeLhs(!op.getTransposeLhs());
    }
    if (rhs) {
      op.getRhsMutable().assign(rhs);
      op.setTransposeRhs(!op.getTransposeRhs());
    }
  });
  return success();
}
