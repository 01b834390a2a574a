// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of the normalisations.
#include "dialects/act/Flops.h"
#include "dialects/act/KernelForm.h"
#include "dialects/act/NormLowering.h"
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

#define NORM_COST(OP, VALUE, PER_ELEMENT, CLASS)                               \
  int64_t OP::getFlops() {                                                     \
    return flopsProduct({PER_ELEMENT, elementCount(VALUE().getType())});       \
  }                                                                            \
  CostClass OP::getCostClass() { return CostClass::CLASS; }
// The last FLOPs of a norm belong to its result, which another op may compute.
NORM_COST(RmsNormOp, getInput, getResult().use_empty() ? 2 : 4, Statistic)
NORM_COST(LayerNormOp, getInput, getResult().use_empty() ? 3 : 7, Statistic)
NORM_COST(NormalizeOp, getInput, getMean() ? 4 : 2, Cheap)
NORM_COST(RmsNormGradOp, getInput, 7, Cheap)
NORM_COST(LayerNormGradOp, getInput, 10, Cheap)
NORM_COST(NormWeightGradOp, getInput, 4, Cheap)

bool RmsNormOp::takesEpilogue() { return true; }
bool LayerNormOp::takesEpilogue() { return true; }
bool NormalizeOp::takesEpilogue() { return true; }
bool NormalizeOp::isPrologue() { return true; }
bool RmsNormGradOp::takesEpilogue() { return true; }
bool LayerNormGradOp::takesEpilogue() { return true; }
bool NormWeightGradOp::takesAccumulation() { return true; }

/// Whether `sum` is the gradient of the weight or bias of the norm whose input
/// gradient `op` is: a sum over the rows that `op` reads. The gradient of the
/// bias is no op of its own kind, but any sum of dy that leaves one row:
///
///   %dx = act.rms_norm_grad %dy, %x, %g, %r        op
///   %dg = act.norm_weight_grad %dy, %x rstd(%r)    yes
///   %db = act.sum_to %dy                           yes
///
/// Rows of fewer than 64 numbers are not worth it.
static bool readsRowsOf(Operation *op, Operation *sum) {
  Value grad = op->getOperand(0), input = op->getOperand(1);
  auto rows = cast<RankedTensorType>(input.getType());
  int64_t width = rows.getShape().back();
  if (rows.getRank() < 2 || width < 64 || width > widestSummedRow)
    return false;
  if (auto weight = dyn_cast<NormWeightGradOp>(sum))
    return weight.getGrad() == grad && weight.getInput() == input &&
           weight.getRstd() == op->getOperands().back();
  auto bias = dyn_cast<SumToOp>(sum);
  return bias && beforeReshapes(bias.getInput()) == beforeReshapes(grad) &&
         bias.getInput().getType().getShape().back() == width &&
         bias.getResult().getType().getShape().back() == width &&
         elementCount(bias.getResult().getType()) == width;
}
bool RmsNormGradOp::takesRowSum(Operation *sum) {
  return readsRowsOf(*this, sum);
}
bool LayerNormGradOp::takesRowSum(Operation *sum) {
  return readsRowsOf(*this, sum);
}

static RankedTensorType statisticType(RankedTensorType input) {
  return dropBack(input, 1, computeType(input.getElementType()));
}

Operation *RmsNormOp::withStatistics(OpBuilder &b) {
  if (getRstd())
    return *this;
  auto op = RmsNormOp::create(b, getLoc(), getResult().getType(),
                              statisticType(getInput().getType()), getInput(),
                              getWeight(), getEpsAttr(), getPlusOneAttr());
  op->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return op;
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &b, ValueRange dy,
                                       ArrayRef<bool> needed,
                                       SmallVectorImpl<Value> &dx) {
  if (dy[1])
    return emitOpError("has no gradient for its rstd");
  if (!dy[0])
    return success();
  if (needed[0])
    dx[0] = RmsNormGradOp::create(b, getLoc(), getInput().getType(), dy[0],
                                  getInput(), getWeight(), getRstd(),
                                  getPlusOneAttr());
  if (needed[1])
    dx[1] = NormWeightGradOp::create(b, getLoc(), getWeight().getType(), dy[0],
                                     getInput(), Value(), getRstd());
  return success();
}

Operation *LayerNormOp::withStatistics(OpBuilder &b) {
  if (getRstd())
    return *this;
  auto statistic = statisticType(getInput().getType());
  auto op = LayerNormOp::create(b, getLoc(), getResult().getType(), statistic,
                                statistic, getInput(), getWeight(), getBias(),
                                getEpsAttr());
  op->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return op;
}

LogicalResult LayerNormOp::buildGradient(OpBuilder &b, ValueRange dy,
                                         ArrayRef<bool> needed,
                                         SmallVectorImpl<Value> &dx) {
  if (dy[1] || dy[2])
    return emitOpError("has no gradient for its mean and rstd");
  if (!dy[0])
    return success();
  if (needed[0])
    dx[0] =
        LayerNormGradOp::create(b, getLoc(), getInput().getType(), dy[0],
                                getInput(), getWeight(), getMean(), getRstd());
  if (needed[1])
    dx[1] = NormWeightGradOp::create(b, getLoc(), getWeight().getType(), dy[0],
                                     getInput(), getMean(), getRstd());
  if (needed[2])
    dx[2] = sumToType(
        b,
        reshapeTo(b, dy[0],
                  flattenLeading(cast<RankedTensorType>(dy[0].getType()), 1)),
        getBias().getType());
  return success();
}
