// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/ComposedOps.h"
#include "passes/raise/LossForm.h"
#include "passes/raise/MaskForm.h"
#include "passes/raise/NormForm.h"
#include "passes/raise/SoftmaxForm.h"

using namespace mlir;
using namespace act;

Value act::lossFor(Operation *op, Maker &make) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return {};
  auto type = typeOf(op->getResult(0));
  auto match = lossOf(op->getResult(0));
  if (!match || !isActType(type) || !isActType(match->logits.getType()) ||
      !isActType(match->labels.getType()))
    return {};
  auto shape = typeOf(match->logits).getShape().drop_back();
  Value labels = make.reshaped(match->labels, shape);
  const bool isEach = match->reduction == Reduction::None;
  auto result = RankedTensorType::get(isEach ? shape : ArrayRef<int64_t>(),
                                      type.getElementType());
  Value loss = CrossEntropyOp::create(
                   make.b, make.loc, result, Type(), match->logits, labels,
                   make.b.getI64IntegerAttr(match->ignore.value_or(-100)),
                   ReductionAttr::get(make.b.getContext(), match->reduction))
                   .getLoss();
  if (match->factor != 1)
    loss = ScaleOp::create(make.b, make.loc, result, loss,
                           make.b.getF64FloatAttr(match->factor));
  return make.reshaped(loss, type.getShape());
}

/// The mask, repeated along dimensions before queries and keys.
static Value causalMask(const CausalMatch &match, RankedTensorType type,
                        Maker &make) {
  auto plain = make.shaped(type, type.getShape().take_back(2));
  Value mask = CausalMaskOp::create(
      make.b, make.loc, plain,
      match.window ? make.b.getI64IntegerAttr(*match.window) : IntegerAttr(),
      match.topLeft ? make.b.getUnitAttr() : UnitAttr());
  if (match.negated)
    mask = NotOp::create(make.b, make.loc, plain, mask);
  SmallVector<int64_t> shape(type.getRank() - 2, 1);
  llvm::append_range(shape, plain.getShape());
  return make.expanded(make.reshaped(mask, shape), type.getShape());
}

Value act::maskFor(Operation *op, Maker &make) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  auto mask = generic && op->getNumResults() == 1 ? causalMaskAt(generic)
                                                  : std::nullopt;
  return mask ? causalMask(*mask, typeOf(op->getResult(0)), make) : Value();
}

Value act::layerNormFor(Operation *op, Maker &make) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  auto match = generic ? layerNormAt(generic) : std::nullopt;
  if (!match || !isActType(match->input.getType()))
    return {};
  const unsigned last = generic.getNumLoops() - 1;
  return LayerNormOp::create(make.b, make.loc, match->input.getType(), Type(),
                             Type(), match->input,
                             make.inOrder(match->weight, last),
                             make.inOrder(match->bias, last),
                             make.b.getF64FloatAttr(match->eps))
      .getResult();
}

Value act::composedFor(Operation *op, Maker &make) {
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return softmax.hasPureTensorSemantics() &&
                   isActType(softmax.getResult()[0].getType())
               ? act::SoftmaxOp::create(
                     make.b, make.loc, softmax.getInput().getType(),
                     softmax.getInput(), softmax.getDimension())
                     .getResult()
               : Value();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || op->getNumResults() != 1 ||
      !isActType(op->getResult(0).getType()))
    return {};
  if (Value x = siluAt(generic))
    return SiluOp::create(make.b, make.loc, x.getType(), x);
  if (Value x = geluAt(generic))
    return GeluOp::create(make.b, make.loc, x.getType(), x);
  if (Value x = geluNewAt(generic))
    return GeluNewOp::create(make.b, make.loc, x.getType(), x);
  if (auto norm = rmsNormAt(generic))
    return RmsNormOp::create(
               make.b, make.loc, norm->input.getType(), Type(), norm->input,
               make.inOrder(norm->weight, generic.getNumLoops() - 1),
               make.b.getF64FloatAttr(norm->eps))
        .getResult();
  if (Value p = guardedSoftmaxAt(generic))
    return p;
  auto match = softmaxAt(generic);
  if (!match)
    return {};
  if (!match->isSafe)
    op->emitRemark("raise-to-act: the softmax did not subtract the maximum of "
                   "its rows; act.softmax does");
  return act::SoftmaxOp::create(make.b, make.loc, match->input.getType(),
                                match->input, int64_t(match->axis));
}

Value act::bareNormFor(Operation *op, Maker &make) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  auto norm =
      generic && op->getNumResults() == 1 ? bareNormAt(generic) : std::nullopt;
  if (!norm || !isActType(norm->input.getType()))
    return {};
  auto type = typeOf(norm->input);
  auto row =
      RankedTensorType::get({type.getShape().back()}, type.getElementType());
  Value weight = act::ConstantOp::create(make.b, make.loc, row, 1.0);
  FloatAttr eps = make.b.getF64FloatAttr(norm->eps);
  if (!norm->isCentred)
    return RmsNormOp::create(make.b, make.loc, type, Type(), norm->input,
                             weight, eps)
        .getResult();
  Value bias = act::ConstantOp::create(make.b, make.loc, row, 0.0);
  return LayerNormOp::create(make.b, make.loc, type, Type(), Type(),
                             norm->input, weight, bias, eps)
      .getResult();
}
