// SPDX-License-Identifier: Apache-2.0
// The primitives of attention. AttentionLowering.cpp has the whole op, tiled.
#include "dialects/act/KernelForm.h"
#include "dialects/act/LinalgBuilder.h"
#include <cmath>

using namespace mlir;
using namespace act;

// cu_seqlens[n] for all n: the number of boundaries at or before token i. It is
// equal within a sequence and differs between sequences; repeated last
// boundaries count equally for all tokens after them.
static Value sequenceNumber(LinalgBuilder &l, Value boundaries,
                            int64_t tokens) {
  OpBuilder &b = l.b;
  int64_t count = shapeOf(boundaries)[0];
  return l.reduce(
      {tokens, count}, {1}, {l.at(boundaries, {1})}, b.getI32IntegerAttr(0),
      [&](Scalars &s, ValueRange x) -> Value {
        Value token =
            arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(), s.loop(0));
        Value before = arith::CmpIOp::create(
            s.b, s.loc, arith::CmpIPredicate::sle, x[0], token);
        Value one =
            arith::ExtUIOp::create(s.b, s.loc, s.b.getI32Type(), before);
        return arith::AddIOp::create(s.b, s.loc, x[1], one);
      },
      b.getI32Type());
}

LogicalResult PositionsOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {type});
  int64_t tokens = type.getNumElements();
  SmallVector<LinalgBuilder::Input> in;
  if (!operands.empty()) {
    // The start of token i's sequence: the last boundary that is not past it.
    Value start = l.reduce(
        {tokens, shapeOf(operands[0])[0]}, {1}, {l.at(operands[0], {1})},
        b.getI32IntegerAttr(0),
        [&](Scalars &s, ValueRange x) -> Value {
          Value token = arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(),
                                                   s.loop(0));
          Value before = arith::CmpIOp::create(
              s.b, s.loc, arith::CmpIPredicate::sle, x[0], token);
          Value here = s.select(before, x[0], s.i32(0));
          return arith::MaxSIOp::create(s.b, s.loc, x[1], here);
        },
        b.getI32Type());
    in.push_back(l.whole(start));
  }
  Value out = l.map(
      {tokens}, in, b.getI32Type(), [&](Scalars &s, ValueRange x) -> Value {
        Value token =
            arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(), s.loop(0));
        if (x.empty())
          return token;
        return arith::SubIOp::create(s.b, s.loc, token, x[0]);
      });
  results.push_back(l.reshape(out, type.getShape()));
  return success();
}

LogicalResult CausalMaskOp::lowerToLinalg(OpBuilder &b, ValueRange,
                                          SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {type});
  int64_t q = type.getRank() - 2, kv = q + 1;
  int64_t shift = getTopLeft() ? 0 : type.getDimSize(kv) - type.getDimSize(q);
  results.push_back(l.map(
      type.getShape(), {}, b.getI1Type(), [&](Scalars &s, ValueRange) -> Value {
        // The key's distance past the last one that the query may see.
        Value i = arith::AddIOp::create(s.b, s.loc, s.loop64(q), s.i64(shift));
        Value behind = arith::SubIOp::create(s.b, s.loc, i, s.loop64(kv));
        Value seen = arith::CmpIOp::create(
            s.b, s.loc, arith::CmpIPredicate::sge, behind, s.i64(0));
        if (!getWindow())
          return seen;
        Value near = arith::CmpIOp::create(
            s.b, s.loc, arith::CmpIPredicate::slt, behind, s.i64(*getWindow()));
        return arith::AndIOp::create(s.b, s.loc, seen, near);
      }));
  return success();
}

LogicalResult SegmentMaskOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {type});
  int64_t q = type.getRank() - 2, kv = q + 1;
  Value rows = sequenceNumber(l, operands[0], type.getDimSize(q));
  Value columns = type.getDimSize(q) == type.getDimSize(kv)
                      ? rows
                      : sequenceNumber(l, operands[0], type.getDimSize(kv));
  results.push_back(l.map(
      type.getShape(), {l.at(rows, {q}), l.at(columns, {kv})}, b.getI1Type(),
      [](Scalars &s, ValueRange x) { return s.eq(x[0], x[1]); }));
  return success();
}

