// SPDX-License-Identifier: Apache-2.0
//
// What attention and its primitives require of shapes, types and options.
// Dimensions are compared by size or by name (ShapeCheck.h), so the checks work
// on models whose sizes are open.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verifies that
// - cu_seqlens has rank 1 and two boundaries or more.
static LogicalResult verifyBoundaries(Operation *op, RankedTensorType cu) {
  if (failed(checkRank(op, "cu_seqlens", cu, 1, "for boundaries")))
    return failure();
  if (cu.getDimSize(0) == 1)
    return op->emitOpError("cu_seqlens has 1 entry, expected 2 or more");
  return success();
}

// Verifies that
// - the result has rank 1;
// - cu_seqlens holds boundaries.
LogicalResult PositionsOp::verify() {
  if (failed(checkRank(*this, "result", getType(), 1, "for positions")))
    return failure();
  return getCuSeqlens() ? verifyBoundaries(*this, getCuSeqlens().getType())
                        : success();
}

static LogicalResult verifyWindow(Operation *op,
                                  std::optional<uint64_t> window) {
  if (window && int64_t(*window) < 1)
    return op->emitOpError()
           << "window is " << int64_t(*window) << ", expected 1 or more";
  return success();
}

// Verifies that
// - the result has rank 2;
// - the window is positive.
LogicalResult CausalMaskOp::verify() {
  if (failed(checkRank(*this, "result", getType(), 2, "for a mask")))
    return failure();
  return verifyWindow(*this, getWindow());
}

// Verifies that
// - cu_seqlens holds boundaries;
// - the result is square.
LogicalResult SegmentMaskOp::verify() {
  if (failed(verifyBoundaries(*this, getCuSeqlens().getType())) ||
      failed(checkRank(*this, "result", getType(), 2, "for a mask")))
    return failure();
  Dim tokens = dimsOf(getType())[0];
  return checkShape(*this, "result", getType(), {tokens, tokens},
                    "for a mask between tokens of one batch");
}

// Verifies that
// - the axis is a dimension of the operand.
static LogicalResult verifyAxis(Operation *op, int64_t axis,
                                RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return op->emitOpError() << "axis is " << axis
                           << ", expected a dimension of shape "
                           << shapeText(type);
}
LogicalResult SoftmaxOp::verify() {
  return verifyAxis(*this, getAxis(), getInput().getType());
}
LogicalResult SoftmaxGradOp::verify() {
  return verifyAxis(*this, getAxis(), getGrad().getType());
}

static LogicalResult verifyPositive(Operation *op, StringRef name,
                                    double value) {
  if (std::isfinite(value) && value > 0)
    return success();
  return op->emitOpError() << name << " is " << value
                           << ", expected a finite number above 0";
}

// Verifies that
// - positions have rank 1 and the tables one row for each;
// - theta, and linear's factor, are positive;
// - llama3 has four positive numbers with low < high, and is not given together
//   with linear.
LogicalResult RopeTableOp::verify() {
  RankedTensorType positions = getPositions().getType(),
                   cos = getCos().getType();
  if (failed(checkRank(*this, "positions", positions, 1, "for tokens")) ||
      failed(checkRank(*this, "cos", cos, 2, "for a table")) ||
      failed(checkShape(*this, "cos", cos,
                        {dimsOf(positions)[0], dimsOf(cos)[1]},
                        "for positions of shape " + shapeText(positions))) ||
      failed(verifyPositive(*this, "theta", getTheta().convertToDouble())))
    return failure();
  if (getLinear() &&
      failed(verifyPositive(*this, "linear", getLinear()->convertToDouble())))
    return failure();
  if (getScaled() &&
      failed(verifyPositive(*this, "scaled", getScaled()->convertToDouble())))
    return failure();
  if (bool(getLlama3()) + bool(getLinear()) + bool(getFrequencies()) > 1)
    return emitOpError(
        "has several of llama3, linear and frequencies, expected one of them");
  if (auto frequencies = getFrequencies()) {
    const int64_t pairs = cos.getDimSize(1);
    if (!ShapedType::isDynamic(pairs) && int64_t(frequencies->size()) != pairs)
      return emitOpError() << "has " << frequencies->size()
                           << " frequencies for " << pairs << " pairs";
    for (double frequency : *frequencies)
      if (failed(verifyPositive(*this, "a frequency", frequency)))
        return failure();
  }
  if (!getLlama3())
    return success();
  ArrayRef<double> llama3 = *getLlama3();
  if (llama3.size() != 4)
    return emitOpError() << "llama3 has " << llama3.size()
                         << " numbers, expected [factor, low, high, original]";
  for (auto [name, value] : llvm::zip_equal(
           ArrayRef<StringRef>{"llama3's factor", "llama3's low",
                               "llama3's high", "llama3's original"},
           llama3))
    if (failed(verifyPositive(*this, name, value)))
      return failure();
  if (llama3[1] >= llama3[2])
    return emitOpError() << "llama3's low is " << llama3[1]
                         << ", expected less than high, " << llama3[2];
  return success();
}

