// SPDX-License-Identifier: Apache-2.0
//
// Recognises masks by what they do to a score. A form that is not known is not
// an error: the caller then tries it as a bias, or leaves the attention alone.
#include "passes/fuse/ScoreMask.h"

using namespace mlir;

namespace act {

// -1e4 rounded to bf16.
static constexpr double forbidding = -9984;

// The constant behind `value`, through views and casts only, or null.
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

// The forms x * c, c * x, x / c and act.scale. A factor that broadcasts x to
// another shape is none.
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

// Asked before something is taken for a bias: a mask that is not understood
// must not become one, as kernels could not leave out what it hides.
bool mayHide(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> todo{value.getDefiningOp()};
  auto large = [](double number) { return std::abs(number) >= -forbidding; };
  while (!todo.empty()) {
    Operation *op = todo.pop_back_val();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto scale = dyn_cast<ScaleOp>(op);
        scale && large(scale.getFactor().convertToDouble()))
      return true;
    if (isa<ConstantOp>(op)) {
      auto number = splatValue(op->getResult(0));
      if (number && large(*number))
        return true;
    }
    if (isa<TransposeOp, ReshapeOp, ExpandOp, CastOp, ScaleOp, AddOp, SubOp,
            MulOp, DivOp, SelectOp>(op))
      for (Value operand : op->getOperands())
        todo.push_back(operand.getDefiningOp());
  }
  return false;
}

// Tries the forms in the header. Whether a constant hides is judged after the
// factors behind it: a mask may be applied before the scores are scaled.
Value ScoreMask::add(Operation *op, ArrayRef<Axes> dims, double post) {
  if (auto select = dyn_cast<SelectOp>(op)) {
    Value scores = addChoice(select, dims, post);
    return scores && sameShapeAs(scores, op) ? scores : Value();
  }
  if (auto product = dyn_cast<MulOp>(op))
    return addProduct(product, dims);
  if (!isa<AddOp, SubOp>(op))
    return {};
  // Either operand may be the bias. A failed attempt removes its masks.
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

// Records the mask of a select between the scores, which are returned, and a
// very negative constant.
Value ScoreMask::addChoice(SelectOp op, ArrayRef<Axes> dims, double factor) {
  auto forbids = [&](Value fill) {
    auto number = splatValue(fill);
    return number && *number * factor <= forbidding;
  };
  bool hides = !forbids(op.getIfFalse());
  if (hides && !forbids(op.getIfTrue()))
    return {};
  return addMask(space.broadcast(op.getCondition(), dims), hides)
             ? (hides ? op.getIfFalse() : op.getIfTrue())
             : Value();
}

// Records `view`, taken apart:
//
//   a and b       two masks that must both allow, unless the mask hides: not
//                 (a and b) is no conjunction, and stays one mask
//   not a         a with `hides` flipped
//   constant      nothing, if it hides nothing; else no match
bool ScoreMask::addMask(AxisView view, bool hides) {
  while (true) {
    if (ElementsAttr elements = constantBehind(view.value);
        elements && elements.isSplat()) // only one that hides nothing
      return elements.getSplatValue<APInt>().isOne() != hides;
    if (auto both = view.value.getDefiningOp<AndOp>(); both && !hides)
      return addMask(space.broadcast(both.getLhs(), view.dims), hides) &&
             addMask(space.broadcast(both.getRhs(), view.dims), hides);
    if (auto other = view.value.getDefiningOp<NotOp>()) {
      view.value = other.getInput();
      hides = !hides;
    } else if (!space.step(view)) {
      break;
    }
  }
  masks.push_back({view, hides});
  return true;
}

// x of 1 - x or x - 1; `factor` becomes the factor of 1 - x.
static Value otherThanOne(SubOp op, double &factor) {
  auto isOne = [](Value value) {
    auto number = splatValue(value);
    return number && *number == 1;
  };
  if (isOne(op.getLhs()))
    return op.getRhs();
  factor = -factor;
  return isOne(op.getRhs()) ? op.getLhs() : Value();
}

// Records the masks of a number that is 1 where they allow and 0 elsewhere: a
// cast mask, or a product of such numbers.
bool ScoreMask::addNumber(AxisView view) {
  while (true) {
    Operation *op = view.value.getDefiningOp();
    if (auto product = dyn_cast_or_null<MulOp>(op))
      return addNumber(space.broadcast(product.getLhs(), view.dims)) &&
             addNumber(space.broadcast(product.getRhs(), view.dims));
    if (auto cast = dyn_cast_or_null<CastOp>(op)) {
      view.value = cast.getInput();
      if (cast.getInput().getType().getElementType().isInteger(1))
        return addMask(view, false);
    } else if (!space.step(view)) {
      return false;
    }
  }
}

// Whether both are the same mask, possibly computed twice.
bool ScoreMask::same(const ElementaryMask &a, const ElementaryMask &b) const {
  auto left = a.view.value.getDefiningOp<CausalMaskOp>(),
       right = b.view.value.getDefiningOp<CausalMaskOp>();
  return a.hides == b.hides &&
         (a.view.value == b.view.value ||
          (left && right && left.getWindow() == right.getWindow() &&
           left.getTopLeft() == right.getTopLeft())) &&
         space.sameDims(a.view.dims, b.view.dims);
}

// scores * number, where each mask of the number also masks the product: scores
// that are not hidden are multiplied by 1.
Value ScoreMask::addProduct(MulOp op, ArrayRef<Axes> dims) {
  auto attempt = [&](Value scores, Value number) -> Value {
    size_t before = masks.size();
    bool known =
        sameShapeAs(scores, op) && addNumber(space.broadcast(number, dims));
    for (size_t i = before; i < masks.size(); ++i)
      known &= llvm::any_of(
          ArrayRef(masks).take_front(before),
          [&](const ElementaryMask &old) { return same(old, masks[i]); });
    masks.truncate(before);
    return known ? scores : Value();
  };
  if (Value scores = attempt(op.getLhs(), op.getRhs()))
    return scores;
  return attempt(op.getRhs(), op.getLhs());
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
      Value other = addChoice(select, view.dims, factor);
      return other && addBias(space.broadcast(other, view.dims), factor);
    } else if (auto difference = dyn_cast<SubOp>(op)) {
      Value number = otherThanOne(difference, factor);
      return number && factor <= forbidding &&
             addNumber(space.broadcast(number, view.dims));
    } else if (!space.step(view)) {
      return false;
    }
  }
}

} // namespace act
