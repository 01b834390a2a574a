// SPDX-License-Identifier: Apache-2.0
// Norms: a row's statistics as reductions, then one elementwise generic.
// Loops are (row dimensions..., j).
#include "dialects/act/KernelForm.h"
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/NormLowering.h"

using namespace mlir;
using namespace act;

namespace {
/// Shapes and loop numbers of rows: [..., n].
struct Rows {
  explicit Rows(Value tensor) : shape(shapeOf(tensor)) {
    last = shape.size() - 1;
    n = shape.back();
    for (int64_t i = 0; i < last; ++i)
      lead.push_back(i);
  }
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> lead; // loops of the row's statistics
  int64_t last, n;
};
} // namespace

static Value reciprocalDeviation(LinalgBuilder &l, Rows &r, Value squares,
                                 double eps) {
  return l.map(r.shape.drop_back(), {l.whole(squares)}, l.compute,
               [&](Scalars &s, ValueRange x) {
                 Value mean = s.div(x[0], s.f(r.n));
                 return s.div(s.f(1), s.sqrt(s.add(mean, s.f(eps))));
               });
}

/// weight * (input - mean) * rstd + bias; mean and bias are null for an RMS
/// norm. `plusOne`: 1 + weight.
static Value normalize(LinalgBuilder &l, Rows &r, Value input, Value weight,
                       Value mean, Value rstd, Value bias, bool plusOne,
                       Type element) {
  SmallVector<LinalgBuilder::Input> in{l.whole(input), l.at(rstd, r.lead),
                                       l.at(weight, {r.last})};
  if (mean)
    in.append({l.at(mean, r.lead), l.at(bias, {r.last})});
  return l.map(r.shape, in, element, [plusOne](Scalars &s, ValueRange x) {
    bool centred = x.size() > 3;
    Value value = centred ? s.sub(x[0], x[3]) : x[0];
    Value factor = plusOne ? s.add(x[2], s.f(1)) : x[2];
    value = s.mul(factor, s.mul(value, x[1]));
    return centred ? s.add(value, x[4]) : value;
  });
}

LogicalResult NormalizeOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  Adaptor in(operands, *this);
  Rows r(in.getInput());
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  results.push_back(normalize(l, r, in.getInput(), in.getWeight(), in.getMean(),
                              in.getRstd(), in.getBias(), getPlusOne(),
                              getResult().getType().getElementType()));
  return success();
}

LogicalResult RmsNormOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  Value input = operands[0], weight = operands[1];
  Rows r(input);
  LinalgBuilder l(b, getLoc(), {input.getType(), weight.getType()});
  Value squares =
      l.sum(r.shape, {r.last}, {l.whole(input)},
            [](Scalars &s, ValueRange x) { return s.mul(x[0], x[0]); });
  Value rstd = reciprocalDeviation(l, r, squares, getEps().convertToDouble());
  results.push_back(normalize(l, r, input, weight, Value(), rstd, Value(),
                              getPlusOne(),
                              getResult().getType().getElementType()));
  if (getRstd())
    results.push_back(l.rounded(rstd, elementOf(getRstd())));
  return success();
}

/// With g = grad * weight (or 1 + weight) and normal = x * rstd: dx = rstd * (g
/// - normal * mean(g * normal)).
LogicalResult RmsNormGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  Value grad = operands[0], input = operands[1], weight = operands[2],
        rstd = operands[3];
  Rows r(input);
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  SmallVector<LinalgBuilder::Input> in{l.whole(grad), l.whole(input),
                                       l.at(weight, {r.last}),
                                       l.at(rstd, r.lead)};
  auto scaled = [plusOne = getPlusOne()](Scalars &s, ValueRange x) {
    return s.mul(x[0], plusOne ? s.add(x[2], s.f(1)) : x[2]);
  };
  Value dot = l.sum(r.shape, {r.last}, in, [&](Scalars &s, ValueRange x) {
    return s.mul(scaled(s, x), s.mul(x[1], x[3]));
  });
  in.push_back(l.at(dot, r.lead));
  results.push_back(l.map(r.shape, in, getResult().getType().getElementType(),
                          [&](Scalars &s, ValueRange x) {
                            Value n = s.mul(x[1], x[3]);
                            Value mean = s.div(x[4], s.f(r.n));
                            Value g = scaled(s, x);
                            return s.mul(x[3], s.sub(g, s.mul(n, mean)));
                          }));
  return success();
}