// Verifies that
// - the input has three dimensions or more (two with heads_first), the last
//   even;
// - the tables are [tokens, half of the last dimension].
LogicalResult RopeOp::verify() {
  RankedTensorType input = getInput().getType(), cos = getCos().getType();
  int64_t rank = getHeadsFirst() ? 2 : 3;
  if (input.getRank() < rank)
    return emitOpError() << "input has rank " << input.getRank()
                         << ", expected " << rank << " or more";
  if (failed(checkRank(*this, "cos", cos, 2, "for a table")) ||
      failed(checkLike(*this, "sin", getSin().getType(), "cos", cos)))
    return failure();
  Dims x = dimsOf(input), table = dimsOf(cos);
  Dim half = table[1];
  if (x.back().isStatic()) {
    if (x.back().size % 2)
      return emitOpError() << "input of shape " << shapeText(x)
                           << " has heads of odd size";
    half = Dim(x.back().size / 2);
    if (!table[1].isStatic()) // d/2 has no name
      half = table[1];
  }
  return checkShape(*this, "cos", cos, {x[getTokenDim()], half},
                    "for an input of shape " + shapeText(x));
}

namespace {
// Checks shared by act.attention and its gradient.
struct AttentionShapes {
  Operation *op;
  RankedTensorType q, k, v;
  bool packed;
  Type compute;
  Dim batch = 1, tokens = 1, heads = 1, kvTokens = 1;

  LogicalResult verify();
  LogicalResult verifyMask(Value mask);
  LogicalResult verifySinks(Value sinks);
  LogicalResult verifyBias(Value bias);
  LogicalResult verifyRegions();
  LogicalResult verifyLse(RankedTensorType lse);
  LogicalResult verifyOutput(StringRef name, RankedTensorType type);
};
} // namespace

// Verifies that
// - q is [b, s, heads, d], or [t, heads, d] with cu_seqlens;
// - k is [b, s_kv, kv_heads, d] and v is like k but for its last dimension;
//   packed, s_kv = t;
// - kv_heads divides heads;
// - all have one element type.
LogicalResult AttentionShapes::verify() {
  int64_t rank = packed ? 3 : 4;
  const char *why = packed ? "with cu_seqlens" : "without cu_seqlens";
  if (failed(checkRank(op, "q", q, rank, why)) ||
      failed(checkRank(op, "k", k, rank, why)))
    return failure();
  Dims query = dimsOf(q), key = dimsOf(k);
  tokens = query[rank - 3];
  heads = query[rank - 2];
  kvTokens = packed ? tokens : key[1];
  if (!packed)
    batch = query[0];
  Dims expected;
  if (!packed)
    expected.push_back(batch);
  expected.append({kvTokens, key[rank - 2], query.back()});
  if (failed(
          checkShape(op, "k", k, expected, "for q of shape " + shapeText(q))) ||
      failed(checkElement(op, "k", k, q.getElementType(), "as in q")) ||
      failed(checkRank(op, "v", v, rank, why)) ||
      failed(checkShape(op, "v", v, withLast(key, dimsOf(v).back()),
                        "for k of shape " + shapeText(k))) ||
      failed(checkElement(op, "v", v, q.getElementType(), "as in q")))
    return failure();
  Dim kvHeads = key[rank - 2];
  if (heads.isStatic() && kvHeads.isStatic() && heads.size % kvHeads.size)
    return op->emitOpError()
           << kvHeads.text() << " heads of k of shape " << shapeText(k)
           << " do not divide " << heads.text() << " heads of q of shape "
           << shapeText(q);
  return success();
}

