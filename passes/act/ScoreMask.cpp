// SPDX-License-Identifier: Apache-2.0
#include "passes/act/ScoreMask.h"

using namespace mlir;

namespace act {

// -1e4 as bf16 rounds it.
static constexpr double forbidding = -9984;

// The constant behind `value`, if there is nothing but views and casts between.
static ElementsAttr constantBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op))
      return constant.getValue();
    if (!isa<ReshapeOp, TransposeOp, ExpandOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {};
}

std::optional<double> splatValue(Value value) {
  ElementsAttr elements = constantBehind(value);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  Type type = elements.getElementType();
  if (isa<FloatType>(type)) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool loses;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  if (auto integer = dyn_cast<IntegerType>(type)) {
    APInt number = elements.getSplatValue<APInt>();
    return integer.getWidth() == 1 ? double(number.getZExtValue())
                                   : double(number.getSExtValue());
  }
  return std::nullopt;
}

static bool sameShapeAs(Value value, Operation *op) {
  return sameShape(dimsOf(cast<RankedTensorType>(value.getType())),
                   dimsOf(cast<RankedTensorType>(op->getResult(0).getType())));
}

std::optional<ConstantFactor> constantFactor(Operation *op) {
  auto factorOf =
      [&](Value input,
          std::optional<double> factor) -> std::optional<ConstantFactor> {
    if (!factor || !std::isfinite(*factor) || *factor == 0 ||
        !sameShapeAs(input, op))
      return std::nullopt;
    return ConstantFactor{*factor, input};
  };
  if (auto scale = dyn_cast_or_null<ScaleOp>(op))
    return factorOf(scale.getInput(), scale.getFactor().convertToDouble());
  if (auto mul = dyn_cast_or_null<MulOp>(op)) {
    if (auto found = factorOf(mul.getLhs(), splatValue(mul.getRhs())))
      return found;
    return factorOf(mul.getRhs(), splatValue(mul.getLhs()));
  }
  if (auto div = dyn_cast_or_null<DivOp>(op))
    if (auto by = splatValue(div.getRhs()))
      return factorOf(div.getLhs(), 1 / *by);
  return std::nullopt;
}

Value ScoreMask::add(Operation *op, ArrayRef<Axes> dims, double post) {
  if (auto select = dyn_cast<SelectOp>(op))
    return sameShapeAs(select.getIfTrue(), op) && addChoice(select, dims, post)
               ? select.getIfTrue()
               : Value();
  if (!isa<AddOp, SubOp>(op))
    return {};
  // Either operand may be the bias; a failed attempt leaves no masks.
  auto attempt = [&](Value scores, Value bias, double factor) -> Value {
    size_t before = masks.size();
    if (sameShapeAs(scores, op) && addBias(space.broadcast(bias, dims), factor))
      return scores;
    masks.truncate(before);
    return {};
  };
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (isa<SubOp>(op))
    return attempt(lhs, rhs, -post);
  if (Value scores = attempt(lhs, rhs, post))
    return scores;
  return attempt(rhs, lhs, post);
}

// Records the mask of a choice between something (left to the caller) and a
// very negative constant.
bool ScoreMask::addChoice(SelectOp op, ArrayRef<Axes> dims, double factor) {
  auto fill = splatValue(op.getIfFalse());
  return fill && *fill * factor <= forbidding &&
         addMask(space.broadcast(op.getCondition(), dims));
}

bool ScoreMask::addMask(AxisView view) {
  while (true) {
    if (ElementsAttr elements = constantBehind(view.value);
        elements && elements.isSplat()) // all true is no mask
      return elements.getSplatValue<APInt>().isOne();
    if (auto both = view.value.getDefiningOp<AndOp>())
      return addMask(space.broadcast(both.getLhs(), view.dims)) &&
             addMask(space.broadcast(both.getRhs(), view.dims));
    if (!space.step(view))
      break;
  }
  masks.push_back(view);
  return true;
}

// 1 - cast(mask) or cast(mask) - 1; `factor` becomes that of 1 - cast(mask).
static Value maskOfDifference(SubOp op, double &factor) {
  auto castOfMask = [](Value value) -> Value {
    while (auto cast = value.getDefiningOp<CastOp>()) {
      value = cast.getInput();
      if (cast.getInput().getType().getElementType().isInteger(1))
        return value;
    }
    return {};
  };
  auto isOne = [](Value value) {
    auto number = splatValue(value);
    return number && *number == 1;
  };
  if (isOne(op.getLhs()))
    return castOfMask(op.getRhs());
  factor = -factor;
  return isOne(op.getRhs()) ? castOfMask(op.getLhs()) : Value();
}

// Whether factor * bias is 0 where its masks allow, and very negative
// elsewhere.
bool ScoreMask::addBias(AxisView view, double factor) {
  while (true) {
    if (auto number = splatValue(view.value))
      return *number == 0;
    Operation *op = view.value.getDefiningOp();
    if (!op)
      return false;
    if (auto cast = dyn_cast<CastOp>(op)) {
      if (!isa<FloatType>(cast.getInput().getType().getElementType()))
        return false;
      view.value = cast.getInput();
    } else if (auto product = constantFactor(op)) {
      factor *= product->factor;
      view.value = product->input;
    } else if (auto sum = dyn_cast<AddOp>(op)) {
      return addBias(space.broadcast(sum.getLhs(), view.dims), factor) &&
             addBias(space.broadcast(sum.getRhs(), view.dims), factor);
    } else if (auto select = dyn_cast<SelectOp>(op)) {
      return addChoice(select, view.dims, factor) &&
             addBias(space.broadcast(select.getIfTrue(), view.dims), factor);
    } else if (auto difference = dyn_cast<SubOp>(op)) {
      Value mask = maskOfDifference(difference, factor);
      return mask && factor <= forbidding &&
             addMask(space.broadcast(mask, view.dims));
    } else if (!space.step(view)) {
      return false;
    }
  }
}

} // namespace act
