// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of attention and its parts.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace act;

#define SIMPLE_COST(OP, VALUE, PER_ELEMENT, CLASS)                             \
  int64_t OP::getFlops() {                                                     \
    return flopsProduct({PER_ELEMENT, elementCount(VALUE().getType())});       \
  }                                                                            \
  CostClass OP::getCostClass() { return CostClass::CLASS; }
SIMPLE_COST(PositionsOp, getResult, 0, Cheap)
SIMPLE_COST(CausalMaskOp, getResult, 0, Cheap)
SIMPLE_COST(SegmentMaskOp, getResult, 0, Cheap)
SIMPLE_COST(SoftmaxOp, getInput, 5, Cheap)
SIMPLE_COST(SoftmaxGradOp, getGrad, 4, Cheap)
SIMPLE_COST(RopeTableOp, getCos, 3, Cheap)
SIMPLE_COST(RopeOp, getInput, 3, Cheap)

// A thread holds both halves of a head if the head's width is a multiple of 16.
// Interleaved pairs are not halves.
bool RopeOp::endsKernelOf(Operation *root) {
  auto linear = dyn_cast<LinearOp>(root);
  return linear && !linear.getLoraA() &&
         !isa<NF4Type>(linear.getWeight().getType().getElementType()) &&
         !getInterleaved() && !getHeadsFirst() &&
         getInput().getType().getShape().back() % 16 == 0;
}

void RopeTableOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCos(), "cos");
  setName(getSin(), "sin");
}

void AttentionGradOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getDq(), "dq");
  setName(getDk(), "dk");
  setName(getDv(), "dv");
  if (Value dsinks = getDsinks())
    setName(dsinks, "dsinks");
  if (Value dbias = getDbias())
    setName(dbias, "dbias");
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &b, ValueRange dy,
                                       ArrayRef<bool> needed,
                                       SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] =
        SoftmaxGradOp::create(b, getLoc(), dy[0], getResult(), getAxisAttr());
  return success();
}

// A rotation's gradient is the rotation back.
LogicalResult RopeOp::buildGradient(OpBuilder &b, ValueRange dy,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &dx) {
  if (needed[1] || needed[2])
    return emitOpError("has no gradient for its tables");
  if (needed[0])
    dx[0] = RopeOp::create(b, getLoc(), getInput().getType(), dy[0], getCos(),
                           getSin(), getInterleaved(), getHeadsFirst(),
                           !getInverse());
  return success();
}

// Number of scores that attention computes: all pairs, about half if causal, or
// the band of a window. The paper counts s * s_kv / 2 for causal (Dao 2022).
template <typename Op> static int64_t visitedScores(Op op) {
  RankedTensorType q = op.getQ().getType(), k = op.getK().getType();
  if (!q.hasStaticShape() || !k.hasStaticShape())
    return 0;
  int64_t d = q.getShape().back(), heads = q.getShape().drop_back().back();
  int64_t skv = k.getDimSize(k.getRank() - 3);
  int64_t rows = q.getNumElements() / d; // b * s * heads
  (void)heads;
  int64_t perRow = skv;
  if (op.getWindow())
    perRow = std::min<int64_t>(perRow, *op.getWindow());
  int64_t scores = flopsProduct({rows, perRow});
  bool banded = op.getWindow() && int64_t(*op.getWindow()) < skv;
  return op.getCausal() && !banded ? scores / 2 : scores;
}

int64_t AttentionOp::getFlops() {
  int64_t d = getQ().getType().getShape().back(),
          dv = getV().getType().getShape().back();
  return flopsProduct({visitedScores(*this), 2, flopsSum({d, dv})});
}
CostClass AttentionOp::getCostClass() { return CostClass::Attention; }

