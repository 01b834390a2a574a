// SPDX-License-Identifier: Apache-2.0
//
// Finds the product that makes the logits behind a cross entropy and rewrites
// the two as one op. Every value on the way must have one reader: if something
// else reads the logits, they are in memory anyway.
#include "passes/fuse/FuseLoss.h"
#include "dialects/act/ShapeCheck.h"
#include "passes/module/EraseDead.h"

using namespace mlir;

namespace act {
namespace {

// input W^T + bias, W of shape [vocabulary, in].
struct Head {
  Operation *op;
  Value input, weight, bias; // bias: or null
};

// The matrix whose transpose is `weight`, or null. The fused op takes the
// weight as [vocabulary, in]; a weight that is [in, vocabulary] itself is not
// fused.
Value transposedMatrix(Value weight) {
  auto transpose = weight.getDefiningOp<TransposeOp>();
  return transpose && transpose.getType().getRank() == 2 &&
                 transpose.getPermutation()[0] == 1
             ? transpose.getInput()
             : Value();
}

// A linear op, or a product with a matrix. An adapter or a quantized weight has
// no place in the fused op.
std::optional<Head> headOf(Operation *op) {
  if (auto linear = dyn_cast_or_null<LinearOp>(op)) {
    if (linear.getLoraA() ||
        !isa<FloatType>(linear.getWeight().getType().getElementType()))
      return std::nullopt;
    Value weight = linear.getInOut() ? transposedMatrix(linear.getWeight())
                                     : linear.getWeight();
    return weight ? std::optional<Head>(
                        {op, linear.getInput(), weight, linear.getBias()})
                  : std::nullopt;
  }
  auto matmul = dyn_cast_or_null<MatmulOp>(op);
  if (!matmul || matmul.getTransposeLhs() ||
      matmul.getRhs().getType().getRank() != 2)
    return std::nullopt;
  Value weight = matmul.getTransposeRhs() ? matmul.getRhs()
                                          : transposedMatrix(matmul.getRhs());
  return weight ? std::optional<Head>({op, matmul.getLhs(), weight, Value()})
                : std::nullopt;
}

// Whether a reshape keeps the vocabulary apart from the tokens.
bool onlyFlattensTokens(ReshapeOp op) {
  RankedTensorType from = op.getInput().getType(), to = op.getType();
  return from.getRank() > 0 && to.getRank() > 0 &&
         dimsOf(from).back() == dimsOf(to).back();
}

// The operand of `add` with one element per column of the other operand.
OpOperand *biasOf(AddOp add) {
  for (OpOperand &operand : add->getOpOperands()) {
    auto bias = cast<RankedTensorType>(operand.get().getType());
    Value other = add->getOperand(1 - operand.getOperandNumber());
    auto logits = cast<RankedTensorType>(other.getType());
    if (bias.getRank() == 1 && logits.getRank() > 1 &&
        dimsOf(logits).back() == dimsOf(bias)[0] &&
        other.getType() == add.getType() &&
        bias.getElementType() == logits.getElementType())
      return &operand;
  }
  return nullptr;
}

// A product plus a bias.
std::optional<Head> biasedHeadOf(AddOp add) {
  OpOperand *bias = biasOf(add);
  if (!bias)
    return std::nullopt;
  Value product = add->getOperand(1 - bias->getOperandNumber());
  std::optional<Head> head =
      product.hasOneUse() ? headOf(product.getDefiningOp()) : std::nullopt;
  if (!head || head->bias)
    return std::nullopt;
  head->bias = bias->get();
  return head;
}

// The input of cap * tanh(input / cap), whose values have a single use.
std::pair<Value, double> cappedInput(ScaleOp last) {
  auto bend = last.getInput().getDefiningOp<TanhOp>();
  auto first = bend && bend->hasOneUse()
                   ? bend->getOperand(0).getDefiningOp<ScaleOp>()
                   : ScaleOp();
  const double cap = last.getFactor().convertToDouble();
  if (!first || !first->hasOneUse() || !(cap > 0) ||
      first.getFactor().convertToDouble() != 1 / cap)
    return {};
  return {first.getInput(), cap};
}

// Walks back from the logits through values with a single use.
std::optional<Head> findHead(Value logits, std::optional<double> &cap) {
  while (logits.hasOneUse()) {
    Operation *op = logits.getDefiningOp();
    if (auto reshape = dyn_cast_or_null<ReshapeOp>(op);
        reshape && onlyFlattensTokens(reshape))
      logits = reshape.getInput();
    else if (auto cast = dyn_cast_or_null<CastOp>(op);
             cast &&
             isa<Float32Type, Float64Type>(cast.getType().getElementType()) &&
             isa<FloatType>(cast.getInput().getType().getElementType()))
      logits = cast.getInput();
    else if (auto scale = dyn_cast_or_null<ScaleOp>(op); scale && !cap) {
      auto [input, found] = cappedInput(scale);
      if (!input)
        return std::nullopt;
      logits = input;
      cap = found;
    } else if (auto add = dyn_cast_or_null<AddOp>(op))
      return biasedHeadOf(add);
    else
      return headOf(op);
  }
  return std::nullopt;
}

} // namespace

bool fuseLoss(CrossEntropyOp loss, int64_t chunk) {
  if (loss.getReduction() == Reduction::None || loss.getLse())
    return false;
  RankedTensorType labels = loss.getLabels().getType();
  std::optional<double> cap;
  std::optional<Head> head = findHead(loss.getLogits(), cap);
  if (!head)
    return false;
  auto input = cast<RankedTensorType>(head->input.getType());
  if (computeType(input.getElementType()) !=
      loss.getLoss().getType().getElementType())
    return false;

  OpBuilder b(loss);
  // One row of the input per label, in the labels' shape.
  SmallVector<int64_t> shape(labels.getShape());
  auto names = dimNames(labels);
  shape.push_back(input.getShape().back());
  names.push_back(dimNames(input).back());
  Value rows = head->input;
  if (input.getShape() != ArrayRef(shape))
    rows = reshapeTo(
        b, rows,
        namedTensor(shape, input.getElementType(), names, b.getContext()));
  Location loc = b.getFusedLoc({head->op->getLoc(), loss.getLoc()});
  auto fused = LinearCrossEntropyOp::create(
      b, loc, loss.getLoss().getType(), Type(), rows, head->weight, head->bias,
      loss.getLabels(), loss.getIgnoreAttr(), loss.getReductionAttr(),
      b.getI64IntegerAttr(chunk), cap ? b.getF64FloatAttr(*cap) : FloatAttr());
  loss.getLoss().replaceAllUsesWith(fused.getLoss());

  eraseDead(loss);
  return true;
}

} // namespace act
