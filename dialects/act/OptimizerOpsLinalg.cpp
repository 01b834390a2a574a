// SPDX-License-Identifier: Apache-2.0
//
// The linalg forms of clipping and of the ops that act on a parameter's
// buffers. Element i of a buffer's next contents depends on elements i of the
// operands and on scalars, so it may overwrite the old one in place.
#include "dialects/act/DynamicMap.h"
#include <limits>

using namespace mlir;

namespace act {

// The norm of gradients whose loss was scaled.
static Value normOf(Scalars &s, ValueRange x, bool scaled) {
  Value norm = s.sqrt(x[0]);
  return scaled ? s.div(norm, x[1]) : norm;
}

static SmallVector<LinalgBuilder::Input> wholeOf(LinalgBuilder &l,
                                                 ValueRange tensors) {
  SmallVector<LinalgBuilder::Input> inputs;
  for (Value tensor : tensors)
    inputs.push_back(l.whole(tensor));
  return inputs;
}

LogicalResult GradNormOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  bool scaled = bool(getScale());
  results.push_back(
      l.map(shapeOf(operands[0]), wholeOf(l, operands), b.getF32Type(),
            [&](Scalars &s, ValueRange x) { return normOf(s, x, scaled); }));
  return success();
}

// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
LogicalResult ClipOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                    SmallVectorImpl<Value> &results) {
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  bool scaled = bool(getScale());
  std::optional<APFloat> most = getMaxNorm();
  results.push_back(l.map(
      shapeOf(operands[0]), wholeOf(l, operands), b.getF32Type(),
      [&](Scalars &s, ValueRange x) {
        Value factor = s.f(1);
        if (most) {
          Value length = s.add(normOf(s, x, scaled), s.f(1e-6));
          factor = s.min(factor, s.div(s.f(most->convertToDouble()), length));
        }
        if (!scaled)
          return factor;
        Value infinity = s.f(std::numeric_limits<double>::infinity());
        Value finite = arith::CmpFOp::create(
            s.b, s.loc, arith::CmpFPredicate::OLT, x[0], infinity);
        return s.select(finite, s.div(factor, x[1]), s.f(0));
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

// A factor of 0 says that gradients overflowed.
static Value isSkipped(Scalars &s, Value factor) {
  return arith::CmpFOp::create(s.b, s.loc, arith::CmpFPredicate::OEQ, factor,
                               s.f(0));
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

static SmallVector<BufferUse> usesOfUpdate(bool master,
                                           ArrayRef<ParameterBuffer> moments) {
  SmallVector<BufferUse> uses = usesOfUpdate(master);
  for (ParameterBuffer m : moments)
    uses.push_back({m, BufferUse::Update});
  return uses;
}

/// An update of each element: `body` gets the clipped gradient, the old weight
/// and the moments, and returns the new weight and moments. `buffers` are in
/// the order of usesOfUpdate. Where the factor that clips is 0, everything
/// stays as it was.
static void lowerUpdate(
    LinalgBuilder &l, bool master, ArrayRef<Value> buffers, Value clip,
    SmallVectorImpl<Value> &next,
    function_ref<SmallVector<Value>(Scalars &, Value, Value, ValueRange)>
        body) {
  Value param = buffers[0], old = buffers[master ? 2 : 0];
  ArrayRef<Value> moments = buffers.drop_front(master ? 3 : 2);
  SmallVector<LinalgBuilder::Input> inputs{l.whole(buffers[1]), l.whole(old)};
  SmallVector<Type> elements{elementOf(param)};
  if (master)
    elements.push_back(elementOf(old));
  for (Value moment : moments) {
    inputs.push_back(l.whole(moment));
    elements.push_back(elementOf(moment));
  }
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  next =
      l.mapAll(shapeOf(param), inputs, elements, [&](Scalars &s, ValueRange x) {
        Value g = clip ? s.mul(x.back(), x[0]) : x[0];
        SmallVector<Value> out = body(s, g, x[1], x.slice(2, moments.size()));
        if (clip) {
          Value skipped = isSkipped(s, x.back());
          for (auto [value, before] :
               llvm::zip(out, x.slice(1, 1 + moments.size())))
            value = s.select(skipped, before, value);
        }
        if (master)
          out.insert(out.begin(), out[0]);
        return out;
      });
}

namespace {
/// Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019), in the
/// order of operations of torch.optim.AdamW: the weight decays before it is
/// updated, and eps is added after the correction of v.
struct AdamWBody {
  template <typename Op>
  AdamWBody(Op op, LinalgBuilder &l, OpBuilder &b, Value lr, Value step)
      : beta1(op.getBetas()[0]), beta2(op.getBetas()[1]),
        eps(op.getEps().convertToDouble()) {
    // Values shared by all elements, computed once, in f64.
    Location loc = op.getLoc();
    Scalars d(b, loc, b.getF64Type());
    Value rate = convertFloat(b, loc, lr, d.compute);
    double decay = op.getWeightDecay().convertToDouble();
    keep = d.sub(d.f(1), d.mul(rate, d.f(decay)));
    stepSize = d.div(rate, d.sub(d.f(1), powerOfStep(d, beta1, step)));
    root = d.sqrt(d.sub(d.f(1), powerOfStep(d, beta2, step)));
    keep = convertFloat(b, loc, keep, l.compute);
    stepSize = convertFloat(b, loc, stepSize, l.compute);
    root = convertFloat(b, loc, root, l.compute);
  }
  SmallVector<Value> operator()(Scalars &s, Value g, Value w,
                                ValueRange moments) const {
    w = s.mul(w, keep);
    Value first =
        s.add(s.mul(s.f(beta1), moments[0]), s.mul(s.f(1 - beta1), g));
    Value second = s.add(s.mul(s.f(beta2), moments[1]),
                         s.mul(s.f(1 - beta2), s.mul(g, g)));
    Value denominator = s.add(s.div(s.sqrt(second), root), s.f(eps));
    w = s.sub(w, s.mul(stepSize, s.div(first, denominator)));
    return {w, first, second};
  }
  double beta1, beta2, eps;
  Value keep, stepSize, root;
};
} // namespace

SmallVector<BufferUse> AdamWOp::getBufferUses() {
  return usesOfUpdate(getMaster(),
                      {ParameterBuffer::ExpAvg, ParameterBuffer::ExpAvgSq});
}

void AdamWOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                          ArrayRef<Value> buffers, ValueRange operands,
                          SmallVectorImpl<Value> &next,
                          SmallVectorImpl<Value> &) {
  LinalgBuilder l(b, getLoc(), {buffers[0].getType()});
  AdamWBody body(*this, l, b, operands[0], operands[1]);
  lowerUpdate(l, getMaster(), buffers, getClip() ? operands[2] : Value(), next,
              body);
}

SmallVector<BufferUse> AdamW8bitOp::getBufferUses() {
  return usesOfUpdate(getMaster(), {ParameterBuffer::ExpAvgCodes,
                                    ParameterBuffer::ExpAvgScales,
                                    ParameterBuffer::ExpAvgSqCodes,
                                    ParameterBuffer::ExpAvgSqScales});
}

// In three generics over blocks: the moments' values and the update, the
// largest magnitude of each block, and the codes.
void AdamW8bitOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                              ArrayRef<Value> buffers, ValueRange operands,
                              SmallVectorImpl<Value> &next,
                              SmallVectorImpl<Value> &) {
  LinalgBuilder l(b, getLoc(), {buffers[0].getType()});
  AdamWBody body(*this, l, b, operands[0], operands[1]);
  const bool master = getMaster();
  Value clip = getClip() ? operands[2] : Value();
  ArrayRef<int64_t> own = shapeOf(buffers[0]);
  ArrayRef<Value> states = buffers.drop_front(master ? 3 : 2);
  SmallVector<int64_t> blocks(shapeOf(states[0]));
  auto inBlocks = [&](Value v) { return l.whole(l.reshape(v, blocks)); };

  SmallVector<LinalgBuilder::Input> inputs{inBlocks(buffers[1]),
                                           inBlocks(buffers[master ? 2 : 0])};
  SmallVector<Type> elements{elementOf(buffers[0])};
  if (master)
    elements.push_back(elementOf(buffers[2]));
  for (int moment : {0, 1}) {
    inputs.push_back(l.whole(states[2 * moment]));
    inputs.push_back(l.at(states[2 * moment + 1], {0}));
    elements.push_back(b.getF32Type());
  }
  if (clip)
    inputs.push_back(scalarInput(l, clip));
  SmallVector<Value> made =
      l.mapAll(blocks, inputs, elements, [&](Scalars &s, ValueRange x) {
        Value g = clip ? s.mul(x.back(), x[0]) : x[0];
        SmallVector<Value, 2> moments;
        for (int moment : {0, 1}) {
          Value code = arith::ExtUIOp::create(s.b, s.loc, s.b.getI32Type(),
                                              x[2 + 2 * moment]);
          moments.push_back(s.mul(DynamicMap(s, moment == 0).decode(code),
                                  x[3 + 2 * moment]));
        }
        SmallVector<Value> out = body(s, g, x[1], moments);
        if (clip)
          out[0] = s.select(isSkipped(s, x.back()), x[1], out[0]);
        if (master)
          out.insert(out.begin(), out[0]);
        return out;
      });
  for (Value whole : ArrayRef(made).drop_back(2))
    next.push_back(l.reshape(whole, own));
  for (int moment : {0, 1}) {
    Value value = made[made.size() - 2 + moment];
    Value scale =
        l.reduce(blocks, {1}, {l.whole(value)}, b.getF32FloatAttr(0),
                 [](Scalars &s, ValueRange x) {
                   return s.max(math::AbsFOp::create(s.b, s.loc, x[0]), x[1]);
                 });
    SmallVector<LinalgBuilder::Input> parts{l.whole(value), l.at(scale, {0}),
                                            l.whole(states[2 * moment])};
    if (clip)
      parts.push_back(scalarInput(l, clip));
    next.push_back(
        l.map(blocks, parts, b.getI8Type(), [&](Scalars &s, ValueRange x) {
          // As bitsandbytes has it. A block of zeros has any codes.
          Value least = s.max(x[1], s.f(1e-38));
          Value part = s.mul(x[0], s.div(s.f(1), least));
          Value code = DynamicMap(s, moment == 0).encode(part);
          code = arith::TruncIOp::create(s.b, s.loc, s.b.getI8Type(), code);
          return clip ? s.select(isSkipped(s, x.back()), x[2], code) : code;
        }));
    if (clip)
      scale = l.map({blocks[0]},
                    {l.whole(scale), l.whole(states[2 * moment + 1]),
                     scalarInput(l, clip)},
                    b.getF32Type(), [&](Scalars &s, ValueRange x) {
                      return s.select(isSkipped(s, x[2]), x[1], x[0]);
                    });
    next.push_back(scale);
  }
}

SmallVector<BufferUse> LionOp::getBufferUses() {
  return usesOfUpdate(getMaster(), {ParameterBuffer::ExpAvg});
}

void LionOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                         ArrayRef<Value> buffers, ValueRange operands,
                         SmallVectorImpl<Value> &next,
                         SmallVectorImpl<Value> &) {
  Location loc = getLoc();
  LinalgBuilder l(b, loc, {buffers[0].getType()});
  double beta1 = getBetas()[0], beta2 = getBetas()[1];
  Scalars d(b, loc, b.getF64Type());
  Value rate = convertFloat(b, loc, operands[0], d.compute);
  Value keep =
      d.sub(d.f(1), d.mul(rate, d.f(getWeightDecay().convertToDouble())));
  keep = convertFloat(b, loc, keep, l.compute);
  rate = convertFloat(b, loc, rate, l.compute);
  lowerUpdate(l, getMaster(), buffers, getClip() ? operands[1] : Value(), next,
              [&](Scalars &s, Value g, Value w, ValueRange moments) {
                Value m = moments[0];
                Value mixed =
                    s.add(s.mul(s.f(beta1), m), s.mul(s.f(1 - beta1), g));
                auto is = [&](arith::CmpFPredicate p) {
                  return arith::CmpFOp::create(s.b, s.loc, p, mixed, s.f(0));
                };
                // A NaN is neither above 0 nor below, and stays.
                Value sign =
                    s.select(is(arith::CmpFPredicate::OGT), s.f(1), mixed);
                sign = s.select(is(arith::CmpFPredicate::OLT), s.f(-1), sign);
                w = s.sub(s.mul(w, keep), s.mul(rate, sign));
                m = s.add(s.mul(s.f(beta2), m), s.mul(s.f(1 - beta2), g));
                return SmallVector<Value>{w, m};
              });
}

SmallVector<BufferUse> SgdOp::getBufferUses() {
  SmallVector<ParameterBuffer, 1> moments;
  if (getMomentum())
    moments.push_back(ParameterBuffer::Momentum);
  return usesOfUpdate(getMaster(), moments);
}

void SgdOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                        ArrayRef<Value> buffers, ValueRange operands,
                        SmallVectorImpl<Value> &next,
                        SmallVectorImpl<Value> &) {
  LinalgBuilder l(b, getLoc(), {buffers[0].getType()});
  Value rate = convertFloat(b, getLoc(), operands[0], l.compute);
  std::optional<APFloat> momentum = getMomentum(), decay = getWeightDecay();
  lowerUpdate(l, getMaster(), buffers, getClip() ? operands[1] : Value(), next,
              [&](Scalars &s, Value g, Value w, ValueRange moments) {
                if (decay)
                  g = s.add(g, s.mul(s.f(decay->convertToDouble()), w));
                SmallVector<Value> out;
                if (momentum) {
                  g = s.add(s.mul(s.f(momentum->convertToDouble()), moments[0]),
                            g);
                  out.push_back(g);
                }
                out.insert(out.begin(), s.sub(w, s.mul(rate, g)));
                return out;
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