int64_t AttentionGradOp::getFlops() {
  // Five products: the scores again, dp, and those of dq, dk, dv that are
  // needed.
  int64_t d = getQ().getType().getShape().back(),
          dv = getV().getType().getShape().back();
  int64_t ofD = 1 + !getDq().use_empty() + !getDk().use_empty();
  int64_t ofDv = 1 + !getDv().use_empty();
  return flopsProduct(
      {visitedScores(*this), 2,
       flopsSum({flopsProduct({ofD, d}), flopsProduct({ofDv, dv})})});
}
CostClass AttentionGradOp::getCostClass() { return CostClass::Attention; }

// The same attention with its log-sum-exps as a second result. Backward
// computes probabilities from them instead of saving a matrix of size s * s_kv.
// An op's results are fixed, so a copy is made.
Operation *AttentionOp::withStatistics(OpBuilder &b) {
  if (getLse())
    return *this;
  RankedTensorType q = getQ().getType();
  auto names = dimNames(q);
  int64_t rank = q.getRank(), heads = rank - 2, tokens = rank - 3;
  // [b, s, heads, d] -> [b, heads, s]; packed [t, heads, d] -> [heads, t].
  SmallVector<int64_t> shape;
  SmallVector<std::string> lseNames;
  if (rank == 4) {
    shape.push_back(q.getDimSize(0));
    lseNames.push_back(names[0]);
  }
  for (int64_t i : {heads, tokens}) {
    shape.push_back(q.getDimSize(i));
    lseNames.push_back(names[i]);
  }
  auto lse = namedTensor(shape, computeType(q.getElementType()), lseNames,
                         getContext());
  OperationState state(getLoc(), getOperationName());
  state.addOperands((*this)->getOperands());
  state.addTypes({getResult().getType(), lse});
  state.addAttributes((*this)->getAttrs());
  for (Region &region : (*this)->getRegions()) {
    Region *copy = state.addRegion();
    IRMapping mapping;
    region.cloneInto(copy, mapping);
  }
  return b.create(state);
}

// One op for all gradients, because they share the recomputed scores.
// Attributes and the score region are copied, since backward has to see the
// same scores.
LogicalResult AttentionOp::buildGradient(OpBuilder &b, ValueRange dy,
                                         ArrayRef<bool> needed,
                                         SmallVectorImpl<Value> &dx) {
  if (dy[1])
    return emitOpError("has no gradient for its log-sum-exp");
  if (!dy[0])
    return success();
  OperationState state(getLoc(), AttentionGradOp::getOperationName());
  state.addOperands({dy[0], getQ(), getK(), getV(), getResult(), getLse()});
  SmallVector<int32_t> segments(6, 1);
  auto optional = [&](Value v) {
    segments.push_back(v ? 1 : 0);
    if (v)
      state.addOperands(v);
  };
  optional(getMask());
  optional(getCuSeqlens());
  optional(getSinks());
  optional(getBias());
  optional(getSeed());
  optional(getStep());
  optional(getSite());
  state.addTypes({getQ().getType(), getK().getType(), getV().getType()});
  if (getSinks())
    state.addTypes(getSinks().getType());
  unsigned bias = getODSOperandIndexAndLength(6).first;
  if (getBias() && needed[bias])
    state.addTypes(getBias().getType());
  for (NamedAttribute attr : (*this)->getAttrs())
    if (attr.getName() != getOperandSegmentSizesAttrName())
      state.addAttribute(attr.getName(), attr.getValue());
  state.addAttribute(getOperandSegmentSizesAttrName(),
                     b.getDenseI32ArrayAttr(segments));
  for (Region &region : (*this)->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  auto grad = cast<AttentionGradOp>(b.create(state));
  // Operands: q, k, v, [mask], [cu_seqlens], [sinks], ...
  dx[0] = grad.getDq();
  dx[1] = grad.getDk();
  dx[2] = grad.getDv();
  if (getSinks())
    dx[getODSOperandIndexAndLength(5).first] = grad.getDsinks();
  if (getBias())
    dx[getODSOperandIndexAndLength(6).first] = grad.getDbias();
  return success();
}
