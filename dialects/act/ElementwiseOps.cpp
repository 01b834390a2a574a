// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of the elementwise ops.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

// Floating-point operations per element; a transcendental counts as one.
#define ELEMENTWISE_COST(OP, PER_ELEMENT)                                      \
  int64_t OP::getFlops() {                                                     \
    return flopsProduct({PER_ELEMENT, elementCount(cast<RankedTensorType>(     \
                                          (*this)->getResult(0).getType()))}); \
  }                                                                            \
  CostClass OP::getCostClass() { return CostClass::Cheap; }

ELEMENTWISE_COST(AddOp, 1)
ELEMENTWISE_COST(SubOp, 1)
ELEMENTWISE_COST(MulOp, 1)
ELEMENTWISE_COST(DivOp, 1)
ELEMENTWISE_COST(ScaleOp, 1)
ELEMENTWISE_COST(CastOp, 0)
ELEMENTWISE_COST(SelectOp, 0)
ELEMENTWISE_COST(AndOp, 0)
ELEMENTWISE_COST(NotOp, 0)
ELEMENTWISE_COST(SiluOp, 4)
ELEMENTWISE_COST(GeluOp, 5)
ELEMENTWISE_COST(GeluNewOp, 8)
ELEMENTWISE_COST(TanhOp, 1)
ELEMENTWISE_COST(SwigluOp, 5)
ELEMENTWISE_COST(GegluOp, 6)
ELEMENTWISE_COST(ActivationGradOp, 8)
ELEMENTWISE_COST(TanhGradOp, 3)
ELEMENTWISE_COST(GluGradOp, 11)
ELEMENTWISE_COST(DropoutOp, 1)
bool DropoutOp::isElementwise() { return true; }

static RankedTensorType typeOf(Value v) {
  return cast<RankedTensorType>(v.getType());
}

// Operands may have been broadcast. Each gets the sum of the gradient over the
// dimensions that its broadcast added.
LogicalResult AddOp::buildGradient(OpBuilder &b, ValueRange dy,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = sumToType(b, dy[0], typeOf(getLhs()));
  if (needed[1])
    dx[1] = sumToType(b, dy[0], typeOf(getRhs()));
  return success();
}

LogicalResult SubOp::buildGradient(OpBuilder &b, ValueRange dy,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = sumToType(b, dy[0], typeOf(getLhs()));
  if (needed[1])
    dx[1] = sumToType(
        b, ScaleOp::create(b, getLoc(), dy[0], b.getF64FloatAttr(-1.0)),
        typeOf(getRhs()));
  return success();
}

LogicalResult MulOp::buildGradient(OpBuilder &b, ValueRange dy,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = sumToType(
        b, MulOp::create(b, getLoc(), dy[0].getType(), dy[0], getRhs()),
        typeOf(getLhs()));
  if (needed[1])
    dx[1] = sumToType(
        b, MulOp::create(b, getLoc(), dy[0].getType(), dy[0], getLhs()),
        typeOf(getRhs()));
  return success();
}

LogicalResult DivOp::buildGradient(OpBuilder &b, ValueRange dy,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &dx) {
  Value overRhs = DivOp::create(b, getLoc(), dy[0].getType(), dy[0], getRhs());
  if (needed[0])
    dx[0] = sumToType(b, overRhs, typeOf(getLhs()));
  if (needed[1]) {
    // d(l / r)/dr = -(l / r) / r
    Value q =
        DivOp::create(b, getLoc(), getResult().getType(), getLhs(), getRhs());
    Value product = MulOp::create(b, getLoc(), dy[0].getType(), overRhs, q);
    dx[1] = sumToType(
        b, ScaleOp::create(b, getLoc(), product, b.getF64FloatAttr(-1.0)),
        typeOf(getRhs()));
  }
  return success();
}

LogicalResult ScaleOp::buildGradient(OpBuilder &b, ValueRange dy,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = ScaleOp::create(b, getLoc(), dy[0], getFactorAttr());
  return success();
}