LogicalResult LayerNormOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  Value input = operands[0], weight = operands[1], bias = operands[2];
  Rows r(input);
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  Value total = l.sum(r.shape, {r.last}, {l.whole(input)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  Value mean =
      l.map(r.shape.drop_back(), {l.whole(total)}, l.compute,
            [&](Scalars &s, ValueRange x) { return s.div(x[0], s.f(r.n)); });
  // Two passes over the row: the one-pass formula cancels.
  Value squares = l.sum(r.shape, {r.last}, {l.whole(input), l.at(mean, r.lead)},
                        [](Scalars &s, ValueRange x) {
                          Value centred = s.sub(x[0], x[1]);
                          return s.mul(centred, centred);
                        });
  Value rstd = reciprocalDeviation(l, r, squares, getEps().convertToDouble());
  results.push_back(normalize(l, r, input, weight, mean, rstd, bias,
                              /*plusOne=*/false,
                              getResult().getType().getElementType()));
  if (getMean())
    results.push_back(l.rounded(mean, elementOf(getMean())));
  if (getRstd())
    results.push_back(l.rounded(rstd, elementOf(getRstd())));
  return success();
}

/// With g = grad * weight and normal = (x - mean) * rstd: dx = rstd * (g -
/// mean(g) - normal * mean(g * normal)).
LogicalResult LayerNormGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                             SmallVectorImpl<Value> &results) {
  Value grad = operands[0], input = operands[1], weight = operands[2],
        mean = operands[3], rstd = operands[4];
  Rows r(input);
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  SmallVector<LinalgBuilder::Input> in{l.whole(grad), l.at(weight, {r.last})};
  Value total = l.sum(r.shape, {r.last}, in, [](Scalars &s, ValueRange x) {
    return s.mul(x[0], x[1]);
  });
  in.append({l.whole(input), l.at(mean, r.lead), l.at(rstd, r.lead)});
  Value dot = l.sum(r.shape, {r.last}, in, [](Scalars &s, ValueRange x) {
    Value normal = s.mul(s.sub(x[2], x[3]), x[4]);
    return s.mul(s.mul(x[0], x[1]), normal);
  });
  in.append({l.at(total, r.lead), l.at(dot, r.lead)});
  results.push_back(l.map(r.shape, in, getResult().getType().getElementType(),
                          [&](Scalars &s, ValueRange x) {
                            Value count = s.f(r.n);
                            Value normal = s.mul(s.sub(x[2], x[3]), x[4]);
                            Value g = s.mul(x[0], x[1]);
                            g = s.sub(g, s.div(x[5], count));
                            g = s.sub(g, s.mul(normal, s.div(x[6], count)));
                            return s.mul(x[4], g);
                          }));
  return success();
}

// A term of a weight gradient's sum, from grad, input, rstd and, if there is
// one, the mean.
static Value weightGradTerm(Scalars &s, ValueRange x) {
  Value value = x.size() > 3 ? s.sub(x[1], x[3]) : x[1];
  return s.mul(x[0], s.mul(value, x[2]));
}

LogicalResult NormWeightGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                              SmallVectorImpl<Value> &results) {
  Adaptor in(operands, *this);
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  int64_t n = shapeOf(in.getInput()).back(), rows = 1;
  for (int64_t size : shapeOf(in.getInput()).drop_back())
    rows *= size;
  SmallVector<LinalgBuilder::Input> inputs{
      l.whole(l.reshape(in.getGrad(), {rows, n})),
      l.whole(l.reshape(in.getInput(), {rows, n})),
      l.at(l.reshape(in.getRstd(), {rows}), {0})};
  if (in.getMean())
    inputs.push_back(l.at(l.reshape(in.getMean(), {rows}), {0}));
  Value total = l.sum({rows, n}, {0}, inputs, weightGradTerm);
  results.push_back(l.rounded(total, getResult().getType().getElementType()));
  return success();
}

