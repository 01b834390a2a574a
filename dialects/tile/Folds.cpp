// SPDX-License-Identifier: Apache-2.0
// Folds and canonicalisations; none changes a bit of a result.
#include "dialects/tile/Dialect.h"
#include "mlir/IR/Matchers.h"

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
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(getPermutation().size())))
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
  // What lies between two reshapes needs no layout of its own.
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

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
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

LogicalResult ReduceOp::canonicalize(ReduceOp, PatternRewriter &) {
  return failure();
}
LogicalResult ScanOp::canonicalize(ScanOp, PatternRewriter &) {
  return failure();
}
