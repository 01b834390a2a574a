// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of ops that move elements.
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

#define VIEW_COST(OP, CLASS)                                                   \
  int64_t OP::getFlops() { return 0; }                                         \
  CostClass OP::getCostClass() { return CostClass::CLASS; }                    \
  bool OP::isFree() { return true; }
VIEW_COST(ConstantOp, Reference)
VIEW_COST(TransposeOp, View)
VIEW_COST(ReshapeOp, View)
VIEW_COST(ExpandOp, View)
VIEW_COST(SplitOp, View)

int64_t ConcatOp::getFlops() { return 0; }
CostClass ConcatOp::getCostClass() { return CostClass::Cheap; }

int64_t SumToOp::getFlops() { return elementCount(getInput().getType()); }
CostClass SumToOp::getCostClass() { return CostClass::Cheap; }
bool SumToOp::takesAccumulation() { return true; }

LogicalResult TransposeOp::buildGradient(OpBuilder &b, ValueRange dy,
                                         ArrayRef<bool> needed,
                                         SmallVectorImpl<Value> &dx) {
  if (!needed[0])
    return success();
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    inverse[p] = i;
  dx[0] =
      TransposeOp::create(b, getLoc(), getInput().getType(), dy[0], inverse);
  return success();
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &b, ValueRange dy,
                                       ArrayRef<bool> needed,
                                       SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = reshapeTo(b, dy[0], getInput().getType());
  return success();
}

LogicalResult ExpandOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = SumToOp::create(b, getLoc(), getInput().getType(), dy[0]);
  return success();
}

LogicalResult SumToOp::buildGradient(OpBuilder &b, ValueRange dy,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = ExpandOp::create(b, getLoc(), getInput().getType(), dy[0]);
  return success();
}

/// A part that nobody differentiates counts as zeros.
LogicalResult SplitOp::buildGradient(OpBuilder &b, ValueRange dy,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &dx) {
  if (!needed[0])
    return success();
  SmallVector<Value> parts;
  for (auto [part, grad] : llvm::zip(getParts(), dy))
    parts.push_back(
        grad ? Value(grad)
             : ConstantOp::create(b, getLoc(),
                                  cast<RankedTensorType>(part.getType()), 0.0));
  dx[0] = ConcatOp::create(b, getLoc(), getInput().getType(), parts);
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  SmallVector<Type> types(getParts().getTypes());
  auto split = SplitOp::create(b, getLoc(), types, dy[0]);
  for (auto [i, part] : llvm::enumerate(split.getParts()))
    if (needed[i])
      dx[i] = part;
  return success();
}
