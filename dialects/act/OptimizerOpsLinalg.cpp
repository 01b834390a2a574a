// SPDX-License-Identifier: Apache-2.0
//
// The linalg forms of clipping and of the ops that act on a parameter's
// buffers. Element i of a buffer's next contents depends on elements i of the
// operands and on scalars, so it may overwrite the old one in place.
#include "dialects/act/LinalgBuilder.h"

using namespace mlir;

namespace act {

// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
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

// The buffers of every update. With a master copy the parameter is only
// written; without one it is what is updated.
static SmallVector<BufferUse> usesOfUpdate(bool master) {
  if (!master)
    return {{ParameterBuffer::Parameter, BufferUse::Update},
            {ParameterBuffer::Gradient, BufferUse::Read}};
  return {{ParameterBuffer::Parameter, BufferUse::Overwrite},
          {ParameterBuffer::Gradient, BufferUse::Read},
          {ParameterBuffer::Master, BufferUse::Update}};
}

SmallVector<BufferUse> AdamWOp::getBufferUses() {
  SmallVector<BufferUse> uses = usesOfUpdate(getMaster());
  uses.push_back({ParameterBuffer::ExpAvg, BufferUse::Update});
  uses.push_back({ParameterBuffer::ExpAvgSq, BufferUse::Update});
  return uses;
}

// Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019), in the
// order of operations of torch.optim.AdamW: the weight decays before it is
// updated, and eps is added after the correction of v.
void AdamWOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                          ArrayRef<Value> buffers, ValueRange operands,
                          SmallVectorImpl<Value> &next,
                          SmallVectorImpl<Value> &) {
  const bool master = getMaster();
  Value param = buffers[0], grad = buffers[1], old = buffers[master ? 2 : 0],
        m = buffers[master ? 3 : 2], v = buffers[master ? 4 : 3];
  Value lr = operands[0], step = operands[1];
  Value clip = getClip() ? operands[2] : Value();
  Location loc = getLoc();
  LinalgBuilder l(b, loc, {param.getType()});
  double beta1 = getBetas()[0], beta2 = getBetas()[1];
  double eps = getEps().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  // Values shared by all elements, computed once, in f64.
  Scalars d(b, loc, b.getF64Type());
  Value rate = convertFloat(b, loc, lr, d.compute);
  Value keep = d.sub(d.f(1), d.mul(rate, d.f(decay)));
  Value stepSize = d.div(rate, d.sub(d.f(1), powerOfStep(d, beta1, step)));
  Value root = d.sqrt(d.sub(d.f(1), powerOfStep(d, beta2, step)));
  keep = convertFloat(b, loc, keep, l.compute);
  stepSize = convertFloat(b, loc, stepSize, l.compute);
  root = convertFloat(b, loc, root, l.compute);

  SmallVector<LinalgBuilder::Input> inputs{l.whole(grad), l.whole(old),
                                           l.whole(m), l.whole(v)};
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  SmallVector<Type> elements{elementOf(param)};
  if (master)
    elements.push_back(elementOf(old));
  elements.append({elementOf(m), elementOf(v)});
  next =
      l.mapAll(shapeOf(param), inputs, elements, [&](Scalars &s, ValueRange x) {
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

SmallVector<BufferUse> SgdOp::getBufferUses() {
  return usesOfUpdate(getMaster());
}

void SgdOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                        ArrayRef<Value> buffers, ValueRange operands,
                        SmallVectorImpl<Value> &next,
                        SmallVectorImpl<Value> &) {
  const bool master = getMaster();
  Value param = buffers[0], grad = buffers[1], old = buffers[master ? 2 : 0];
  Value clip = getClip() ? operands[1] : Value();
  LinalgBuilder l(b, getLoc(), {param.getType()});
  Value rate = convertFloat(b, getLoc(), operands[0], l.compute);
  SmallVector<LinalgBuilder::Input> inputs{l.whole(grad), l.whole(old)};
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  SmallVector<Type> elements{elementOf(param)};
  if (master)
    elements.push_back(elementOf(old));
  next =
      l.mapAll(shapeOf(param), inputs, elements, [&](Scalars &s, ValueRange x) {
        Value g = clip ? s.mul(x[2], x[0]) : x[0];
        Value w = s.sub(x[1], s.mul(rate, g));
        return SmallVector<Value>(elements.size(), w);
      });
}

SmallVector<BufferUse> AccumulateOp::getBufferUses() {
  return {{ParameterBuffer::Gradient, BufferUse::Update}};
}

// Rounds to the gradient's type.
void AccumulateOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                               ArrayRef<Value> buffers, ValueRange operands,
                               SmallVectorImpl<Value> &next,
                               SmallVectorImpl<Value> &) {
  Value grad = buffers[0], value = operands[0];
  LinalgBuilder l(b, getLoc(), {grad.getType(), value.getType()});
  next.push_back(
      l.map(shapeOf(grad), {l.whole(grad), l.whole(value)}, elementOf(grad),
            [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); }));
}

SmallVector<BufferUse> ZeroGradOp::getBufferUses() {
  return {{ParameterBuffer::Gradient, BufferUse::Fill}};
}

void ZeroGradOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType> types,
                             ArrayRef<Value>, ValueRange,
                             SmallVectorImpl<Value> &next,
                             SmallVectorImpl<Value> &) {
  LinalgBuilder l(b, getLoc(), {types[0]});
  next.push_back(l.zeros(types[0].getShape(), types[0].getElementType()));
}

SmallVector<BufferUse> GradSquareSumOp::getBufferUses() {
  return {{ParameterBuffer::Gradient, BufferUse::Read}};
}

// In two steps, so that the first can run in parallel: the squares of every
// row (all dimensions but the last are rows), then the sum and those, in order.
void GradSquareSumOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                                  ArrayRef<Value> buffers, ValueRange operands,
                                  SmallVectorImpl<Value> &,
                                  SmallVectorImpl<Value> &results) {
  Value grad = buffers[0], sum = operands[0];
  LinalgBuilder l(b, getLoc(), {b.getF32Type()});
  int64_t rows = 1, n = 1;
  ArrayRef<int64_t> shape = shapeOf(grad);
  if (!shape.empty())
    n = shape.back();
  for (int64_t size : shape.drop_back(shape.empty() ? 0 : 1))
    rows *= size;
  Value ofRows =
      l.sum({rows, n}, {1}, {l.whole(l.reshape(grad, {rows, n}))},
            [](Scalars &s, ValueRange x) { return s.mul(x[0], x[0]); });
  Value total = l.sum(shapeOf(ofRows), {0}, {l.whole(ofRows)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  results.push_back(
      l.map(shapeOf(sum), {l.whole(sum), l.at(total, {})}, b.getF32Type(),
            [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); }));
}

} // namespace act
