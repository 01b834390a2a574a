// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of embeddings and losses.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

int64_t EmbeddingOp::getFlops() { return 0; }
CostClass EmbeddingOp::getCostClass() { return CostClass::Cheap; }
bool EmbeddingOp::takesEpilogue() { return true; }
int64_t EmbeddingGradOp::getFlops() {
  return elementCount(getGrad().getType());
}
CostClass EmbeddingGradOp::getCostClass() { return CostClass::Cheap; }
bool EmbeddingGradOp::takesAccumulation() { return true; }
int64_t CrossEntropyOp::getFlops() {
  return flopsProduct({4, elementCount(getLogits().getType())});
}
CostClass CrossEntropyOp::getCostClass() { return CostClass::Statistic; }
int64_t CrossEntropyGradOp::getFlops() {
  return flopsProduct({4, elementCount(getLogits().getType())});
}
CostClass CrossEntropyGradOp::getCostClass() { return CostClass::Cheap; }
bool CrossEntropyGradOp::readsElementwise() { return true; }
int64_t LabelCountOp::getFlops() { return elementCount(getLabels().getType()); }
CostClass LabelCountOp::getCostClass() { return CostClass::Cheap; }

// FLOPs of the product, the bias and the loss: per element of the logits,
// `products` products and `sums` sums.
template <typename Op>
static int64_t headFlops(Op op, int64_t products, int64_t sums) {
  auto weight = op.getWeight().getType();
  int64_t logits = flopsProduct(
      {elementCount(op.getLabels().getType()), weight.getDimSize(0)});
  int64_t each = flopsProduct({2, products, weight.getDimSize(1)});
  int64_t capping = op.getSoftcap() ? 3 : 0;
  return flopsProduct({logits, flopsSum({each, sums, 4, capping})});
}
int64_t LinearCrossEntropyOp::getFlops() {
  return headFlops(*this, 1, getBias() ? 1 : 0);
}
CostClass LinearCrossEntropyOp::getCostClass() { return CostClass::Loss; }
int64_t LinearCrossEntropyGradOp::getFlops() {
  return headFlops(*this, getDWeight() ? 3 : 2,
                   (getBias() ? 1 : 0) + (getDBias() ? 1 : 0));
}
CostClass LinearCrossEntropyGradOp::getCostClass() { return CostClass::Loss; }

LogicalResult EmbeddingOp::buildGradient(OpBuilder &b, ValueRange dy,
                                         ArrayRef<bool> needed,
                                         SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = EmbeddingGradOp::create(b, getLoc(), getTable().getType(), dy[0],
                                    getIds(), getPaddingIdxAttr());
  return success();
}

// The log-sum-exp has one value per token, in the computation type.
static RankedTensorType lseType(RankedTensorType labels, Type element) {
  return withElement(labels, computeType(element));
}

// The log-sum-exp is a result only where a gradient will read it.
Operation *CrossEntropyOp::withStatistics(OpBuilder &b) {
  if (getLse())
    return *this;
  return CrossEntropyOp::create(
      b, getLoc(), getLoss().getType(),
      lseType(getLabels().getType(), getLogits().getType().getElementType()),
      getLogits(), getLabels(), getIgnoreAttr(), getReductionAttr());
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &b, ValueRange dy,
                                            ArrayRef<bool> needed,
                                            SmallVectorImpl<Value> &dx) {
  if (dy[1])
    return emitOpError("has no gradient for its log-sum-exp");
  if (needed[0] && dy[0])
    dx[0] = CrossEntropyGradOp::create(
        b, getLoc(), getLogits().getType(), dy[0], getLogits(), getLabels(),
        getLse(), getIgnoreAttr(), getReductionAttr());
  return success();
}

Operation *LinearCrossEntropyOp::withStatistics(OpBuilder &b) {
  if (getLse())
    return *this;
  return LinearCrossEntropyOp::create(
      b, getLoc(), getLoss().getType(),
      lseType(getLabels().getType(), getInput().getType().getElementType()),
      getInput(), getWeight(), getBias(), getLabels(), getIgnoreAttr(),
      getReductionAttr(), getChunkAttr(), getSoftcapAttr());
}

LogicalResult LinearCrossEntropyOp::buildGradient(OpBuilder &b, ValueRange dy,
                                                  ArrayRef<bool> needed,
                                                  SmallVectorImpl<Value> &dx) {
  if (dy[1])
    return emitOpError("has no gradient for its log-sum-exp");
  if (!dy[0])
    return success();
  // Unneeded gradients of weight and bias are never computed: they have no use.
  SmallVector<Type> parameters;
  if (needed[1] || (getBias() && needed[2]))
    parameters.push_back(getWeight().getType());
  if (getBias() && !parameters.empty())
    parameters.push_back(getBias().getType());
  auto grad = LinearCrossEntropyGradOp::create(
      b, getLoc(), getInput().getType(), parameters, dy[0], getInput(),
      getWeight(), getBias(), getLabels(), getLse(), getIgnoreAttr(),
      getReductionAttr(), getChunkAttr(), getSoftcapAttr());
  dx[0] = grad.getDInput();
  if (needed[1])
    dx[1] = grad.getDWeight();
  if (getBias() && needed[2])
    dx[2] = grad.getDBias();
  return success();
}

// Named like the input, with the weight's vocabulary as the last dimension, so
// that formulas keep their letters.
Value LinearCrossEntropyOp::buildLogits(OpBuilder &b) {
  auto input = getInput().getType();
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = getWeight().getType().getDimSize(0);
  auto names = dimNames(input);
  names.back() = dimNames(getWeight().getType())[0];
  Value logits = LinearOp::create(
      b, getLoc(),
      namedTensor(shape, input.getElementType(), names, getContext()),
      getInput(), getWeight(), getBias());
  return getSoftcap()
             ? softcap(b, getLoc(), logits, getSoftcap()->convertToDouble())
             : logits;
}

LogicalResult LinearCrossEntropyOp::decompose(OpBuilder &b,
                                              SmallVectorImpl<Value> &results) {
  Value logits = buildLogits(b);
  SmallVector<Type> types((*this)->getResultTypes());
  auto loss = CrossEntropyOp::create(
      b, getLoc(), getLoss().getType(), types.size() > 1 ? types[1] : Type(),
      logits, getLabels(), getIgnoreAttr(), getReductionAttr());
  results.push_back(loss.getLoss());
  if (getLse())
    results.push_back(loss.getLse());
  return success();
}