namespace {
/// A tensor with one dimension singled out: the others are a row's address.
struct Along {
  Along(Value tensor, int64_t dim) : shape(shapeOf(tensor)), axis(dim) {
    for (int64_t i = 0, e = shape.size(); i < e; ++i)
      if (i != axis)
        rest.push_back(i);
  }
  ArrayRef<int64_t> shape;
  int64_t axis;
  SmallVector<int64_t> rest;
};
} // namespace

LogicalResult SoftmaxOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  Value input = operands[0];
  Along a(input, getAxis());
  LinalgBuilder l(b, getLoc(), {input.getType()});
  Value most = l.maximum(a.shape, {a.axis}, l.whole(input));
  Value powers = l.map(a.shape, {l.whole(input), l.at(most, a.rest)}, l.compute,
                       [](Scalars &s, ValueRange x) {
                         // -inf - -inf would be NaN.
                         Value shift = s.select(s.isNegInf(x[1]), s.f(0), x[1]);
                         return s.exp(s.sub(x[0], shift));
                       });
  Value total = l.sum(a.shape, {a.axis}, {l.whole(powers)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  results.push_back(l.map(a.shape, {l.whole(powers), l.at(total, a.rest)},
                          elementOf(input), [](Scalars &s, ValueRange x) {
                            Value none = arith::CmpFOp::create(
                                s.b, s.loc, arith::CmpFPredicate::OEQ, x[1],
                                s.f(0));
                            return s.div(x[0], s.select(none, s.f(1), x[1]));
                          }));
  return success();
}

LogicalResult SoftmaxGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  Value grad = operands[0], output = operands[1];
  Along a(grad, getAxis());
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  Value dot = l.sum(a.shape, {a.axis}, {l.whole(grad), l.whole(output)},
                    [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  results.push_back(l.map(
      a.shape, {l.whole(grad), l.whole(output), l.at(dot, a.rest)},
      getResult().getType().getElementType(),
      [](Scalars &s, ValueRange x) { return s.mul(x[1], s.sub(x[0], x[2])); }));
  return success();
}

// The frequencies in f32, in the same order of operations as transformers
// (modeling_rope_utils.py), so that a model gets the angles it was trained
// with.
static SmallVector<float> inverseFrequencies(RopeTableOp op, int64_t pairs) {
  SmallVector<float> out;
  if (auto given = op.getFrequencies()) {
    for (double f : *given)
      out.push_back(float(f));
    return out;
  }
  float theta = op.getTheta().convertToDouble();
  float dim = 2 * pairs;
  for (int64_t i = 0; i < pairs; ++i) {
    float exponent = float(2 * i) / dim;
    float power = std::pow(double(theta), double(exponent));
    float f = 1.0f / power;
    if (op.getLinear())
      f /= float(op.getLinear()->convertToDouble());
    if (auto llama = op.getLlama3()) {
      ArrayRef<double> p = *llama;
      float factor = p[0], low = p[1], high = p[2], original = p[3];
      float wavelength = float(2 * M_PI) / f;
      float scaled = wavelength > original / low ? f / factor : f;
      float blend = (original / wavelength - low) / (high - low);
      bool medium =
          !(wavelength < original / high) && !(wavelength > original / low);
      f = medium ? (1 - blend) * scaled / factor + blend * scaled : scaled;
    }
    out.push_back(f);
  }
  return out;
}

LogicalResult RopeTableOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getCos().getType());
  int64_t pair = type.getRank() - 1;
  SmallVector<float> table = inverseFrequencies(*this, type.getDimSize(pair));
  Value frequencies = arith::ConstantOp::create(
      b, getLoc(),
      DenseElementsAttr::get(
          RankedTensorType::get({int64_t(table.size())}, b.getF32Type()),
          ArrayRef<float>(table)));
  // Angles are f32; their cosines and sines are computed in f64 and then
  // rounded, so that all but about one in a thousand are exact to the last bit.
  LinalgBuilder l(b, getLoc(), {b.getF32Type()});
  Type element = type.getElementType();
  Value positions = operands[0];
  SmallVector<int64_t> lead = llvm::to_vector(llvm::seq<int64_t>(0, pair));
  llvm::append_range(
      results,
      l.mapAll(
          type.getShape(), {l.at(positions, lead), l.at(frequencies, {pair})},
          {element, element}, [&](Scalars &s, ValueRange x) {
            Value position =
                arith::SIToFPOp::create(s.b, s.loc, s.compute, x[0]);
            Value angle = convertFloat(s.b, s.loc, s.mul(position, x[1]),
                                       s.b.getF64Type());
            Value cos = math::CosOp::create(s.b, s.loc, angle);
            Value sin = math::SinOp::create(s.b, s.loc, angle);
            if (auto scaled = getScaled()) {
              Value factor = arith::ConstantOp::create(
                  s.b, s.loc, s.b.getF64FloatAttr(scaled->convertToDouble()));
              cos = arith::MulFOp::create(s.b, s.loc, cos, factor);
              sin = arith::MulFOp::create(s.b, s.loc, sin, factor);
            }
            return SmallVector<Value>{cos, sin};
          }));
  return success();
}

