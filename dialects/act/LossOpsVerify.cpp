// SPDX-License-Identifier: Apache-2.0
//
// What embeddings and losses require of shapes and types. Ids and labels are
// data, so their values are not checked here.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verifies that
// - the table is a matrix;
// - `rows` has the shape of ids with the table's columns last, and its element
//   type.
static LogicalResult verifyLookup(Operation *op, StringRef tableName,
                                  RankedTensorType table, StringRef rowsName,
                                  RankedTensorType rows, RankedTensorType ids) {
  if (failed(checkRank(op, tableName, table, 2, "for a table")))
    return failure();
  Dims expected = dimsOf(ids);
  expected.push_back(dimsOf(table).back());
  if (failed(checkShape(op, rowsName, rows, expected,
                        "for ids of shape " + shapeText(ids) + " and " +
                            tableName + " of shape " + shapeText(table))))
    return failure();
  return checkElement(op, rowsName, rows, table.getElementType(),
                      "as in " + tableName);
}

// Verifies that
// - padding_idx is a row of the table.
static LogicalResult verifyPadding(Operation *op,
                                   std::optional<int64_t> padding,
                                   StringRef tableName,
                                   RankedTensorType table) {
  if (!padding)
    return success();
  Dim rows = dimsOf(table)[0];
  if (*padding >= 0 && (!rows.isStatic() || *padding < rows.size))
    return success();
  return op->emitOpError() << "padding_idx is " << *padding
                           << ", expected a row of " << tableName
                           << " of shape " << shapeText(table);
}

LogicalResult EmbeddingOp::verify() {
  if (failed(verifyLookup(*this, "table", getTable().getType(), "result",
                          getType(), getIds().getType())))
    return failure();
  return verifyPadding(*this, getPaddingIdx(), "table", getTable().getType());
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(verifyLookup(*this, "result", getType(), "grad",
                          getGrad().getType(), getIds().getType())))
    return failure();
  return verifyPadding(*this, getPaddingIdx(), "result", getType());
}

// Verifies that
// - `loss` is a scalar, or has one element per label for `none`, in the type in
//   which logits are computed;
// - `lse` has one element per label, in the same type.
static LogicalResult verifyLoss(Operation *op, StringRef lossName,
                                RankedTensorType loss, Value lse,
                                RankedTensorType labels, Reduction reduction,
                                Type element) {
  Dims tokens = dimsOf(labels);
  Type compute = computeType(element);
  std::string why = ("for reduction " + stringifyReduction(reduction) +
                     " over labels of shape " + shapeText(labels))
                        .str();
  if (failed(checkShape(op, lossName, loss,
                        reduction == Reduction::None ? tokens : Dims(), why)) ||
      failed(checkElement(op, lossName, loss, compute, "for a loss")))
    return failure();
  if (!lse)
    return success();
  auto type = cast<RankedTensorType>(lse.getType());
  if (failed(checkShape(op, "lse", type, tokens, "as in labels")))
    return failure();
  return checkElement(op, "lse", type, compute, "for statistics");
}

// Verifies that
// - logits have the shape of the labels and a last dimension.
static LogicalResult verifyLogits(Operation *op, StringRef name,
                                  RankedTensorType logits,
                                  RankedTensorType labels) {
  if (logits.getRank() < 1)
    return op->emitOpError() << name << " has rank 0, expected 1 or more";
  return checkShape(op, "labels", labels, withoutLast(dimsOf(logits)),
                    "for " + name + " of shape " + shapeText(logits));
}

// Verifies that
// - logits have the shape of the labels and a last dimension;
// - loss and lse fit the labels and the reduction.
LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType(),
                   labels = getLabels().getType();
  if (failed(verifyLogits(*this, "logits", logits, labels)))
    return failure();
  return verifyLoss(*this, "loss", getLoss().getType(), getLse(), labels,
                    getReduction(), logits.getElementType());
}