// Verifies that
// - the mask is [b, s_kv], or [b, s, s_kv] where b may be 1, and not given with
//   cu_seqlens.
LogicalResult AttentionShapes::verifyMask(Value mask) {
  if (!mask)
    return success();
  if (packed)
    return op->emitOpError(
        "has both mask and cu_seqlens, expected one of them");
  auto type = cast<RankedTensorType>(mask.getType());
  if (type.getRank() != 3)
    return checkShape(op, "mask", type, {batch, kvTokens},
                      "for k of shape " + shapeText(k));
  Dim all = type.getDimSize(0) == 1 ? Dim(1) : batch;
  return checkShape(op, "mask", type, {all, tokens, kvTokens},
                    "for q of shape " + shapeText(q) + " and k of shape " +
                        shapeText(k));
}

// Verifies that
// - there is one sink per head, in the type in which scores are computed.
LogicalResult AttentionShapes::verifySinks(Value sinks) {
  if (!sinks)
    return success();
  auto type = cast<RankedTensorType>(sinks.getType());
  if (failed(checkShape(op, "sinks", type, {heads},
                        "for q of shape " + shapeText(q))))
    return failure();
  return checkElement(op, "sinks", type, compute, "as scores are computed");
}

// Verifies that
// - the bias is [b, heads, s, s_kv], packed [heads, t, t], with 1 for all.
LogicalResult AttentionShapes::verifyBias(Value bias) {
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  Dims expected;
  if (!packed)
    expected.push_back(batch);
  expected.append({heads, tokens, kvTokens});
  if (failed(checkRank(op, "bias", type, expected.size(),
                       packed ? "with cu_seqlens" : "for scores")))
    return failure();
  for (auto [dim, is] : llvm::zip_equal(expected, dimsOf(type)))
    if (is == Dim(1))
      dim = is;
  return checkShape(op, "bias", type, expected,
                    "for q of shape " + shapeText(q) + " and k of shape " +
                        shapeText(k));
}

// Verifies that
// - the log-sum-exp is [b, heads, s], packed [heads, t], in the type in which
//   scores are computed.
LogicalResult AttentionShapes::verifyLse(RankedTensorType lse) {
  Dims expected;
  if (!packed)
    expected.push_back(batch);
  expected.append({heads, tokens});
  if (failed(checkShape(op, "lse", lse, expected,
                        "for q of shape " + shapeText(q))))
    return failure();
  return checkElement(op, "lse", lse, compute, "for statistics");
}

// Verifies that
// - the output, or its gradient, is like q with heads as wide as v's.
LogicalResult AttentionShapes::verifyOutput(StringRef name,
                                            RankedTensorType type) {
  if (failed(checkShape(op, name, type, withLast(dimsOf(q), dimsOf(v).back()),
                        "for q of shape " + shapeText(q) + " and v of shape " +
                            shapeText(v))))
    return failure();
  return checkElement(op, name, type, q.getElementType(), "as in q");
}

// Verifies that
// - there is at most one score region, of one block;
// - its arguments are the score, in the type in which scores are computed, and
//   four of type index;
// - it yields one value of the score's type.
LogicalResult AttentionShapes::verifyRegions() {
  if (op->getNumRegions() > 1)
    return op->emitOpError() << "has " << op->getNumRegions()
                             << " score regions, expected one at most";
  for (Region &region : op->getRegions()) {
    if (!llvm::hasSingleElement(region))
      return op->emitOpError()
             << "score region has " << region.getBlocks().size()
             << " blocks, expected 1";
    Type index = IndexType::get(op->getContext());
    SmallVector<Type> expected{compute, index, index, index, index};
    TypeRange arguments = region.getArgumentTypes();
    if (arguments != TypeRange(expected))
      return op->emitOpError() << "score region has arguments (" << arguments
                               << "), expected (" << expected << ")";
    auto yield = region.front().empty()
                     ? YieldOp()
                     : dyn_cast<YieldOp>(region.front().back());
    if (!yield || yield.getValues().getTypes() != TypeRange(compute))
      return op->emitOpError()
             << "score region does not yield one value of type " << compute;
  }
  return success();
}