// The result's last dimension split as (half, pair) or (pair, half): both
// halves of the input are read at every element of either, so that one generic
// with plain maps makes the result.
LogicalResult RopeOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                    SmallVectorImpl<Value> &results) {
  Value input = operands[0];
  SmallVector<int64_t> shape(shapeOf(input));
  int64_t rank = shape.size(), d = shape.back(), token = getTokenDim();
  bool interleaved = getInterleaved();
  int64_t pair = interleaved ? rank - 1 : rank,
          half = interleaved ? rank : rank - 1;
  SmallVector<int64_t> split(shape);
  split.pop_back();
  split.append({interleaved ? d / 2 : 2, interleaved ? 2 : d / 2});
  LinalgBuilder l(b, getLoc(), operands.getTypes());
  Value pairs = l.reshape(input, split);
  SmallVector<int64_t> without(shape);
  SmallVector<int64_t> loops = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  without.back() = d / 2;
  loops.push_back(pair);
  auto part = [&](int64_t index) {
    Value slice = l.slice(pairs, half, index, 1);
    return l.at(l.reshape(slice, without), loops);
  };
  // Tables of one row per token, or per (batch, token).
  int64_t tableRank = shapeOf(operands[1]).size();
  SmallVector<int64_t> tableLoops;
  if (tableRank > 2)
    for (int64_t i = 0; i < tableRank - 2; ++i)
      tableLoops.push_back(i);
  tableLoops.append({token, pair});
  bool inverse = getInverse();
  Value out =
      l.map(split,
            {part(0), part(1), l.at(operands[1], tableLoops),
             l.at(operands[2], tableLoops)},
            elementOf(input), [&](Scalars &s, ValueRange x) {
              Value sine = inverse ? s.neg(x[3]) : x[3];
              Value first = s.sub(s.mul(x[0], x[2]), s.mul(x[1], sine));
              Value second = s.add(s.mul(x[1], x[2]), s.mul(x[0], sine));
              Value isFirst =
                  arith::CmpIOp::create(s.b, s.loc, arith::CmpIPredicate::eq,
                                        s.loop(half), s.index(0));
              return s.select(isFirst, first, second);
            });
  results.push_back(l.reshape(out, shape));
  return success();
}

/// The value of another op of the group that a rope reads, before reshapes;
/// null if it reads an operand of the group, or a view of one.
static Value madeForRope(RopeOp rope) {
  Value v = beforeReshapes(rope.getInput());
  Operation *made = v.getDefiningOp();
  return made && !isFree(made) && isa<GroupOp>(rope->getParentOp()) ? v
                                                                    : Value();
}

// A GPU runs a product and its rope in one kernel. The host runs two: the first
// hands the product over in a workspace.
SmallVector<KernelStage> RopeOp::getStages(LinalgForm form) {
  if (form == LinalgForm::Sums || !madeForRope(*this))
    return {};
  return {{KernelStage::Main}, {KernelStage::Last}};
}

SmallVector<RankedTensorType> RopeOp::getWorkspaceTypes() {
  Value made = madeForRope(*this);
  if (!made)
    return {};
  return {cast<RankedTensorType>(made.getType())};
}

LogicalResult RopeOp::lowerStage(StageBuilder &stage, unsigned number) {
  if (number == 0) {
    stage.write(0, stage.lookup(madeForRope(*this)));
    return success();
  }
  SmallVector<Value> operands = stage.operands(*this), results;
  LinalgBuilder l(stage.b, getLoc(), getInput().getType());
  operands[0] = l.reshape(stage.read(0), getInput().getType().getShape());
  if (failed(lowerToLinalg(stage.b, operands, results)))
    return failure();
  stage.set(getResult(), results[0]);
  return success();
}