// Verifies that
// - as in cross_entropy, grad standing for the loss;
// - the result is like the logits.
LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType logits = getLogits().getType(),
                   labels = getLabels().getType();
  if (failed(verifyLogits(*this, "logits", logits, labels)) ||
      failed(verifyLoss(*this, "grad", getGrad().getType(), getLse(), labels,
                        getReduction(), logits.getElementType())))
    return failure();
  return checkLike(*this, "result", getType(), "logits", logits);
}

// Verifies that
// - the input has the shape of the labels and a last dimension;
// - the weight is a matrix with as many columns, of the input's element type;
// - the bias has one element per row of the weight, of that type;
// - chunk is positive.
static LogicalResult verifyHead(Operation *op, RankedTensorType input,
                                RankedTensorType weight, Value bias,
                                RankedTensorType labels, int64_t chunk) {
  if (failed(verifyLogits(op, "input", input, labels)) ||
      failed(checkRank(op, "weight", weight, 2, "for a linear layer")))
    return failure();
  Dim in = dimsOf(input).back(), columns = dimsOf(weight).back();
  if (in != columns)
    return op->emitOpError()
           << "contracts " << in.text() << " columns of input with "
           << columns.text() << " inputs of weight of shape "
           << shapeText(weight);
  if (chunk < 1)
    return op->emitOpError() << "chunk is " << chunk << ", expected 1 or more";
  if (failed(checkElement(op, "weight", weight, input.getElementType(),
                          "as in input")))
    return failure();
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  if (failed(checkShape(op, "bias", type, {dimsOf(weight)[0]},
                        "for weight of shape " + shapeText(weight))))
    return failure();
  return checkElement(op, "bias", type, input.getElementType(), "as in input");
}

static LogicalResult verifySoftcap(Operation *op, std::optional<APFloat> cap) {
  if (!cap || (cap->isFinite() && !cap->isNegative() && !cap->isZero()))
    return success();
  return op->emitOpError() << "softcap is " << cap->convertToDouble()
                           << ", expected a finite number above 0";
}

// Verifies that
// - input, weight, bias, labels and chunk fit together;
// - softcap is positive;
// - loss and lse fit the labels and the reduction.
LogicalResult LinearCrossEntropyOp::verify() {
  RankedTensorType input = getInput().getType(), labels = getLabels().getType();
  if (failed(verifyHead(*this, input, getWeight().getType(), getBias(), labels,
                        getChunk())) ||
      failed(verifySoftcap(*this, getSoftcap())))
    return failure();
  return verifyLoss(*this, "loss", getLoss().getType(), getLse(), labels,
                    getReduction(), input.getElementType());
}

// Verifies that
// - as in linear_cross_entropy, grad standing for the loss;
// - d_input is like input;
// - the other results, if there are any, are like weight and, if there is one,
//   bias.
LogicalResult LinearCrossEntropyGradOp::verify() {
  RankedTensorType input = getInput().getType(), labels = getLabels().getType();
  if (failed(verifyHead(*this, input, getWeight().getType(), getBias(), labels,
                        getChunk())) ||
      failed(verifySoftcap(*this, getSoftcap())) ||
      failed(verifyLoss(*this, "grad", getGrad().getType(), getLse(), labels,
                        getReduction(), input.getElementType())) ||
      failed(
          checkLike(*this, "d_input", getDInput().getType(), "input", input)))
    return failure();
  size_t parameters = getBias() ? 2 : 1, has = getDParameters().size();
  if (has == 0)
    return success();
  if (has != parameters)
    return emitOpError() << "has " << 1 + has << " results, expected 1 or "
                         << 1 + parameters
                         << (getBias() ? " with a bias" : " without a bias");
  if (failed(checkLike(*this, "d_weight",
                       cast<RankedTensorType>(getDWeight().getType()), "weight",
                       getWeight().getType())))
    return failure();
  return getBias() ? checkLike(*this, "d_bias",
                               cast<RankedTensorType>(getDBias().getType()),
                               "bias", getBias().getType())
                   : success();
}

// Verifies that
// - the result is a scalar.
LogicalResult LabelCountOp::verify() {
  return checkRank(*this, "result", getType(), 0, "for a count");
}