// A cast from integers has no gradient: integers are not differentiable.
LogicalResult CastOp::buildGradient(OpBuilder &b, ValueRange dy,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &dx) {
  auto from = typeOf(getInput());
  if (needed[0] && isa<FloatType>(from.getElementType()))
    dx[0] = castTo(b, dy[0], from);
  return success();
}

// The gradient goes to the operand that was chosen, and zero to the other. The
// condition has none.
LogicalResult SelectOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  auto element = typeOf(dy[0]).getElementType();
  Value zero =
      ConstantOp::create(b, getLoc(), RankedTensorType::get({}, element), 0.0);
  if (needed[1])
    dx[1] = sumToType(b,
                      SelectOp::create(b, getLoc(), dy[0].getType(),
                                       getCondition(), dy[0], zero),
                      typeOf(getIfTrue()));
  if (needed[2])
    dx[2] = sumToType(b,
                      SelectOp::create(b, getLoc(), dy[0].getType(),
                                       getCondition(), zero, dy[0]),
                      typeOf(getIfFalse()));
  return success();
}

static LogicalResult activationGradient(Operation *op, Activation kind,
                                        OpBuilder &b, Value dy, Value &dx) {
  dx = ActivationGradOp::create(b, op->getLoc(), kind, dy, op->getOperand(0));
  return success();
}

#define ACTIVATION_GRADIENT(OP, KIND)                                          \
  LogicalResult OP::buildGradient(OpBuilder &b, ValueRange dy,                 \
                                  ArrayRef<bool> needed,                       \
                                  SmallVectorImpl<Value> &dx) {                \
    return needed[0] ? activationGradient(*this, KIND, b, dy[0], dx[0])        \
                     : success();                                              \
  }
ACTIVATION_GRADIENT(SiluOp, Activation::Silu)
ACTIVATION_GRADIENT(GeluOp, Activation::Gelu)
ACTIVATION_GRADIENT(GeluNewOp, Activation::GeluNew)

// The slope is 1 - y^2: only the result is saved.
LogicalResult TanhOp::buildGradient(OpBuilder &b, ValueRange dy,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = TanhGradOp::create(b, getLoc(), dy[0], getResult());
  return success();
}

// One op for both gradients: they share the activation of the gate.
static LogicalResult gluGradient(Operation *op, Activation kind, OpBuilder &b,
                                 Value dy, ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &dx) {
  auto grad = GluGradOp::create(b, op->getLoc(), kind, dy, op->getOperand(0),
                                op->getOperand(1));
  if (needed[0])
    dx[0] = grad.getDGate();
  if (needed[1])
    dx[1] = grad.getDUp();
  return success();
}

LogicalResult SwigluOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  return gluGradient(*this, Activation::Silu, b, dy[0], needed, dx);
}
LogicalResult SwigluOp::decompose(OpBuilder &b,
                                  SmallVectorImpl<Value> &results) {
  Value s = SiluOp::create(b, getLoc(), getGate());
  results.push_back(
      MulOp::create(b, getLoc(), getResult().getType(), s, getUp()));
  return success();
}

LogicalResult GegluOp::buildGradient(OpBuilder &b, ValueRange dy,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &dx) {
  return gluGradient(*this, getTanh() ? Activation::GeluNew : Activation::Gelu,
                     b, dy[0], needed, dx);
}
LogicalResult GegluOp::decompose(OpBuilder &b,
                                 SmallVectorImpl<Value> &results) {
  Value s = getTanh() ? Value(GeluNewOp::create(b, getLoc(), getGate()))
                      : Value(GeluOp::create(b, getLoc(), getGate()));
  results.push_back(
      MulOp::create(b, getLoc(), getResult().getType(), s, getUp()));
  return success();
}

// The mask is not saved: the same seed, step and site draw it again.
LogicalResult DropoutOp::buildGradient(OpBuilder &b, ValueRange dy,
                                       ArrayRef<bool> needed,
                                       SmallVectorImpl<Value> &dx) {
  if (needed[0])
    dx[0] = DropoutOp::create(b, getLoc(), dy[0], getPAttr(), getSeed(),
                              getStep(), getSite());
  return success();
}
