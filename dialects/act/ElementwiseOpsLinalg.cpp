// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops as scalars. An op states its scalar form once (emitScalar),
// and fused kernels inline the same form.
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/Philox.h"
#include <cmath>

using namespace mlir;
using namespace act;

static Scalars scalarsOf(Operation *op, OpBuilder &b, Location loc) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return Scalars(b, loc, commonComputeType(types));
}

#define ACT_ELEMENTWISE(OP)                                                    \
  LogicalResult OP::lowerToLinalg(OpBuilder &b, ValueRange operands,           \
                                  SmallVectorImpl<Value> &results) {           \
    return lowerElementwise(*this, b, operands, results);                      \
  }                                                                            \
  void OP::emitScalar(OpBuilder &b, Location loc, ValueRange x,                \
                      SmallVectorImpl<Value> &results)

#define ACT_ARITHMETIC(OP, NAME)                                               \
  ACT_ELEMENTWISE(OP) {                                                        \
    results.push_back(scalarsOf(*this, b, loc).NAME(x[0], x[1]));              \
  }

ACT_ARITHMETIC(AddOp, add)
ACT_ARITHMETIC(SubOp, sub)
ACT_ARITHMETIC(MulOp, mul)
ACT_ARITHMETIC(DivOp, div)

ACT_ELEMENTWISE(ScaleOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(s.mul(s.f(getFactor().convertToDouble()), x[0]));
}

ACT_ELEMENTWISE(CastOp) {
  Type from = getInput().getType().getElementType();
  Type to = getResult().getType().getElementType();
  Scalars s = scalarsOf(*this, b, loc);
  if (isa<FloatType>(to)) {
    if (isa<FloatType>(from))
      results.push_back(x[0]);
    else if (from.isInteger(1))
      results.push_back(arith::UIToFPOp::create(b, loc, s.compute, x[0]));
    else
      results.push_back(arith::SIToFPOp::create(b, loc, s.compute, x[0]));
    return;
  }
  if (from == to)
    results.push_back(x[0]);
  else if (from.isInteger(1))
    results.push_back(arith::ExtUIOp::create(b, loc, to, x[0]));
  else if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    results.push_back(arith::ExtSIOp::create(b, loc, to, x[0]));
  else
    results.push_back(arith::TruncIOp::create(b, loc, to, x[0]));
}

ACT_ELEMENTWISE(SelectOp) {
  results.push_back(arith::SelectOp::create(b, loc, x[0], x[1], x[2]));
}

ACT_ELEMENTWISE(AndOp) {
  results.push_back(arith::AndIOp::create(b, loc, x[0], x[1]));
}

ACT_ELEMENTWISE(NotOp) {
  Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  results.push_back(arith::XOrIOp::create(b, loc, x[0], one));
}

/// Gelu is the exact form with erf. GeluNew is its approximation by tanh
/// (Hendrycks and Gimpel 2016), which GPT-2 uses.
static Value activation(Scalars &s, Activation kind, Value x) {
  switch (kind) {
  case Activation::Silu:
    return s.div(x, s.add(s.f(1), s.exp(s.neg(x))));
  case Activation::Gelu:
    return s.mul(s.mul(s.f(0.5), x),
                 s.add(s.f(1), s.erf(s.mul(x, s.f(M_SQRT1_2)))));
  case Activation::GeluNew:
    break;
  }
  Value cube = s.mul(s.mul(x, x), x);
  Value inner =
      s.mul(s.f(std::sqrt(2 / M_PI)), s.add(x, s.mul(s.f(0.044715), cube)));
  return s.mul(s.mul(s.f(0.5), x), s.add(s.f(1), s.tanh(inner)));
}

/// d activation / dx, each with the formula of `activation`.
static Value activationSlope(Scalars &s, Activation kind, Value x) {
  switch (kind) {
  case Activation::Silu: {
    Value y = s.sigmoid(x);
    return s.mul(y, s.add(s.f(1), s.mul(x, s.sub(s.f(1), y))));
  }
  case Activation::Gelu: {
    Value cdf = s.mul(s.f(0.5), s.add(s.f(1), s.erf(s.mul(x, s.f(M_SQRT1_2)))));
    Value pdf = s.mul(s.f(1 / std::sqrt(2 * M_PI)),
                      s.exp(s.mul(s.f(-0.5), s.mul(x, x))));
    return s.add(cdf, s.mul(x, pdf));
  }
  case Activation::GeluNew:
    break;
  }
  double k = std::sqrt(2 / M_PI);
  Value square = s.mul(x, x);
  Value inner = s.mul(s.f(k), s.add(x, s.mul(s.f(0.044715), s.mul(square, x))));
  Value t = s.tanh(inner);
  Value slope = s.mul(s.f(k), s.add(s.f(1), s.mul(s.f(3 * 0.044715), square)));
  Value left = s.mul(s.f(0.5), s.add(s.f(1), t));
  Value right =
      s.mul(s.mul(s.f(0.5), x), s.mul(s.sub(s.f(1), s.mul(t, t)), slope));
  return s.add(left, right);
}

ACT_ELEMENTWISE(SiluOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(activation(s, Activation::Silu, x[0]));
}
ACT_ELEMENTWISE(GeluOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(activation(s, Activation::Gelu, x[0]));
}
ACT_ELEMENTWISE(GeluNewOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(activation(s, Activation::GeluNew, x[0]));
}
ACT_ELEMENTWISE(TanhOp) {
  results.push_back(scalarsOf(*this, b, loc).tanh(x[0]));
}
ACT_ELEMENTWISE(SwigluOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(s.mul(activation(s, Activation::Silu, x[0]), x[1]));
}
ACT_ELEMENTWISE(GegluOp) {
  Scalars s = scalarsOf(*this, b, loc);
  Activation kind = getTanh() ? Activation::GeluNew : Activation::Gelu;
  results.push_back(s.mul(activation(s, kind, x[0]), x[1]));
}
ACT_ELEMENTWISE(ActivationGradOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(s.mul(activationSlope(s, getKind(), x[1]), x[0]));
}
ACT_ELEMENTWISE(TanhGradOp) {
  Scalars s = scalarsOf(*this, b, loc);
  results.push_back(s.mul(s.sub(s.f(1), s.mul(x[1], x[1])), x[0]));
}
ACT_ELEMENTWISE(GluGradOp) {
  Scalars s = scalarsOf(*this, b, loc);
  Value slope = activationSlope(s, getKind(), x[1]);
  results.push_back(s.mul(s.mul(slope, x[2]), x[0]));
  results.push_back(s.mul(activation(s, getKind(), x[1]), x[0]));
}

/// An element's random number belongs to its row-major index. So the gradient,
/// which is the same op on dy, drops the same elements.
LogicalResult DropoutOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  Value input = operands[0];
  ArrayRef<int64_t> shape = shapeOf(input);
  LinalgBuilder l(b, getLoc(), {input.getType()});
  double p = getP().convertToDouble();
  PhiloxKey key =
      preparePhilox(b, getLoc(), operands[1], operands[2], operands[3]);
  results.push_back(l.map(
      shape, {l.whole(input)}, elementOf(input), [&](Scalars &s, ValueRange x) {
        Value index = s.i64(0);
        for (size_t i = 0; i < shape.size(); ++i) {
          index = arith::MulIOp::create(s.b, s.loc, index, s.i64(shape[i]));
          index = arith::AddIOp::create(s.b, s.loc, index, s.loop64(i));
        }
        Value keep = philoxAtLeast(s, key, index, p);
        return s.select(keep, s.mul(x[0], s.f(1 / (1 - p))), s.f(0));
      }));
  return success();
}