// Verifies that
// - scale is finite, window and softcap are positive;
// - top_left comes with causal or window;
// - dropout is in [0, 1) and comes with seed, step and site, which do not come
//   without it;
// - cu_seqlens holds boundaries.
template <typename Op> static LogicalResult verifyOptions(Op op) {
  if (!op.getScale().isFinite())
    return op.emitOpError("scale is not finite");
  if (failed(verifyWindow(op, op.getWindow())))
    return failure();
  if (op.getTopLeft() && !op.getCausal() && !op.getWindow())
    return op.emitOpError(
        "is top_left, which applies to causal or window, but has neither");
  if (op.getSoftcap() &&
      failed(verifyPositive(op, "softcap", op.getSoftcap()->convertToDouble())))
    return failure();
  bool all = op.getSeed() && op.getStep() && op.getSite();
  bool any = op.getSeed() || op.getStep() || op.getSite();
  if (all != op.getDropout().has_value() || any != all)
    return op.emitOpError("has only some of dropout's p, seed, step and site, "
                          "expected all or none");
  if (all) {
    double p = op.getDropout()->convertToDouble();
    if (!(p >= 0 && p < 1))
      return op.emitOpError() << "dropout is " << p << ", expected 0 <= p < 1";
  }
  return op.getCuSeqlens() ? verifyBoundaries(op, op.getCuSeqlens().getType())
                           : success();
}

template <typename Op> static AttentionShapes shapesOf(Op op) {
  RankedTensorType q = op.getQ().getType();
  return {op,
          q,
          op.getK().getType(),
          op.getV().getType(),
          op.getCuSeqlens() != nullptr,
          computeType(q.getElementType())};
}

// Verifies that
// - q, k, v, mask, sinks and options fit together;
// - the result is as wide as v, and lse has one element per row of scores.
LogicalResult AttentionOp::verify() {
  AttentionShapes shapes = shapesOf(*this);
  if (failed(shapes.verify()) || failed(verifyOptions(*this)) ||
      failed(shapes.verifyMask(getMask())) ||
      failed(shapes.verifySinks(getSinks())) ||
      failed(shapes.verifyBias(getBias())) || failed(shapes.verifyRegions()) ||
      failed(shapes.verifyOutput("result", getResult().getType())))
    return failure();
  return getLse() ? shapes.verifyLse(getLse().getType()) : success();
}

// Verifies that
// - as in attention;
// - grad and out are as wide as v;
// - dq, dk and dv are like q, k and v;
// - dsinks is there when sinks are, and like them;
// - dbias, which may be there when the bias is, is like it.
LogicalResult AttentionGradOp::verify() {
  AttentionShapes shapes = shapesOf(*this);
  if (failed(shapes.verify()) || failed(verifyOptions(*this)) ||
      failed(shapes.verifyMask(getMask())) ||
      failed(shapes.verifySinks(getSinks())) ||
      failed(shapes.verifyBias(getBias())) || failed(shapes.verifyRegions()) ||
      failed(shapes.verifyLse(getLse().getType())))
    return failure();
  if (failed(shapes.verifyOutput("grad", getGrad().getType())) ||
      failed(shapes.verifyOutput("out", getOut().getType())) ||
      failed(checkLike(*this, "dq", getDq().getType(), "q", shapes.q)) ||
      failed(checkLike(*this, "dk", getDk().getType(), "k", shapes.k)) ||
      failed(checkLike(*this, "dv", getDv().getType(), "v", shapes.v)))
    return failure();
  size_t least = getSinks() ? 1 : 0, most = least + (getBias() ? 1 : 0);
  if (size_t others = getOthers().size(); others < least || others > most)
    return emitOpError() << "has " << others + 3 << " results, expected "
                         << least + 3
                         << (most > least ? " or one more, of the bias" : "")
                         << ": dq, dk, dv" << (getSinks() ? ", dsinks" : "");
  auto like = [&](StringRef name, Value grad, StringRef of, Value value) {
    return !grad
               ? success()
               : checkLike(*this, name, cast<RankedTensorType>(grad.getType()),
                           of, cast<RankedTensorType>(value.getType()));
  };
  if (failed(like("dsinks", getDsinks(), "sinks", getSinks())))
    return failure();
  return like("dbias", getDbias(), "bias", getBias());
}