/// The norm gradient in the group of `sum` whose rows it adds up, or null.
static Operation *rowsOwner(Operation *sum) {
  if (!isa<GroupOp>(sum->getParentOp()))
    return nullptr;
  for (Operation &op : *sum->getBlock())
    if (&op == sum)
      break;
    else if (takesRowSum(&op, sum))
      return &op;
  return nullptr;
}

// On a GPU, the kernel over rows stores partial sums, and the last kernel adds
// them up. On the host, a sum is a kernel of its own, over all rows.
static SmallVector<KernelStage> rowSumStages(Operation *sum, LinalgForm form) {
  if (!rowsOwner(sum))
    return {};
  if (form == LinalgForm::Tiles)
    return {{KernelStage::Own}};
  return {{KernelStage::Main}, {KernelStage::Last}};
}

static SmallVector<RankedTensorType> rowSumWorkspaces(Operation *sum) {
  if (!rowsOwner(sum))
    return {};
  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  type = dropFront(type, type.getRank() - 1);
  return {prepend(withElement(type, computeType(type.getElementType())),
                  rowParts, std::to_string(rowParts))};
}

/// The sum over the rows of the norm's gradient before `op` rounds it: [h], in
/// the computation type. Loops are those of the gradient, [..., h].
static Value sumOfRows(StageBuilder &stage, Operation *op) {
  SmallVector<Value> operands = stage.operands(op);
  Value grad = stage.lookup(rowsOwner(op)->getOperand(0));
  Rows r(grad);
  LinalgBuilder l(stage.b, op->getLoc(), ValueRange(operands).getTypes());
  auto weight = dyn_cast<NormWeightGradOp>(op);
  if (!weight)
    return l.sum(r.shape, r.lead, {l.whole(grad)},
                 [](Scalars &, ValueRange x) { return x[0]; });
  NormWeightGradOp::Adaptor in(operands, weight);
  SmallVector<LinalgBuilder::Input> inputs{
      l.whole(grad), l.whole(in.getInput()), l.at(in.getRstd(), r.lead)};
  if (in.getMean())
    inputs.push_back(l.at(in.getMean(), r.lead));
  return l.sum(r.shape, r.lead, inputs, weightGradTerm);
}

/// The result of `op`, made of `parts` of that sum, [parts, h].
static Value sumOfParts(OpBuilder &b, Operation *op, Value parts) {
  LinalgBuilder l(b, op->getLoc(), {parts.getType()});
  auto type = plainTensor(op->getResult(0).getType());
  Value total = l.sum(shapeOf(parts), {0}, {l.whole(parts)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  return l.reshape(l.rounded(total, type.getElementType()), type.getShape());
}

static LogicalResult lowerRowSumStage(StageBuilder &stage, Operation *sum,
                                      unsigned number) {
  if (stage.form == LinalgForm::Tiles) {
    SmallVector<Value> results;
    if (failed(cast<LinalgOpInterface>(sum).lowerToLinalg(
            stage.b, stage.operands(sum), results)))
      return failure();
    stage.set(sum->getResult(0), results[0]);
  } else if (number == 0) {
    stage.storeParts(sumOfRows(stage, sum), 0);
  } else {
    stage.set(sum->getResult(0), sumOfParts(stage.b, sum, stage.read(0)));
  }
  return success();
}

#define ROW_SUM_STAGES(OP)                                                     \
  SmallVector<KernelStage> OP::getStages(LinalgForm form) {                    \
    return rowSumStages(*this, form);                                          \
  }                                                                            \
  LogicalResult OP::lowerStage(StageBuilder &stage, unsigned number) {         \
    return lowerRowSumStage(stage, *this, number);                             \
  }                                                                            \
  SmallVector<RankedTensorType> OP::getWorkspaceTypes() {                      \
    return rowSumWorkspaces(*this);                                            \
  }
ROW_SUM_STAGES(NormWeightGradOp)
ROW_SUM_STAGES(SumToOp)
