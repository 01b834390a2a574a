// SPDX-License-Identifier: Apache-2.0
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/OptimizerLowering.h"

using namespace mlir;

namespace act {

LogicalResult ClipOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                    SmallVectorImpl<Value> &results) {
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  double norm = getMaxNorm().convertToDouble();
  results.push_back(l.map(shapeOf(operands[0]), {l.whole(operands[0])},
                          b.getF32Type(), [&](Scalars &s, ValueRange x) {
                            Value length = s.add(s.sqrt(x[0]), s.f(1e-6));
                            return s.min(s.f(1), s.div(s.f(norm), length));
                          }));
  return success();
}

// beta^step in f64, as PyTorch's step counters compute it.
static Value powerOfStep(Scalars &s, double beta, Value step) {
  Value exponent = arith::SIToFPOp::create(s.b, s.loc, s.compute, step);
  return math::PowFOp::create(s.b, s.loc, s.f(beta), exponent);
}

// The clip factor has one element and any rank.
static LinalgBuilder::Input scalarInput(LinalgBuilder &l, Value tensor) {
  return l.at(l.reshape(tensor, {}), {});
}

SmallVector<Value> lowerAdamW(OpBuilder &b, AdamWOp op, Value param, Value grad,
                              Value master, Value m, Value v, Value lr,
                              Value step, Value clip) {
  Location loc = op.getLoc();
  LinalgBuilder l(b, loc, {param.getType()});
  double beta1 = op.getBetas()[0], beta2 = op.getBetas()[1];
  double eps = op.getEps().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  // Values shared by all elements, computed once, in f64.
  Scalars d(b, loc, b.getF64Type());
  Value rate = convertFloat(b, loc, lr, d.compute);
  Value keep = d.sub(d.f(1), d.mul(rate, d.f(decay)));
  Value stepSize = d.div(rate, d.sub(d.f(1), powerOfStep(d, beta1, step)));
  Value root = d.sqrt(d.sub(d.f(1), powerOfStep(d, beta2, step)));
  keep = convertFloat(b, loc, keep, l.compute);
  stepSize = convertFloat(b, loc, stepSize, l.compute);
  root = convertFloat(b, loc, root, l.compute);

  SmallVector<LinalgBuilder::Input> inputs{
      l.whole(grad), l.whole(master ? master : param), l.whole(m), l.whole(v)};
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  SmallVector<Type> elements{elementOf(param)};
  if (master)
    elements.push_back(elementOf(master));
  elements.append({elementOf(m), elementOf(v)});
  return l.mapAll(
      shapeOf(param), inputs, elements, [&](Scalars &s, ValueRange x) {
        Value g = clip ? s.mul(x[4], x[0]) : x[0];
        Value w = s.mul(x[1], keep);
        Value first = s.add(s.mul(s.f(beta1), x[2]), s.mul(s.f(1 - beta1), g));
        Value second =
            s.add(s.mul(s.f(beta2), x[3]), s.mul(s.f(1 - beta2), s.mul(g, g)));
        Value denominator = s.add(s.div(s.sqrt(second), root), s.f(eps));
        w = s.sub(w, s.mul(stepSize, s.div(first, denominator)));
        SmallVector<Value> out{w};
        if (master)
          out.push_back(w);
        out.append({first, second});
        return out;
      });
}

SmallVector<Value> lowerSgd(OpBuilder &b, SgdOp op, Value param, Value grad,
                            Value master, Value lr, Value clip) {
  LinalgBuilder l(b, op.getLoc(), {param.getType()});
  Value rate = convertFloat(b, op.getLoc(), lr, l.compute);
  SmallVector<LinalgBuilder::Input> inputs{l.whole(grad),
                                           l.whole(master ? master : param)};
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  SmallVector<Type> elements{elementOf(param)};
  if (master)
    elements.push_back(elementOf(master));
  return l.mapAll(shapeOf(param), inputs, elements,
                  [&](Scalars &s, ValueRange x) {
                    Value g = clip ? s.mul(x[2], x[0]) : x[0];
                    Value w = s.sub(x[1], s.mul(rate, g));
                    return SmallVector<Value>(elements.size(), w);
                  });
}

Value lowerAccumulate(OpBuilder &b, Location loc, Value grad, Value value) {
  LinalgBuilder l(b, loc, {grad.getType(), value.getType()});
  return l.map(shapeOf(grad), {l.whole(grad), l.whole(value)}, elementOf(grad),
               [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
}

Value lowerZeroGrad(OpBuilder &b, Location loc, Type type) {
  LinalgBuilder l(b, loc, {type});
  auto tensor = plainTensor(type);
  return l.zeros(tensor.getShape(), tensor.getElementType());
}

Value lowerSquareSumOfRows(OpBuilder &b, Location loc, Value grad) {
  LinalgBuilder l(b, loc, {b.getF32Type()});
  int64_t rows = 1, n = 1;
  ArrayRef<int64_t> shape = shapeOf(grad);
  if (!shape.empty())
    n = shape.back();
  for (int64_t size : shape.drop_back(shape.empty() ? 0 : 1))
    rows *= size;
  return l.sum({rows, n}, {1}, {l.whole(l.reshape(grad, {rows, n}))},
               [](Scalars &s, ValueRange x) { return s.mul(x[0], x[0]); });
}

Value lowerAddToSquareSum(OpBuilder &b, Location loc, Value sum, Value rows) {
  LinalgBuilder l(b, loc, {b.getF32Type()});
  Value total = l.sum(shapeOf(rows), {0}, {l.whole(rows)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  return l.map(shapeOf(sum), {l.whole(sum), l.at(total, {})}, b.getF32Type(),
               [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
}

} // namespace act
